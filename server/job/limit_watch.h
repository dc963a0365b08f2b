#ifndef SANDGLASS_SERVER_JOB_LIMIT_WATCH_H_
#define SANDGLASS_SERVER_JOB_LIMIT_WATCH_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "policy/limits/limits.h"
#include "policy/verdict/verdict.h"
#include "sandbox/jail/jail.h"
#include "server/base/clock.h"
#include "server/job/run_times.h"

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

// Holds one run, cell or command against its limits and says why it has to end.
// It never waits: the loop that sees the run through asks for the time of the
// next look, waits in its own way, and then has it look. It sends no signal
// either, so a reason is always recorded before the loop acts on it.
class LimitWatch {
 public:
  // The most that a sample has shown.
  struct Peaks : sandbox::MemorySample {
    uint32_t processes = 0;
  };

  // `limits` must outlive this object. The processor time is read at most once
  // in `shortest_cpu_check`; an infinite `sample_interval` means that no
  // samples are taken, an infinite `first_turn_check` that is_long isn't seen.
  explicit LimitWatch(const policy::Limits& limits,
                      absl::Duration shortest_cpu_check = kShortestCpuCheck,
                      absl::Duration sample_interval = kSampleInterval,
                      absl::Duration first_turn_check = kLongRun)
      : limits_(limits),
        shortest_cpu_check_(shortest_cpu_check),
        sample_interval_(sample_interval),
        turn_pause_(first_turn_check) {}

  // The user's code has begun, at `start`.
  void Begin(MonotonicTime start);
  // Its processes are stopped, which doesn't count as its time, or go on.
  void Pause(MonotonicTime now) { paused_ = now; }
  void Resume(MonotonicTime now);
  bool paused() const { return paused_ != kNever; }
  // Its process ended at `when`. Only its output is still held against a limit,
  // as long as it is read.
  void End(MonotonicTime when) { end_ = when; }

  // When to look again; kNever when nothing is due.
  MonotonicTime next() const;
  // Samples the run if it is time. Returns the reason why it has to end now, as
  // recorded; nullopt when there is none, or when it was returned already.
  // `asked` is the reason for which somebody outside ends it, `written` how
  // many bytes it wrote.
  std::optional<policy::Kill> Check(MonotonicTime now, const RunMeter& meter,
                                    std::optional<policy::KillReason> asked,
                                    uint64_t written);
  // Whether it has had processor time for long, as Check last saw: kLongRun.
  bool is_long() const { return is_long_; }
  // Takes a sample for the peaks, whether or not it is time.
  void Sample(const RunMeter& meter);

  // Records why the run has to end; the first reason stays. It may be given
  // time to end by itself, so its limits are still watched.
  void Record(MonotonicTime now, policy::KillReason reason,
              uint64_t measured = 0);
  // Records the reason of a kill. Returns the first reason.
  const policy::Kill& RecordKill(MonotonicTime now, policy::KillReason reason,
                                 uint64_t measured = 0);

  const std::optional<policy::Kill>& kill() const { return kill_; }
  const Peaks& peaks() const { return peaks_; }
  // How long the user's code has run at `now`, or had when it ended; zero
  // before its start.
  absl::Duration RunTime(MonotonicTime now) const;

 private:
  bool ends() const { return killed_ || end_ != kNever; }
  MonotonicTime WallDeadline() const;
  // The earliest time at which the limit could be reached if the run used all
  // the processors that it may.
  MonotonicTime NextCpuCheck(MonotonicTime now, absl::Duration used) const;
  void SampleIfDue(MonotonicTime now, const RunMeter& meter);
  void SeeIfLong(MonotonicTime now, const RunMeter& meter);

  const policy::Limits& limits_;
  const absl::Duration shortest_cpu_check_;
  const absl::Duration sample_interval_;

  MonotonicTime start_ = kNever;
  MonotonicTime paused_ = kNever;
  MonotonicTime end_ = kNever;
  absl::Duration paused_time_;  // without the pause that lasts
  MonotonicTime next_cpu_check_ = kNever;
  MonotonicTime next_sample_ = kNever;
  MonotonicTime next_uncharged_;
  // kNever once it is long.
  MonotonicTime next_turn_check_ = kNever;
  absl::Duration turn_pause_;
  bool is_long_ = false;
  std::optional<policy::Excess> excess_;  // as last measured
  Peaks peaks_;
  bool killed_ = false;
  std::optional<policy::Kill> kill_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_LIMIT_WATCH_H_
