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

// Opens the store, finds the registries, and adds to `templates` one for each
// language that can install libraries, in each image. These templates belong to
// no profile, and their network has only the registry's hosts. `run` of the
// result is not set yet. INVALID_ARGUMENT: the configured certificates can't be
// read. Absent when no directory is configured, or when it can't be used, which
// is logged; `why_none` then says so to callers. To be called as root,
// single-threaded.
absl::StatusOr<std::optional<LibrariesParts>> PrepareLibraries(
    const LibrariesConfig& config, const PolicySet& policy, const Ids& identity,
    const ImageStates& image_states,
    std::vector<sandbox::JailTemplate>& templates, std::string& why_none);

// Plans zygotes for the sets that the configuration names, if these are
// installed; if not, the log says what to do. Adds the zygotes to
// parts.zygotes, too.
std::vector<PlannedZygote> PlanLayerZygotes(const Config& config,
                                            const PolicySet& policy,
                                            const Ids& identity,
                                            LibrariesParts& parts);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_LIBRARY_SETUP_H_
