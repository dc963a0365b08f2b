#ifndef SANDGLASS_SANDBOX_JAILED_PLAN_H_
#define SANDGLASS_SANDBOX_JAILED_PLAN_H_

#include <linux/filter.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sandbox/jailed/limit_files.h"
#include "sandbox/os/process.h"
#include "sandbox/wire/setup_step.h"

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

// Measures how long steps take, one after another. It doesn't allocate memory,
// so it works after a fork.
class StepClock {
 public:
  struct Entry {
    SetupStep step;
    int64_t nanoseconds;
  };
  StepClock() : last_(os::MonotonicNanos()) {}

  // The given step runs from now until the next call.
  void Begin(SetupStep step) {
    End();
    step_ = step;
    running_ = true;
  }
  void End() {
    const int64_t now = os::MonotonicNanos();
    if (running_ && count_ < entries_.size()) {
      entries_[count_++] = {step_, now - last_};
    }
    running_ = false;
    last_ = now;
  }
  SetupStep current() const { return step_; }
  absl::Span<const Entry> entries() const {
    return absl::MakeConstSpan(entries_.data(), count_);
  }

 private:
  std::array<Entry, kSetupStepCount> entries_{};
  size_t count_ = 0;
  int64_t last_;
  SetupStep step_ = SetupStep::kPrepareCgroup;
  bool running_ = false;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_PLAN_H_
