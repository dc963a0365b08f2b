#ifndef SANDGLASS_SERVER_LIBRARIES_LIBRARY_REGISTRY_H_
#define SANDGLASS_SERVER_LIBRARIES_LIBRARY_REGISTRY_H_

#include <string>

#include "absl/status/statusor.h"
#include "policy/libraries/library_recipe.h"
#include "policy/network/network.h"
#include "server/libraries/libraries_config.h"

namespace sandglass::server {

// Where a language's libraries come from.
struct LibraryRegistry {
  std::string url;
  // Who says so, for people: "/etc/pip.conf", "GOPROXY in the environment".
  std::string source;
  // What the jail that installs may reach: the registry and its other hosts.
  policy::NetworkPolicy network;
};

// The configuration's registry; without one, what this host's tool is
// configured with, read as the caller. NOT_FOUND: no place has an address.
// INVALID_ARGUMENT: there is one that can't be used, with the place.
absl::StatusOr<LibraryRegistry> FindRegistry(
    const policy::LibraryRecipe& recipe, const RegistryConfig& config,
    const std::string& language);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIBRARIES_LIBRARY_REGISTRY_H_
