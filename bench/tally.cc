#include "bench/tally.h"

#include <cstdint>
#include <utility>

namespace sandglass::bench {

std::optional<bool> WasWarm(std::optional<bool> answered,
                            std::optional<uint64_t> misses_before,
                            std::optional<uint64_t> misses_after) {
  if (!answered || !misses_before || !misses_after) return std::nullopt;
  return *answered && *misses_before == *misses_after;
}

RowTally::RowTally(const Contender& contender, const std::string& program,
                   int in_flight) {
  row_.program = program;
  row_.contender = contender.name;
  row_.in_flight = in_flight;
  row_.problem = contender.missing;
}

void RowTally::Fail(const std::string& why) {
  ++row_.failed;
  if (row_.problem.empty()) row_.problem = why;
}

void RowTally::Keep(const Sample& sample) {
  times_.push_back(sample.time);
  phases_.Add(sample.phases);
  steps_.Add(sample.steps);
  if (!sample.served.empty()) ++row_.served[sample.served];
  if (sample.warm.has_value() && row_.in_flight == 0) {
    row_.warm = row_.warm.value_or(0) + (*sample.warm ? 1 : 0);
  }
  if (sample.cpu.has_value()) {
    own_cpu_ += *sample.cpu;
    has_own_cpu_ = true;
  }
}

void RowTally::Add(const absl::StatusOr<Sample>& sample, bool counts) {
  ++runs_;
  if (!sample.ok()) {
    Fail(std::string(sample.status().message()));
  } else if (counts) {
    Keep(*sample);
  }
}

void RowTally::Add(const LoopResult& result) {
  for (const Sample& sample : result.samples) Keep(sample);
  row_.failed += result.failed;
  if (row_.problem.empty()) row_.problem = result.failure;
  runs_ += result.runs;
  time_ += result.time;
  client_cpu_ += result.client_cpu * static_cast<int64_t>(result.runs);
}

void RowTally::AddDaemonCpu(absl::Duration cpu) {
  daemon_cpu_ += cpu;
  has_daemon_cpu_ = true;
}

Row RowTally::Finish() && {
  const auto of_all = [this](absl::Duration sum) {
    return sum / static_cast<int64_t>(runs_);
  };
  if (has_own_cpu_) row_.cpu = own_cpu_ / static_cast<int64_t>(times_.size());
  if (has_daemon_cpu_ && runs_ > 0) row_.cpu = of_all(daemon_cpu_);
  if (time_ > absl::ZeroDuration() && runs_ > 0) {
    row_.client_cpu = of_all(client_cpu_);
    row_.runs_per_second =
        static_cast<double>(runs_ - row_.failed) / absl::ToDoubleSeconds(time_);
  }
  if (times_.empty() && row_.problem.empty()) {
    row_.problem = "no run ended while it was measured";
  }
  row_.time = Summarise(std::move(times_));
  row_.phases = phases_.Summaries();
  row_.steps = steps_.Summaries();
  return std::move(row_);
}

}  // namespace sandglass::bench
