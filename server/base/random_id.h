#ifndef SANDGLASS_SERVER_BASE_RANDOM_ID_H_
#define SANDGLASS_SERVER_BASE_RANDOM_ID_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::server {

// Returns `prefix` followed by two lower-case hexadecimal digits for each of
// `bytes` random bytes (at most 256) from the kernel's random source. Never
// fails: it tries again until the kernel has supplied them.
std::string RandomId(absl::string_view prefix, size_t bytes);

// At most 32 of a-z, 0-9 and "-", of which the first is no "-": short enough
// that an id with it, and a port, are one label of a domain's name.
bool IsNodeName(absl::string_view text);

// The name under which gateways know this daemon; empty: none does. Call it
// once, before the first NodeId, while there is one thread.
void SetNodeName(const std::string& name);

// An id by which a gateway finds the node that made it:
// "ses-a-0123456789abcdef" where `kind` is "ses-" and the node is called "a".
// Without a name of the node there is none in the id.
std::string NodeId(absl::string_view kind);
// The name in such an id, whatever its kind; nullopt: it has none.
std::optional<std::string> NodeOfId(absl::string_view id);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_RANDOM_ID_H_
