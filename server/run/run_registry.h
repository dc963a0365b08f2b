#ifndef SANDGLASS_SERVER_RUN_RUN_REGISTRY_H_
#define SANDGLASS_SERVER_RUN_RUN_REGISTRY_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sandglass/v1/run.pb.h"
#include "server/identity/identity.h"
#include "server/run/run.h"

namespace sandglass::server {

struct RetentionOptions {
  absl::Duration time = absl::Minutes(10);  // how long a finished run is known
  uint64_t max_runs = 10'000;               // finished runs
  // Bytes of finished runs, including stored answers. When the number or the
  // bytes are exhausted, the oldest runs of the caller that holds most of it
  // are forgotten first, even before their time, so that nobody's flood makes
  // other callers' runs unknown.
  uint64_t max_bytes = uint64_t{64} << 20;
};

// All runs that are queued, running or ended a short while ago. This class also
// keeps the promise about request_id: within the retention time, a repeat by
// the same caller joins the run or gets its answer. Thread-safe.
//
// An answer is kept for repeats only when a repeat is meant to get it. It is
// not kept when our own side failed, nor when the run was cancelled because
// every call that waited for it had gone; a repeat then runs afresh.
class RunRegistry {
 public:
  explicit RunRegistry(const RetentionOptions& options) : options_(options) {}

  // What happened to a request.
  struct Claimed {
    enum class How { kNew, kJoined, kEnded };
    How how = How::kNew;
    // kNew: the run that was passed in; kJoined: the earlier one.
    std::shared_ptr<Run> run;
    // kEnded: the answer, either an earlier one or ALREADY_EXISTS.
    RunEnd end;
  };
  // Registers `run` with `listener` attached, or attaches the listener to the
  // earlier run of the same caller and request_id.
  Claimed Claim(const std::shared_ptr<Run>& run, RunListener* listener)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Records a run's end. Returns the end of which its listeners are then to be
  // told; nothing when it was recorded before.
  std::optional<RunEnd> Finish(const Run& run, const RunEnd& end)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Newest first. INVALID_ARGUMENT for a bad page_size or page_token.
  absl::StatusOr<v1::ListRunsResponse> List(const Identity& caller,
                                            const v1::ListRunsRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Finds a run that is queued or running; returns nullptr when it is finished.
  // NOT_FOUND when the caller has no run with that id.
  absl::StatusOr<std::shared_ptr<Run>> Find(const Identity& caller,
                                            const std::string& run_id) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::RunSummary> Describe(const Identity& caller,
                                          const std::string& run_id) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  std::vector<std::shared_ptr<Run>> Live() const ABSL_LOCKS_EXCLUDED(mutex_);
  size_t live_count() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Key = std::pair<std::string, std::string>;  // caller, request_id
  struct Entry {
    std::shared_ptr<Run> live;  // null once finished
    // The other members are set when the run is finished.
    v1::RunSummary summary;
    std::shared_ptr<const v1::RunCodeResponse> answer;  // when kept for repeats
    std::string fingerprint;
    uint64_t bytes = 0;
    MonotonicTime finished;
  };
  static bool MaySee(const Identity& caller, const Entry& entry);
  static v1::RunSummary SummaryOf(const Entry& entry);
  const Entry* FindEntry(const Identity& caller,
                         const std::string& run_id) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // The finished runs of one caller.
  struct Finished {
    std::deque<uint64_t> numbers;  // oldest first
    uint64_t bytes = 0;
  };
  using FinishedByCaller = std::map<std::string, Finished>;

  void Evict() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets the caller's oldest run, and with the last one the caller, too.
  void EvictOldestOf(FinishedByCaller::iterator caller)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RetentionOptions options_;
  mutable absl::Mutex mutex_;
  // Keyed by the number of acceptance, newest first.
  std::map<uint64_t, Entry, std::greater<>> entries_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> by_id_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, uint64_t> by_request_id_ ABSL_GUARDED_BY(mutex_);
  FinishedByCaller finished_ ABSL_GUARDED_BY(mutex_);
  size_t finished_count_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t finished_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 1;
};

// SHA-256 of the request in protobuf's deterministic form.
std::string Fingerprint(const v1::RunCodeRequest& request);

// Returns a request's bytes, which are the same for equal requests, whatever
// the order of their maps.
std::string InOneOrder(const v1::RunCodeRequest& request);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_RUN_REGISTRY_H_
