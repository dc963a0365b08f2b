#ifndef SANDGLASS_SANDBOX_JAILED_PLAN_H_
#define SANDGLASS_SANDBOX_JAILED_PLAN_H_

#include <linux/filter.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sandbox/jailed/limit_files.h"

namespace sandglass::sandbox {

// Size limits of the file systems that a program may write to.
struct ScratchSizes {
  uint64_t tmp_bytes = 0;
  uint64_t workspace_bytes = 0;
  uint32_t max_files = 0;
  friend bool operator==(const ScratchSizes&, const ScratchSizes&) = default;
};

// What init needs to know. It lives in the spawner, and init sees it in its
// copy of the address space. Descriptors are borrowed.
struct JailPlan {
  std::string image;     // its path in the yard
  ScratchSizes scratch;  // until the jail is given to a run
  VisibleLimits limits;  // the same
  int landlock_abi = 0;
  absl::Span<const std::string> masked_files;  // below /proc
  absl::Span<const std::string> masked_directories;
  absl::string_view cpuinfo;  // the host's /proc/cpuinfo
  bool trace_calls = false;   // calls that filters refuse
  int control = -1;           // SOCK_SEQPACKET to the daemon
  int run_cgroup = -1;        // v2 directory for the program
  std::vector<int> v1_tasks;  // tasks files of the jail's v1 groups
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_PLAN_H_
