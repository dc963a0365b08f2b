#ifndef SANDGLASS_SANDBOX_JAILED_LIMIT_FILES_H_
#define SANDGLASS_SANDBOX_JAILED_LIMIT_FILES_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// The limits of a jail by which runtimes size heaps and thread pools.
struct VisibleLimits {
  uint64_t memory_bytes = 0;
  uint64_t processes = 0;
  uint32_t cpu_millis = 0;
  friend bool operator==(const VisibleLimits&, const VisibleLimits&) = default;
};

// Mounts, in a jail's root that is still at kYardMount, files that say what the
// jail may use where the kernel's own would say what the host has: a few in
// /proc, and all of /sys. Programs can't change them. Returns the directory by
// which init writes them; empty with errno set on failure. They have no content
// yet.
os::Fd MountLimitFiles();

// Writes those of these files that differ from what was written for `before`,
// if it was. `cpuinfo` is the host's /proc/cpuinfo, of which as many processors
// show as the limit amounts to, rounded up. Returns false and sets errno on
// failure.
bool WriteLimitFiles(const os::Fd& directory, const VisibleLimits& before,
                     const VisibleLimits& limits, absl::string_view cpuinfo);

// A process in this subgroup of the program's group finds its limits, too:
// runtimes look for them below /sys/fs/cgroup at the place that
// /proc/self/cgroup names. Without it they find none.
void ShowSubgroup(const os::Fd& directory, const char* name);
void HideSubgroup(const os::Fd& directory, const char* name);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_LIMIT_FILES_H_
