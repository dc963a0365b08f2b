#ifndef SANDGLASS_SERVER_LIBRARIES_REGISTRY_URL_H_
#define SANDGLASS_SERVER_LIBRARIES_REGISTRY_URL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sandglass::server {

// Where libraries come from.
struct RegistryUrl {
  std::string text;  // the whole of it
  std::string host;
  uint16_t port = 0;
};

// INVALID_ARGUMENT, without the text where that may hold a password: other
// schemes than http and https, user and password, a host or port that is none,
// query and fragment, what a shell or a tool could take for more than an
// address.
absl::StatusOr<RegistryUrl> ParseRegistryUrl(std::string_view text);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIBRARIES_REGISTRY_URL_H_
