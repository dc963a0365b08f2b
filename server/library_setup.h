#ifndef SANDGLASS_SERVER_LIBRARY_SETUP_H_
#define SANDGLASS_SERVER_LIBRARY_SETUP_H_

#include <memory>
#include <optional>
#include <vector>

#include "sandbox/sandbox.h"
#include "server/identity.h"
#include "server/layer_store.h"
#include "server/libraries.h"
#include "server/libraries_config.h"
#include "server/policy_set.h"

namespace sandglass::server {

// What the daemon makes as root of the libraries that requests may name.
struct LibraryDaemonParts {
  std::unique_ptr<LayerStore> store;
  LibraryInstallers installers;
};

// Opens the store, finds the registries and adds to `templates` one for each
// language that can install: of no profile's, with the registry's hosts alone.
// Absent: no directory is configured, or it can't be had, which is logged. As
// root, single-threaded.
std::optional<LibraryDaemonParts> PrepareLibraries(
    const LibrariesConfig& config, const PolicySet& policy,
    const Identity& identity, std::vector<sandbox::JailTemplate>& templates);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIBRARY_SETUP_H_
