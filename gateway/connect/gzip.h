#ifndef SANDGLASS_GATEWAY_CONNECT_GZIP_H_
#define SANDGLASS_GATEWAY_CONNECT_GZIP_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sandglass::gateway {

// The content of one member of gzip (RFC 1952). INVALID_ARGUMENT, "BAD_GZIP":
// it is none, is cut off, or has something behind it. RESOURCE_EXHAUSTED,
// "MESSAGE_TOO_LARGE": the content has more than `max_bytes`, of which no more
// than that are unpacked.
absl::StatusOr<std::string> Gunzip(std::string_view bytes, size_t max_bytes);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_GZIP_H_
