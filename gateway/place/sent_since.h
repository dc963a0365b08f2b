#ifndef SANDGLASS_GATEWAY_PLACE_SENT_SINCE_H_
#define SANDGLASS_GATEWAY_PLACE_SENT_SINCE_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "server/base/clock.h"

namespace sandglass::gateway {

// What one run or session takes of a node.
struct Taken {
  bool session = false;       // else a run
  uint64_t memory_bytes = 0;  // that the run reserves, or the session may take
};

// What a node has more, or less, than it reported.
struct Change {
  int64_t runs = 0;
  int64_t run_memory = 0;  // bytes
  int64_t sessions = 0;
  int64_t session_memory = 0;  // bytes

  Change& operator+=(const Change& other);
};

// What this gateway sent to one node, less what of its own ended there, since
// the node's last report. What happens within kStep counts as one, so that a
// node of many short runs takes no more memory here than others: at most
// kMaxSteps of them are kept apart.
class SentSince {
 public:
  static constexpr server::MonotonicTime::duration kStep =
      std::chrono::milliseconds(2);
  static constexpr size_t kMaxSteps = 1024;

  void Sent(const Taken& taken, server::MonotonicTime now);
  void Ended(const Taken& taken, server::MonotonicTime now);
  // There is a report that counts all that happened before `as_of`. A step that
  // isn't over by then stays whole, and counts twice for up to kStep.
  void Reported(server::MonotonicTime as_of);

  const Change& sum() const { return sum_; }
  size_t steps() const { return steps_.size(); }

 private:
  struct Step {
    server::MonotonicTime begin;
    Change change;
  };

  void Add(const Change& change, server::MonotonicTime now);

  std::deque<Step> steps_;
  Change sum_;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PLACE_SENT_SINCE_H_
