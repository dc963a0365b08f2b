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
  std::string detail;  // the reason, or which version
};

struct HostReport {
  std::string kernel;    // uname -r
  int landlock_abi = 0;  // 0: none
  // The disks whose I/O can be capped, as "major:minor"; empty: none can.
  std::vector<std::string> disks;
  std::vector<Layer> layers;
};

// Tries out each layer (with trial namespaces, mounts and filters in throwaway
// children). Needs root; takes some milliseconds. `disk_places` are directories
// on disks that jails will see, or that hold jails.
HostReport ProbeHost(const std::vector<std::string>& disk_places = {"/usr"});

inline constexpr char kDiskCapLayer[] = "disk-io-cap";

// Why caps of disk I/O aren't in force; empty when they are.
std::string WhyNoDiskCap(const HostReport& report);

// FAILED_PRECONDITION when required layers are missing and not in `excused` (by
// name); the message names all of them. Marks the excused ones in `report`.
// INVALID_ARGUMENT when `excused` names an unknown layer.
absl::Status RequireLayers(HostReport& report,
                           const std::vector<std::string>& excused);

// Tests in a throwaway child whether filters can ask a listener before they
// refuse a call. FAILED_PRECONDITION says why not.
absl::Status CheckCallTracing();

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_HOST_HOST_PROBE_H_
