#include "server/job/limit_watch.h"

#include <chrono>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace sandglass::server {
namespace {

using policy::KillReason;

constexpr MonotonicTime kStart = FromNanos(1'000'000'000'000);
constexpr std::chrono::nanoseconds kMoment(1);
constexpr std::optional<KillReason> kNobody = std::nullopt;

MonotonicTime At(absl::Duration since_start) {
  return After(kStart, since_start);
}

// Shows what it is told to, and counts how often it is read.
class FakeMeter : public RunMeter {
 public:
  absl::Duration CpuTime() const override {
    ++cpu_reads;
    return cpu;
  }
  sandbox::MemorySample Memory() const override {
    ++samples;
    return memory;
  }
  uint32_t Processes() const override { return processes; }
  policy::UnchargedMemory Uncharged() const override {
    ++uncharged_reads;
    absl::SleepFor(uncharged_takes);
    return uncharged;
  }

  absl::Duration cpu;
  sandbox::MemorySample memory;
  uint32_t processes = 1;
  policy::UnchargedMemory uncharged;
  absl::Duration uncharged_takes;
  mutable int cpu_reads = 0;
  mutable int samples = 0;
  mutable int uncharged_reads = 0;
};

policy::Limits SomeLimits() {
  policy::Limits limits;
  limits.wall_time = absl::Seconds(60);
  limits.cpu_time = absl::Seconds(10);
  limits.cpu_millis = 1000;
  limits.output_total_bytes = 100;
  return limits;
}

// For what isn't about samples, nor about long runs.
LimitWatch WithoutSamples(const policy::Limits& limits) {
  LimitWatch watch(limits, kShortestCpuCheck, absl::InfiniteDuration(),
                   absl::InfiniteDuration());
  watch.Begin(kStart);
  return watch;
}

TEST(LimitWatch, ReadsProcessorTimeWhenItMayBeUsedUp) {
  policy::Limits limits = SomeLimits();
  limits.cpu_millis = 2000;
  LimitWatch watch = WithoutSamples(limits);
  FakeMeter meter;
  // Two processors need five seconds.
  EXPECT_EQ(watch.next(), At(absl::Seconds(5)));
  EXPECT_FALSE(watch.Check(watch.next() - kMoment, meter, kNobody, 0));
  EXPECT_EQ(meter.cpu_reads, 0);
  meter.cpu = absl::Seconds(4);
  EXPECT_FALSE(watch.Check(watch.next(), meter, kNobody, 0));
  EXPECT_EQ(meter.cpu_reads, 1);
  EXPECT_EQ(watch.next(), At(absl::Seconds(8)));
  // However little is left, some time passes until the next look.
  meter.cpu = absl::Seconds(10) - absl::Nanoseconds(1);
  EXPECT_FALSE(watch.Check(watch.next(), meter, kNobody, 0));
  EXPECT_EQ(watch.next(), At(absl::Seconds(8) + kShortestCpuCheck));
  meter.cpu = absl::Seconds(10);
  const auto kill = watch.Check(watch.next(), meter, kNobody, 0);
  ASSERT_TRUE(kill.has_value());
  EXPECT_EQ(kill->reason, KillReason::kCpuTime);
  EXPECT_EQ(kill->measured, 10'000'000'000u);
  EXPECT_EQ(kill->after, absl::Seconds(8) + kShortestCpuCheck);
  EXPECT_EQ(watch.next(), kNever);
}

TEST(LimitWatch, PartOfAProcessorCountsAsOne) {
  policy::Limits limits = SomeLimits();
  limits.cpu_millis = 250;
  EXPECT_EQ(WithoutSamples(limits).next(), At(absl::Seconds(10)));
}

TEST(LimitWatch, OfSeveralReasonsTheFirstInOrderCounts) {
  const policy::Limits limits = SomeLimits();
  FakeMeter meter;
  meter.cpu = limits.cpu_time;
  meter.uncharged.netlink_bytes = policy::kMaxNetlinkBytes + 1;
  const MonotonicTime late = At(limits.wall_time);
  const uint64_t much = limits.output_total_bytes + 1;
  const auto reason = [&](MonotonicTime now, std::optional<KillReason> asked,
                          uint64_t written) {
    LimitWatch watch(limits);
    watch.Begin(kStart);
    const auto kill = watch.Check(now, meter, asked, written);
    EXPECT_TRUE(kill.has_value());
    return kill.value_or(policy::Kill{}).reason;
  };
  EXPECT_EQ(reason(late, KillReason::kShutdown, much), KillReason::kShutdown);
  EXPECT_EQ(reason(late, kNobody, much), KillReason::kOutput);
  EXPECT_EQ(reason(late, kNobody, much - 1), KillReason::kNetlink);
  meter.uncharged = {};
  EXPECT_EQ(reason(late, kNobody, 0), KillReason::kWallTime);
  // Processor time is read only when nothing else was found.
  EXPECT_EQ(meter.cpu_reads, 0);
  EXPECT_EQ(reason(late - kMoment, kNobody, 0), KillReason::kCpuTime);
  EXPECT_EQ(meter.cpu_reads, 1);
}

TEST(LimitWatch, SamplesNowAndThenAndKeepsThePeaks) {
  const policy::Limits limits = SomeLimits();
  LimitWatch watch(limits);
  FakeMeter meter;
  EXPECT_EQ(watch.next(), kNever);
  watch.Begin(kStart);
  EXPECT_EQ(watch.next(), At(kSampleInterval));
  EXPECT_FALSE(watch.Check(watch.next() - kMoment, meter, kNobody, 0));
  EXPECT_EQ(meter.samples, 0);
  meter.memory = {.anonymous_bytes = 100, .shared_bytes = 1};
  meter.processes = 3;
  EXPECT_FALSE(watch.Check(watch.next(), meter, kNobody, 0));
  meter.memory = {.anonymous_bytes = 10, .shared_bytes = 20};
  meter.processes = 2;
  EXPECT_FALSE(watch.Check(watch.next(), meter, kNobody, 0));
  EXPECT_EQ(meter.samples, 2);
  EXPECT_EQ(watch.next(), At(3 * kSampleInterval));
  // A run that is told to end may still take memory.
  EXPECT_TRUE(
      watch.Check(At(absl::Seconds(1)), meter, KillReason::kCancelled, 0));
  meter.processes = 4;
  EXPECT_EQ(watch.next(), At(absl::Seconds(1) + kSampleInterval));
  EXPECT_FALSE(watch.Check(watch.next(), meter, KillReason::kCancelled, 0));
  EXPECT_EQ(watch.peaks().anonymous_bytes, 100u);
  EXPECT_EQ(watch.peaks().shared_bytes, 20u);
  EXPECT_EQ(watch.peaks().processes, 4u);
  EXPECT_EQ(meter.cpu_reads, 0);
  meter.processes = 5;
  watch.Sample(meter);
  EXPECT_EQ(watch.peaks().processes, 5u);
}

TEST(LimitWatch, SlowMeasurementsAreSeldom) {
  policy::Limits limits = SomeLimits();
  limits.wall_time = limits.cpu_time = absl::InfiniteDuration();
  LimitWatch watch(limits);
  watch.Begin(kStart);
  FakeMeter meter;
  meter.uncharged_takes = absl::Milliseconds(10);
  while (watch.next() < At(absl::Milliseconds(200))) {
    EXPECT_FALSE(watch.Check(watch.next(), meter, kNobody, 0));
  }
  EXPECT_EQ(meter.samples, 9);
  EXPECT_EQ(meter.uncharged_reads, 1);
  meter.uncharged.lock_bytes = policy::kMaxRecordLockBytes + 1;
  const auto kill = watch.Check(At(absl::Hours(1)), meter, kNobody, 0);
  ASSERT_TRUE(kill.has_value());
  EXPECT_EQ(kill->reason, KillReason::kLocks);
  EXPECT_EQ(kill->measured, policy::kMaxRecordLockBytes + 1);
  EXPECT_EQ(kill->after, absl::Hours(1));
}

TEST(LimitWatch, PausesDoNotCount) {
  policy::Limits limits = SomeLimits();
  limits.wall_time = absl::Seconds(4);
  LimitWatch watch = WithoutSamples(limits);
  FakeMeter meter;
  EXPECT_EQ(watch.next(), At(absl::Seconds(4)));
  watch.Pause(At(absl::Seconds(1)));
  EXPECT_TRUE(watch.paused());
  EXPECT_EQ(watch.next(), At(absl::Seconds(10)));  // processor time
  EXPECT_EQ(watch.RunTime(At(absl::Seconds(6))), absl::Seconds(1));
  EXPECT_FALSE(watch.Check(At(absl::Seconds(6)), meter, kNobody, 0));
  watch.Resume(At(absl::Seconds(6)));
  EXPECT_FALSE(watch.paused());
  EXPECT_EQ(watch.next(), At(absl::Seconds(9)));
  EXPECT_EQ(watch.RunTime(At(absl::Seconds(7))), absl::Seconds(2));
  const auto kill = watch.Check(watch.next(), meter, kNobody, 0);
  ASSERT_TRUE(kill.has_value());
  EXPECT_EQ(kill->reason, KillReason::kWallTime);
  EXPECT_EQ(kill->measured, 4'000'000'000u);
  EXPECT_EQ(kill->after, absl::Seconds(4));
}

TEST(LimitWatch, NoLimitIsNeverReached) {
  policy::Limits limits = SomeLimits();
  limits.wall_time = limits.cpu_time = absl::InfiniteDuration();
  LimitWatch watch = WithoutSamples(limits);
  FakeMeter meter;
  EXPECT_EQ(watch.next(), kNever);
  EXPECT_FALSE(watch.Check(At(absl::Hours(10'000)), meter, kNobody, 0));
  EXPECT_EQ(meter.cpu_reads, 0);
}

TEST(LimitWatch, AReasonBeforeTheKillStays) {
  const policy::Limits limits = SomeLimits();
  LimitWatch watch = WithoutSamples(limits);
  FakeMeter meter;
  watch.Record(At(absl::Seconds(2)), KillReason::kCancelled);
  // It may tidy up, but not longer than its limits allow.
  EXPECT_EQ(watch.next(), At(absl::Seconds(10)));
  const auto kill = watch.Check(At(absl::Seconds(60)), meter, kNobody, 0);
  ASSERT_TRUE(kill.has_value());
  EXPECT_EQ(kill->reason, KillReason::kCancelled);
  EXPECT_EQ(kill->after, absl::Seconds(2));
  EXPECT_EQ(kill->measured, 0u);
  EXPECT_FALSE(watch.Check(At(absl::Seconds(61)), meter, kNobody, 1000));
  EXPECT_EQ(watch.RecordKill(At(absl::Seconds(62)), KillReason::kLocks).reason,
            KillReason::kCancelled);
}

TEST(LimitWatch, AKillMayComeBeforeTheStart) {
  const policy::Limits limits = SomeLimits();
  LimitWatch watch(limits);
  watch.RecordKill(kStart - 5 * kMoment, KillReason::kSessionEnded);
  watch.Begin(kStart);
  EXPECT_EQ(watch.kill()->reason, KillReason::kSessionEnded);
  EXPECT_EQ(watch.kill()->after, absl::ZeroDuration());
}

TEST(LimitWatch, AfterTheEndOnlyOutputCounts) {
  const policy::Limits limits = SomeLimits();
  LimitWatch watch = WithoutSamples(limits);
  FakeMeter meter;
  meter.cpu = limits.cpu_time;
  watch.End(At(absl::Seconds(3)));
  EXPECT_EQ(watch.next(), kNever);
  const MonotonicTime late = At(absl::Seconds(100));
  EXPECT_EQ(watch.RunTime(late), absl::Seconds(3));
  EXPECT_FALSE(
      watch.Check(late, meter, kNobody, limits.output_total_bytes).has_value());
  EXPECT_EQ(meter.cpu_reads, 0);
  const auto kill =
      watch.Check(late, meter, kNobody, limits.output_total_bytes + 1);
  ASSERT_TRUE(kill.has_value());
  EXPECT_EQ(kill->reason, KillReason::kOutput);
  EXPECT_EQ(kill->measured, 101u);
  EXPECT_EQ(kill->after, absl::Seconds(3));
}

TEST(LimitWatch, SaysOnceItHasComputedForLong) {
  const policy::Limits limits = SomeLimits();
  LimitWatch watch(limits, kShortestCpuCheck, absl::InfiniteDuration());
  watch.Begin(kStart);
  FakeMeter meter;
  EXPECT_EQ(watch.next(), At(kLongRun));
  meter.cpu = kLongRun - absl::Milliseconds(1);
  EXPECT_EQ(watch.Check(At(kLongRun), meter, kNobody, 0), std::nullopt);
  EXPECT_FALSE(watch.is_long());
  // It is asked again, ever more seldom.
  EXPECT_EQ(watch.next(), At(3 * kLongRun));
  EXPECT_EQ(watch.Check(watch.next(), meter, kNobody, 0), std::nullopt);
  EXPECT_EQ(watch.next(), At(7 * kLongRun));
  meter.cpu = kLongRun;
  EXPECT_EQ(watch.Check(watch.next(), meter, kNobody, 0), std::nullopt);
  EXPECT_TRUE(watch.is_long());
  // And no more once that is known.
  EXPECT_GE(watch.next(), At(absl::Seconds(9)));
}

}  // namespace
}  // namespace sandglass::server
