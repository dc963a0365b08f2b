#ifndef SANDGLASS_BENCH_TALLY_H_
#define SANDGLASS_BENCH_TALLY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/closed_loop.h"
#include "bench/contenders.h"
#include "bench/report.h"

namespace sandglass::bench {

// Whether a run found all that it took made ahead: its answer says so of the
// jail of its program, and the daemon's count of misses is what it was.
// nullopt when one of these isn't known.
std::optional<bool> WasWarm(std::optional<bool> answered,
                            std::optional<uint64_t> misses_before,
                            std::optional<uint64_t> misses_after);

// What one contender does with one program, on its way to a row.
class RowTally {
 public:
  RowTally(const Contender& contender, const std::string& program,
           int in_flight);

  const std::string& problem() const { return row_.problem; }
  int in_flight() const { return row_.in_flight; }
  void Fail(const std::string& why);
  // One run; `counts`: not of a warm-up.
  void Add(const absl::StatusOr<Sample>& sample, bool counts);
  void Add(const LoopResult& result);
  // Processor time that a daemon used meanwhile, for all runs since.
  void AddDaemonCpu(absl::Duration cpu);
  Row Finish() &&;

 private:
  void Keep(const Sample& sample);

  Row row_;
  std::vector<absl::Duration> times_;
  NamedSamples phases_;
  NamedSamples steps_;
  size_t runs_ = 0;         // warm-up included
  absl::Duration time_;     // of runs in flight
  absl::Duration own_cpu_;  // of samples that tell it
  bool has_own_cpu_ = false;
  absl::Duration daemon_cpu_;
  bool has_daemon_cpu_ = false;
  absl::Duration client_cpu_;
};

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_TALLY_H_
