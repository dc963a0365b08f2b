#ifndef SANDGLASS_SANDBOX_HOST_DISKS_H_
#define SANDGLASS_SANDBOX_HOST_DISKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sandglass::sandbox {

struct Disks {
  std::vector<std::string> numbers;  // "major:minor", each once
  // Places whose disk can't be told, each with the reason.
  std::vector<std::string> without;
};

// The whole disks that hold `paths`: the kernel caps no partition. Places in
// memory take none; one that isn't there yet is where the nearest directory
// above it is. `sys` is where sysfs is.
Disks FindDisks(const std::vector<std::string>& paths,
                const std::string& sys = "/sys");

// The whole disk of a block device, by numbers as in stat(2). NOT_FOUND for
// what is no block device, as the file systems of networks and overlays have.
absl::StatusOr<std::string> WholeDisk(unsigned major, unsigned minor,
                                      const std::string& sys);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_HOST_DISKS_H_
