#ifndef SANDGLASS_SERVER_ADMISSION_RUN_QUEUE_H_
#define SANDGLASS_SERVER_ADMISSION_RUN_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "server/admission/queued_run.h"
#include "server/base/clock.h"
#include "server/base/shares.h"

namespace sandglass::server {

struct RunQueueOptions {
  // Run slots: `max` are for everybody, `reserve` come on top of that, see
  // Shares.
  SharesOptions slots;
  uint64_t memory_bytes = 0;
  // Memory beyond memory_bytes, for callers that have no run going on.
  uint64_t memory_reserve_bytes = 0;
  // How many runs may wait, and how many bytes their requests may hold.
  SharesOptions waiting;
  SharesOptions waiting_bytes;
};

// Decides which run is next, and keeps account of what running runs hold. It
// knows neither threads nor a clock; Admission has these.
//
// 1. Callers take turns. The next run is that of the caller with the fewest
//    runs going on; among equals, of the one whose last turn was longest ago.
//    A caller that comes anew stands behind those that already wait. Runs of
//    one caller start in the order in which they came.
// 2. The run starts as soon as there is a slot and memory for it. Slots are
//    shared as Shares says: while all of them are taken, a caller that has no
//    run going on still gets one of the reserve, so that nobody waits for the
//    end of another's long runs.
// 3. A run that is too large for the memory that is free now keeps its turn.
//    Whatever becomes free of memory_bytes is saved up for it, so that small
//    runs don't keep it waiting for ever. Meanwhile callers that have no run
//    going on may start one each, in their order, from memory_reserve_bytes.
//    The reserve is accounted for separately, so the large run doesn't wait
//    for theirs.
//
// So a caller waits at most for its own runs, for those before it in the round,
// and, where both reserves are in use, for the end of running runs.
class RunQueue {
 public:
  struct Waiting {
    std::shared_ptr<QueuedRun> run;
    std::string caller;
    uint64_t memory_bytes = 0;
    uint64_t request_bytes = 0;
    MonotonicTime until;  // its deadline; a run that came later has a later one
  };
  // What a running run holds.
  struct Held {
    std::string caller;
    uint64_t memory_bytes = 0;
    bool memory_of_reserve = false;
  };
  struct Started {
    std::shared_ptr<QueuedRun> run;
    Held held;
  };

  explicit RunQueue(const RunQueueOptions& options);

  void Add(Waiting waiting);
  // Returns false when the run doesn't wait, or doesn't wait any more.
  bool Remove(const QueuedRun* run);
  // Takes out all runs that wait.
  std::vector<std::shared_ptr<QueuedRun>> Clear();
  // Takes out the runs whose time to wait is over.
  std::vector<std::shared_ptr<QueuedRun>> PopOverdue(MonotonicTime now);
  // The time at which the next run becomes overdue; absent when none waits.
  std::optional<MonotonicTime> next_overdue() const;

  bool CanStart() const { return next_.has_value(); }
  // Takes the next run out of the queue and counts what it holds. Precondition:
  // CanStart().
  Started Start();
  // Gives back what a run held that has ended.
  void End(const Held& held);

  size_t waiting() const { return waiting_.size(); }
  const Shares& slots() const { return slots_; }
  // Whether one more run of a caller may wait, and so many bytes.
  const Shares& waiting_shares() const { return waiting_shares_; }
  const Shares& waiting_bytes() const { return waiting_bytes_; }
  uint64_t memory_bytes() const { return memory_bytes_ + memory_of_reserve_; }

 private:
  using Number = uint64_t;
  // The line of a caller that has at least one run waiting.
  struct Line {
    std::set<Number> runs;  // in order
    uint64_t last_turn = 0;
  };
  // The number of the caller's running runs, its last turn, and its name.
  using Place = std::tuple<uint64_t, uint64_t, std::string>;
  struct Next {
    Number number;
    bool memory_of_reserve;
  };

  Place PlaceOf(const std::string& caller, const Line& line) const {
    return {slots_.held_by(caller), line.last_turn, caller};
  }
  // Takes a run out of the queue, with all that was counted for its waiting.
  Waiting Extract(std::map<Number, Waiting>::iterator waiting, bool had_turn);
  // Finds next_ again. Called after each change.
  void Choose();

  const RunQueueOptions options_;
  std::map<Number, Waiting> waiting_;  // in order of arrival
  std::map<std::string, Line> lines_;
  std::set<Place> order_;  // of all lines_
  Shares waiting_shares_;
  Shares waiting_bytes_;
  Shares slots_;
  uint64_t memory_bytes_ = 0;
  uint64_t memory_of_reserve_ = 0;
  uint64_t next_number_ = 1;
  uint64_t next_turn_ = 1;
  std::optional<Next> next_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ADMISSION_RUN_QUEUE_H_
