#ifndef SANDGLASS_SANDBOX_HOST_DISKS_H_
#define SANDGLASS_SANDBOX_HOST_DISKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sandglass::sandbox {

struct Disks {
  std::vector<std::string> numbers;  // "major:minor", each once
  // Places whose disk can't be found out, each with the reason.
  std::vector<std::string> without;
};

// Finds the whole disks that hold `paths` (the kernel can't cap partitions).
// Places in memory have no disk. A place that doesn't exist yet counts as that
// of the nearest existing directory above it. `sys` is where sysfs is.
Disks FindDisks(const std::vector<std::string>& paths,
                const std::string& sys = "/sys");

// The whole disk that a block device belongs to, by its numbers as in stat(2).
// NOT_FOUND for a number that isn't a block device's, such as those of network
// and overlay file systems.
absl::StatusOr<std::string> WholeDisk(unsigned major, unsigned minor,
                                      const std::string& sys);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_HOST_DISKS_H_
