#ifndef SANDGLASS_POLICY_TEXT_QUOTED_H_
#define SANDGLASS_POLICY_TEXT_QUOTED_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace sandglass::policy {

// Returns `text` in double quotes, with every byte outside printable ASCII
// escaped, cut after the first `max_bytes` bytes of `text`. The result is ASCII
// and safe for terminals, logs, headers of HTTP and protobuf strings.
std::string Quoted(std::string_view text, size_t max_bytes = 64);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_QUOTED_H_
