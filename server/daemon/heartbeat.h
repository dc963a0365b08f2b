#ifndef SANDGLASS_SERVER_DAEMON_HEARTBEAT_H_
#define SANDGLASS_SERVER_DAEMON_HEARTBEAT_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace sandglass::server {

// By what a supervisor knows that its daemon, a fork of it, goes on: a number
// in a page that both have. Lock-free.
class Heartbeat {
 public:
  static absl::StatusOr<std::unique_ptr<Heartbeat>> Create();
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // The daemon's: from here on no process that it forks has the page.
  void KeepFromChildren();
  void Beat() { beats_->fetch_add(1, std::memory_order_relaxed); }
  // It ends, or has not begun: none is to be expected for a while.
  void Rest() { beats_->store(0, std::memory_order_relaxed); }

  // The supervisor's: 0 before the first beat and after Rest.
  uint64_t beats() const { return beats_->load(std::memory_order_relaxed); }

 private:
  using Counter = std::atomic<uint64_t>;
  static_assert(Counter::is_always_lock_free);

  explicit Heartbeat(Counter* beats) : beats_(beats) {}

  Counter* beats_;  // a mapping of its own
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_HEARTBEAT_H_
