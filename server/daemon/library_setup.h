#ifndef SANDGLASS_SERVER_DAEMON_LIBRARY_SETUP_H_
#define SANDGLASS_SERVER_DAEMON_LIBRARY_SETUP_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/yard/sandbox.h"
#include "server/base/accounts.h"
#include "server/daemon/config.h"
#include "server/daemon/zygote_plan.h"
#include "server/images/image_files.h"
#include "server/libraries/libraries.h"
#include "server/libraries/libraries_config.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// Opens the store, finds the registries and adds to `templates` one for each
// language that can install, in each image: of no profile's, with the
// registry's hosts alone. What it gives lacks `run`. INVALID_ARGUMENT: the
// certificates that are configured can't be read. Absent: no directory is
// configured, or it can't be had, which is logged. As root, single-threaded.
absl::StatusOr<std::optional<LibrariesParts>> PrepareLibraries(
    const LibrariesConfig& config, const PolicySet& policy,
    const Identity& identity, const ImageStates& image_states,
    std::vector<sandbox::JailTemplate>& templates);

// Zygotes for the sets that the configuration names, as far as these are
// installed; else the log says what to do. Adds them to parts.zygotes, too.
std::vector<PlannedZygote> PlanLayerZygotes(const Config& config,
                                            const PolicySet& policy,
                                            const Identity& identity,
                                            LibrariesParts& parts);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_LIBRARY_SETUP_H_
