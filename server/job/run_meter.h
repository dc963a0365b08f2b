#ifndef SANDGLASS_SERVER_JOB_RUN_METER_H_
#define SANDGLASS_SERVER_JOB_RUN_METER_H_

#include <cstdint>

#include "absl/time/time.h"
#include "policy/verdict/verdict.h"
#include "sandbox/jail/jail.h"

namespace sandglass::server {

// Reads from the kernel what a run uses. Each call costs system calls.
class RunMeter {
 public:
  virtual ~RunMeter() = default;
  // Processor time since the run's start.
  virtual absl::Duration CpuTime() const = 0;
  // What the run has now; only for a LimitWatch that takes samples.
  virtual sandbox::MemorySample Memory() const { return {}; }
  virtual uint32_t Processes() const { return 0; }
  virtual policy::UnchargedMemory Uncharged() const { return {}; }
};

// Of a run that has a jail, or the use of one for some time. A session's jail
// may have other processes; they count, too.
class JailMeter final : public RunMeter {
 public:
  // `cpu_before` is the jail's processor time when the run began. The jail must
  // outlive this object.
  explicit JailMeter(const sandbox::Jail& jail, absl::Duration cpu_before = {})
      : jail_(jail), cpu_before_(cpu_before) {}

  absl::Duration CpuTime() const override {
    return jail_.ReadCounters().cpu_total() - cpu_before_;
  }
  sandbox::MemorySample Memory() const override { return jail_.SampleMemory(); }
  uint32_t Processes() const override { return jail_.ProcessCount(); }
  policy::UnchargedMemory Uncharged() const override {
    return jail_.ReadUncharged();
  }

 private:
  const sandbox::Jail& jail_;
  const absl::Duration cpu_before_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_RUN_METER_H_
