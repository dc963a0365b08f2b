#ifndef SANDGLASS_SANDBOX_WIRE_STEP_CLOCK_H_
#define SANDGLASS_SANDBOX_WIRE_STEP_CLOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "sandbox/wire/setup_step.h"

namespace sandglass::sandbox {

// Measures how long steps take, one after another. It doesn't allocate memory,
// so it works after a fork.
class StepClock {
 public:
  struct Entry {
    SetupStep step;
    int64_t nanoseconds;
  };
  StepClock();

  // The given step runs from now until the next call.
  void Begin(SetupStep step);
  void End();
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

#endif  // SANDGLASS_SANDBOX_WIRE_STEP_CLOCK_H_
