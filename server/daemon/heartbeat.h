#ifndef SANDGLASS_SERVER_DAEMON_HEARTBEAT_H_
#define SANDGLASS_SERVER_DAEMON_HEARTBEAT_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace sandglass::server {

// Shows a supervisor that its daemon, which it forked, is alive: a number in a
// page of memory that both processes share. Lock-free.
class Heartbeat {
 public:
  static absl::StatusOr<std::unique_ptr<Heartbeat>> Create();
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // For the daemon: processes that it forks from now on don't have the page.
  void KeepFromChildren();
  void Beat() { beats_->fetch_add(1, std::memory_order_relaxed); }
  // The daemon is ending or hasn't begun yet, so no beat is to be expected for
  // a while.
  void Rest() { beats_->store(0, std::memory_order_relaxed); }

  // For the supervisor: 0 before the first beat and after Rest.
  uint64_t beats() const { return beats_->load(std::memory_order_relaxed); }

 private:
  using Counter = std::atomic<uint64_t>;
  static_assert(Counter::is_always_lock_free);

  explicit Heartbeat(Counter* beats) : beats_(beats) {}

  Counter* beats_;  // a mapping of its own
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_HEARTBEAT_H_
