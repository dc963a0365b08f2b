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
  // Run slots: `most` for all, `reserve` beyond that, see Shares.
  SharesOptions slots;
  uint64_t memory_bytes = 0;
  // Beyond memory_bytes, for callers none of whose runs is going on.
  uint64_t memory_reserve_bytes = 0;
  // Runs that wait, and the bytes that their requests hold.
  SharesOptions waiting;
  SharesOptions waiting_bytes;
};

// Which run is next, and what those that go on hold. Knows no threads and no
// clock; Admission has these.
//
// 1. Callers take turns. The next run is that of the caller with the fewest
//    runs going on; among equals, of the one whose last turn is longest ago.
//    Who comes anew stands behind those who wait. Runs of one caller start in
//    the order in which they came.
// 2. It starts as soon as there is a slot and memory for it. Slots are shared
//    as Shares says: while all of them are taken, a caller none of whose runs
//    is going on still gets one of the reserve, so that nobody waits for the
//    end of another's long runs.
// 3. A run that is too large for the memory that is free now keeps its turn.
//    What comes free of memory_bytes is saved up for it, so that small runs
//    don't keep it waiting for ever. Meanwhile callers none of whose runs is
//    going on may start one each, in their order, from memory_reserve_bytes.
//    That is accounted for apart, so the large run doesn't wait for theirs.
//
// A caller thus waits at most for its own runs, for those before it in the
// round, and for the end of what goes on where both reserves are in use.
class RunQueue {
 public:
  struct Waiting {
    std::shared_ptr<QueuedRun> run;
    std::string caller;
    uint64_t memory_bytes = 0;
    uint64_t request_bytes = 0;
    MonotonicTime until;  // the later it came, the later it is
  };
  // What a run holds that goes on.
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

  // Whether one more may wait.
  Shares::Room RoomFor(const std::string& caller) const {
    return waiting_shares_.RoomFor(caller);
  }
  Shares::Room RoomForBytes(const std::string& caller, uint64_t bytes) const {
    return waiting_bytes_.RoomFor(caller, bytes);
  }

  void Add(Waiting waiting);
  // False when it doesn't wait (any more).
  bool Remove(const QueuedRun* run);
  // Takes out all that wait.
  std::vector<std::shared_ptr<QueuedRun>> Clear();
  // Takes out those whose time is over.
  std::vector<std::shared_ptr<QueuedRun>> TakeOverdue(MonotonicTime now);
  // When there will be the next of those; absent: nothing waits.
  std::optional<MonotonicTime> next_overdue() const;

  bool CanStart() const { return next_.has_value(); }
  // The next one. Precondition: CanStart().
  Started Start();
  // It has ended.
  void End(const Held& held);

  size_t waiting() const { return waiting_.size(); }
  const Shares& slots() const { return slots_; }
  const Shares& waiting_shares() const { return waiting_shares_; }
  const Shares& waiting_bytes() const { return waiting_bytes_; }
  uint64_t memory_bytes() const { return memory_bytes_ + memory_of_reserve_; }

 private:
  using Number = uint64_t;
  // Of a caller that has a run waiting.
  struct Line {
    std::set<Number> runs;  // in order
    uint64_t last_turn = 0;
  };
  // Runs that go on, the last turn, whose.
  using Place = std::tuple<uint64_t, uint64_t, std::string>;
  struct Next {
    Number number;
    bool memory_of_reserve;
  };

  Place PlaceOf(const std::string& caller, const Line& line) const {
    return {slots_.held_by(caller), line.last_turn, caller};
  }
  // Out of the queue, with all that was counted for it.
  Waiting Take(std::map<Number, Waiting>::iterator waiting, bool had_turn);
  // Finds next_, after each change.
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
