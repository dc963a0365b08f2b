#include "server/daemon/own_walls.h"

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "policy/seccomp/server_filter.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/rights.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

absl::Status Failed(const char* what) {
  return absl::InternalError(absl::StrCat(what, ": ", ErrorText(errno)));
}

// All threads that are made later inherit the filter.
absl::Status InstallFilter() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // The runtimes of the sanitizers start processes and look at threads.
  return absl::OkStatus();
#else
  const absl::StatusOr<policy::BpfProgram> filter = policy::MakeServerFilter();
  if (!filter.ok()) return filter.status();
  if (!os::InstallSeccompFilter(*filter)) return Failed("the daemon's filter");
  return absl::OkStatus();
#endif
}

}  // namespace

absl::StatusOr<OwnWalls> OwnWalls::Prepare(
    absl::Span<const std::string> directories) {
  // Landlock's first version lets nothing be renamed into another directory, so
  // it isn't used.
  const int abi = os::LandlockAbi();
  if (abi < 2) return OwnWalls(os::Fd());
  std::vector<std::string> places(directories.begin(), directories.end());
  places.emplace_back("/dev/null");
  os::Fd ruleset = os::MakeLandlockWriteRuleset(abi, places);
  if (!ruleset.valid()) return Failed("the daemon's Landlock rules");
  return OwnWalls(std::move(ruleset));
}

absl::Status OwnWalls::Raise() {
  const os::Fd ruleset = std::move(ruleset_);
  if (ruleset.valid() && !os::LandlockRestrictSelf(ruleset)) {
    return Failed("the daemon's Landlock rules");
  }
  return InstallFilter();
}

}  // namespace sandglass::server
