#include "sandbox/wire/step_clock.h"

#include "sandbox/os/process.h"

namespace sandglass::sandbox {

StepClock::StepClock() : last_(os::MonotonicNanos()) {}

void StepClock::Begin(SetupStep step) {
  End();
  step_ = step;
  running_ = true;
}

void StepClock::End() {
  const int64_t now = os::MonotonicNanos();
  if (running_ && count_ < entries_.size()) {
    entries_[count_++] = {step_, now - last_};
  }
  running_ = false;
  last_ = now;
}

}  // namespace sandglass::sandbox
