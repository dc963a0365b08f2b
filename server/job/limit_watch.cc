#include "server/job/limit_watch.h"

#include <algorithm>

namespace sandglass::server {
namespace {

// A duration as Kill::measured has it.
uint64_t InNanoseconds(absl::Duration duration) {
  return static_cast<uint64_t>(absl::ToInt64Nanoseconds(duration));
}

}  // namespace

void LimitWatch::Begin(MonotonicTime start) {
  start_ = start;
  next_cpu_check_ = NextCpuCheck(start, absl::ZeroDuration());
  next_sample_ = After(start, sample_interval_);
  next_turn_check_ = After(start, turn_pause_);
}

void LimitWatch::Resume(MonotonicTime now) {
  paused_time_ += Between(paused_, now);
  paused_ = kNever;
}

MonotonicTime LimitWatch::next() const {
  if (ends()) return next_sample_;
  return std::min(
      {WallDeadline(), next_cpu_check_, next_sample_, next_turn_check_});
}

std::optional<policy::Kill> LimitWatch::Check(
    MonotonicTime now, const RunMeter& meter,
    std::optional<policy::KillReason> asked, uint64_t written) {
  SampleIfDue(now, meter);
  if (killed_) return std::nullopt;
  // ORDER: of several reasons the first is the verdict's. Processor time, which
  // has to be read, comes last.
  if (asked.has_value()) return RecordKill(now, *asked);
  if (written > limits_.output_total_bytes) {
    return RecordKill(now, policy::KillReason::kOutput, written);
  }
  if (ends()) return std::nullopt;
  if (excess_.has_value()) {
    return RecordKill(now, excess_->reason, excess_->bytes);
  }
  if (now >= WallDeadline()) {
    return RecordKill(now, policy::KillReason::kWallTime,
                      InNanoseconds(RunTime(now)));
  }
  if (now >= next_cpu_check_) {
    const absl::Duration used = meter.CpuTime();
    if (used >= limits_.cpu_time) {
      return RecordKill(now, policy::KillReason::kCpuTime, InNanoseconds(used));
    }
    next_cpu_check_ = NextCpuCheck(now, used);
  }
  SeeIfLong(now, meter);
  return std::nullopt;
}

void LimitWatch::SeeIfLong(MonotonicTime now, const RunMeter& meter) {
  if (now < next_turn_check_) return;
  is_long_ = meter.CpuTime() >= kLongRun;
  turn_pause_ = std::min(2 * turn_pause_, kLongestTurnCheck);
  next_turn_check_ = is_long_ ? kNever : After(now, turn_pause_);
}

void LimitWatch::SampleIfDue(MonotonicTime now, const RunMeter& meter) {
  if (now < next_sample_) return;
  Sample(meter);
  next_sample_ = After(now, sample_interval_);
  if (now < next_uncharged_) return;
  const MonotonicTime began = Now();
  excess_ = policy::FindExcess(meter.Uncharged());
  // The measurement's own time comes before the pause.
  next_uncharged_ = After(now, (1 + kUnchargedShare) * Between(began, Now()));
}

void LimitWatch::Sample(const RunMeter& meter) {
  const sandbox::MemorySample memory = meter.Memory();
  peaks_.anonymous_bytes =
      std::max(peaks_.anonymous_bytes, memory.anonymous_bytes);
  peaks_.shared_bytes = std::max(peaks_.shared_bytes, memory.shared_bytes);
  peaks_.processes = std::max(peaks_.processes, meter.Processes());
}

void LimitWatch::Record(MonotonicTime now, policy::KillReason reason,
                        uint64_t measured) {
  if (!kill_.has_value()) kill_ = policy::Kill{reason, RunTime(now), measured};
}

const policy::Kill& LimitWatch::RecordKill(MonotonicTime now,
                                           policy::KillReason reason,
                                           uint64_t measured) {
  Record(now, reason, measured);
  killed_ = true;
  return *kill_;
}

absl::Duration LimitWatch::RunTime(MonotonicTime now) const {
  const MonotonicTime until = std::min({now, paused_, end_});
  return Between(start_, std::max(start_, until)) - paused_time_;
}

MonotonicTime LimitWatch::WallDeadline() const {
  if (paused()) return kNever;
  return After(start_, limits_.wall_time + paused_time_);
}

MonotonicTime LimitWatch::NextCpuCheck(MonotonicTime now,
                                       absl::Duration used) const {
  const double processors =
      std::max(1.0, static_cast<double>(limits_.cpu_millis) / 1000.0);
  const absl::Duration left = (limits_.cpu_time - used) / processors;
  return After(now, std::max(left, shortest_cpu_check_));
}

}  // namespace sandglass::server
