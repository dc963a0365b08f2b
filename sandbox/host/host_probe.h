#ifndef SANDGLASS_SANDBOX_HOST_HOST_PROBE_H_
#define SANDGLASS_SANDBOX_HOST_HOST_PROBE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace sandglass::sandbox {

// Values equal sandglass.v1.LayerState.
enum class LayerState { kInForce = 1, kNotAvailable = 2, kExcused = 3 };

// One layer of isolation on this host.
struct Layer {
  std::string name;  // stable, for example "landlock"
  LayerState state;
  bool required;
  std::string detail;  // why, or which version
};

enum class CgroupMode { kNone, kV2, kHybrid };

struct HostReport {
  std::string kernel;  // uname -r
  CgroupMode cgroup_mode = CgroupMode::kNone;
  int landlock_abi = 0;  // 0: none
  // Where caps of disk I/O can hold, as "major:minor"; none: they can't.
  std::vector<std::string> disks;
  std::vector<Layer> layers;
};

// Tries each layer for real (trial namespaces, mounts, filters in throwaway
// children). Needs root; takes some milliseconds. `disk_places` are the
// directories on disks that jails will see, or that hold them.
HostReport ProbeHost(const std::vector<std::string>& disk_places = {"/usr"});

inline constexpr char kDiskCapLayer[] = "disk-io-cap";

// Why caps of disk I/O aren't in force; empty: they are.
std::string WhyNoDiskCap(const HostReport& report);

// FAILED_PRECONDITION naming every required layer that is missing and not in
// `excused` (by layer name); marks the excused ones in `report`. An excuse for
// an unknown layer is INVALID_ARGUMENT.
absl::Status RequireLayers(HostReport& report,
                           const std::vector<std::string>& excused);

// Whether filters can ask before they refuse, in a throwaway child.
// FAILED_PRECONDITION says why not.
absl::Status CheckCallTracing();

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_HOST_HOST_PROBE_H_
