#include "bench/closed_loop.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/os/process.h"

namespace sandglass::bench {
namespace {

// Of a worker that only fails.
constexpr size_t kMaxFailures = 1000;

absl::Duration OwnCpu() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return absl::DurationFromTimeval(usage.ru_utime) +
         absl::DurationFromTimeval(usage.ru_stime);
}

class Tally {
 public:
  void Add(absl::StatusOr<Sample> sample, bool counts)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++result_.runs;
    if (!sample.ok()) {
      if (++result_.failed == 1) {
        result_.failure = std::string(sample.status().message());
      }
    } else if (counts) {
      result_.samples.push_back(*std::move(sample));
    }
  }
  bool GivesUp() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return result_.failed >= kMaxFailures;
  }
  LoopResult Collect() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return std::move(result_);
  }

 private:
  mutable absl::Mutex mutex_;
  LoopResult result_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

LoopResult RunLoop(const LoopOptions& options,
                   const std::function<absl::StatusOr<Sample>(int)>& run) {
  const absl::Duration cpu = OwnCpu();
  const int64_t start = os::MonotonicNanos();
  const int64_t counts_from = start + absl::ToInt64Nanoseconds(options.warm_up);
  const int64_t end = counts_from + absl::ToInt64Nanoseconds(options.window);
  Tally tally;
  std::vector<std::thread> workers;
  workers.reserve(static_cast<size_t>(options.in_flight));
  for (int worker = 0; worker < options.in_flight; ++worker) {
    workers.emplace_back([&tally, &run, counts_from, end, worker] {
      while (os::MonotonicNanos() < end && !tally.GivesUp()) {
        absl::StatusOr<Sample> sample = run(worker);
        const int64_t now = os::MonotonicNanos();
        tally.Add(std::move(sample), now >= counts_from);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  LoopResult result = tally.Collect();
  result.time = absl::Nanoseconds(os::MonotonicNanos() - start);
  result.client_cpu =
      (OwnCpu() - cpu) / static_cast<int64_t>(std::max<size_t>(result.runs, 1));
  return result;
}

}  // namespace sandglass::bench
