#ifndef SANDGLASS_SERVER_LIBRARIES_LIBRARY_REGISTRY_H_
#define SANDGLASS_SERVER_LIBRARIES_LIBRARY_REGISTRY_H_

#include <string>

#include "absl/status/statusor.h"
#include "policy/libraries/library_recipe.h"
#include "policy/network/network.h"
#include "server/libraries/libraries_config.h"

namespace sandglass::server {

// The place from which a language's libraries come.
struct LibraryRegistry {
  std::string url;
  // Where that is configured, for people, for example "/etc/pip.conf" or
  // "GOPROXY in the environment".
  std::string source;
  // The hosts that the installing jail may reach: the registry and its other
  // hosts.
  policy::NetworkPolicy network;
};

// Finds the configuration's registry or, if it names none, the one with which
// this host's tool is configured, read with the rights of the calling process.
// NOT_FOUND: an address is configured nowhere. INVALID_ARGUMENT: there is one
// that can't be used; the message names the place.
absl::StatusOr<LibraryRegistry> FindRegistry(
    const policy::LibraryRecipe& recipe, const RegistryConfig& config,
    const std::string& language);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIBRARIES_LIBRARY_REGISTRY_H_
