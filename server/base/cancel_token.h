#ifndef SANDGLASS_SERVER_BASE_CANCEL_TOKEN_H_
#define SANDGLASS_SERVER_BASE_CANCEL_TOKEN_H_

#include <atomic>
#include <optional>

#include "policy/verdict/verdict.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// Asks a run to stop. Thread-safe. When several reasons are given, the first
// one stays.
class CancelToken {
 public:
  // `reason` is one of those for which someone outside the run ends it:
  // kCancelled, kSessionEnded, kSessionDied or kShutdown.
  void Cancel(policy::KillReason reason);

  std::optional<policy::KillReason> reason() const;

  // An eventfd that is readable once Cancel was called; -1 when the process
  // had no descriptor left at construction (then reason() still works).
  int fd() const { return event_.get(); }

  CancelToken();
  CancelToken(const CancelToken&) = delete;
  CancelToken& operator=(const CancelToken&) = delete;

 private:
  std::atomic<int> reason_{-1};
  os::Fd event_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_CANCEL_TOKEN_H_
