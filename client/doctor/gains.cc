#include "client/doctor/gains.h"

#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace sandglass::client {
namespace {

struct Remedy {
  const char* layer;
  const char* how;
};

// Where the daemon's own words don't say what to do.
constexpr std::array<Remedy, 7> kRemedies = {{
    {"landlock",
     "a kernel with CONFIG_SECURITY_LANDLOCK, and landlock in the list lsm= of "
     "its command line (cat /sys/kernel/security/lsm shows it)"},
    {"landlock-scopes", "Linux 6.12 or newer with Landlock"},
    {"memory-limit",
     "a control group with the controller memory: Delegate=yes in the unit, or "
     "cgroup_parent"},
    {"pids-limit",
     "a control group with the controller pids: Delegate=yes in the unit, or "
     "cgroup_parent"},
    {"cpu-limit",
     "a control group with the controller cpu: Delegate=yes in the unit, or "
     "cgroup_parent"},
    {"disk-io-cap",
     "a control group with the controller io: Delegate=yes in the unit; and "
     "what jails read on a disk"},
    {"module-search",
     "Linux 6.14 or newer; or sysctl kernel.modprobe=, which ends the loading "
     "of modules on demand"},
}};

// The number in "ABI 3: file system rules"; 0 where there is none.
int LandlockAbi(const v1::IsolationLayer& layer) {
  absl::string_view text = layer.detail();
  int abi = 0;
  return layer.name() == "landlock" && absl::ConsumePrefix(&text, "ABI ") &&
                 absl::SimpleAtoi(text.substr(0, text.find(':')), &abi)
             ? abi
             : 0;
}

// What makes a layer stronger that is in force; empty: nothing is known.
std::string HowToStrengthen(const v1::IsolationLayer& layer) {
  // As docs/security.md says of the ABIs.
  const int abi = LandlockAbi(layer);
  if (abi > 0 && abi < 3) {
    return "Linux 6.10 or newer, whose Landlock also knows truncation (6.2) "
           "and device ioctls";
  }
  if (abi > 0 && abi < 5) {
    return "Linux 6.10 or newer, whose Landlock also knows device ioctls";
  }
  if (layer.name() == "disk-io-cap" &&
      absl::StartsWith(layer.detail(), "cgroup v1")) {
    return "cgroup v2 alone (systemd.unified_cgroup_hierarchy=1), which also "
           "caps writes through the page cache";
  }
  return "";
}

}  // namespace

std::string HowToGain(const v1::IsolationLayer& layer,
                      const std::string& kernel) {
  for (const Remedy& remedy : kRemedies) {
    if (layer.name() != remedy.layer) continue;
    return absl::StrCat(remedy.how, absl::StrContains(remedy.how, "Linux")
                                        ? absl::StrCat(" (here: ", kernel, ")")
                                        : "");
  }
  // Its own words say it, as those of core-limit.
  return layer.detail();
}

std::vector<Gain> GainsOf(const v1::GetServerInfoResponse& info) {
  std::vector<Gain> gains;
  for (const v1::IsolationLayer& layer : info.isolation()) {
    std::string how = layer.state() == v1::LAYER_STATE_IN_FORCE
                          ? HowToStrengthen(layer)
                          : HowToGain(layer, info.kernel());
    if (!how.empty()) gains.push_back({layer.name(), std::move(how)});
  }
  return gains;
}

}  // namespace sandglass::client
