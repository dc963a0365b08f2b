#ifndef SANDGLASS_SERVER_BASE_RANDOM_ID_H_
#define SANDGLASS_SERVER_BASE_RANDOM_ID_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::server {

// Returns `prefix` followed by two lower-case hexadecimal digits for each of
// `bytes` random bytes (at most 256) from the kernel's random source. Never
// fails: it tries again until the kernel has supplied them.
std::string RandomId(absl::string_view prefix, size_t bytes);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_RANDOM_ID_H_
