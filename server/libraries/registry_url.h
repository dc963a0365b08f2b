#ifndef SANDGLASS_SERVER_LIBRARIES_REGISTRY_URL_H_
#define SANDGLASS_SERVER_LIBRARIES_REGISTRY_URL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sandglass::server {

// The address of a place from which libraries come.
struct RegistryUrl {
  std::string text;  // the whole address
  std::string host;
  uint16_t port = 0;
};

// INVALID_ARGUMENT, without the text where that may hold a password, for:
// schemes other than http and https, a user and password, an invalid host or
// port, a query or fragment, and anything that a shell or a tool could take for
// more than an address.
absl::StatusOr<RegistryUrl> ParseRegistryUrl(std::string_view text);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIBRARIES_REGISTRY_URL_H_
