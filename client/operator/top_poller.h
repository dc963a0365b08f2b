#ifndef SANDGLASS_CLIENT_OPERATOR_TOP_POLLER_H_
#define SANDGLASS_CLIENT_OPERATOR_TOP_POLLER_H_

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/base/unique_fd.h"
#include "client/connection/cancellable_call.h"
#include "client/connection/daemon.h"
#include "client/connection/endpoint.h"
#include "client/operator/top_screen.h"

namespace sandglass::client {

// The result of asking the daemon once.
struct TopLook {
  std::shared_ptr<const TopSnapshot> snapshot;  // null: there is none
  // What went wrong, possibly with further lines of advice; empty: nothing.
  std::string trouble;
};

// Asks a daemon again and again, on a thread of its own. If the daemon has gone
// away, it connects anew each time.
class TopPoller {
 public:
  TopPoller(Endpoint endpoint, absl::Duration interval);
  // Ends the call in progress.
  ~TopPoller();
  TopPoller(const TopPoller&) = delete;
  TopPoller& operator=(const TopPoller&) = delete;

  // Readable once there is a result that was not taken yet.
  int wake_fd() const { return wake_.get(); }

  // The newest result; nullopt when it was taken before.
  std::optional<TopLook> Pop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);
  TopLook Poll(std::optional<Daemon>& daemon);

  const Endpoint endpoint_;
  const absl::Duration interval_;
  const UniqueFd wake_;
  CallCancel cancel_;
  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<TopLook> newest_ ABSL_GUARDED_BY(mutex_);
  // Last, because it uses all other members.
  std::thread thread_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_OPERATOR_TOP_POLLER_H_
