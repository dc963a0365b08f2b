// Starts a command under layers of a jail's rights and under nothing else of a
// jail, for what these layers cost:
//
//   sandglass-bench-confine LAYERS COMMAND [ARGUMENT...]
//   sandglass-bench-confine LAYERS calls FILE
//
// The second form times single calls itself (calls.h).
//
// LAYERS: none, seccomp, landlock or both; the default policy and the rules of
// every jail. All of them make the same preparations, so that only what is
// installed in the end differs. Exit code: the command's; 125 when a layer
// failed, 127 when the command could not be started.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bench/calls.h"
#include "policy/seccomp/seccomp.h"
#include "sandbox/jailed/program_rights.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/status.h"

namespace {

constexpr int kLayerFailed = 125;
constexpr int kNoCommand = 127;

int Fail(const char* what, const char* why) {
  std::fprintf(stderr, "sandglass-bench-confine: %s: %s\n", what, why);
  return kLayerFailed;
}

}  // namespace

int main(int argc, char** argv) {
  namespace os = sandglass::os;
  using sandglass::policy::BpfProgram;
  using sandglass::policy::SeccompPolicy;
  const std::string_view layers = argc > 2 ? argv[1] : "";
  const bool both = layers == "both";
  const bool seccomp = both || layers == "seccomp";
  const bool landlock = both || layers == "landlock";
  if (!seccomp && !landlock && layers != "none") {
    return Fail("usage", "none|seccomp|landlock|both COMMAND [ARGUMENT...]");
  }
  const absl::StatusOr<SeccompPolicy> policy = SeccompPolicy::Load(
      SANDGLASS_SOURCE_DIR "/policy/data/seccomp", "default");
  if (!policy.ok()) return Fail("policy", policy.status().ToString().c_str());
  const absl::StatusOr<BpfProgram> filter = policy->Compile();
  if (!filter.ok()) return Fail("policy", filter.status().ToString().c_str());
  const int abi = os::LandlockAbi();
  if (abi < 1) return Fail("Landlock", "not there");
  os::Fd rules = sandglass::sandbox::MakeLandlockRules(abi);
  if (!rules.valid() || !os::SetNoNewPrivs() ||
      (landlock && !os::LandlockRestrictSelf(rules))) {
    return Fail("Landlock", os::ErrorText(errno).c_str());
  }
  rules.reset();
  if (seccomp && !os::InstallSeccompFilter(*filter)) {
    return Fail("seccomp", os::ErrorText(errno).c_str());
  }
  if (argc == 4 && argv[2] == std::string_view("calls")) {
    return sandglass::bench::PrintCalls(argv[3]) ? 0 : 1;
  }
  ::execv(argv[2], argv + 2);
  std::fprintf(stderr, "%s: %s\n", argv[2], os::ErrorText(errno).c_str());
  return kNoCommand;
}
