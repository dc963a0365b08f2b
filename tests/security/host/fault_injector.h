#ifndef SANDGLASS_TESTS_SECURITY_HOST_FAULT_INJECTOR_H_
#define SANDGLASS_TESTS_SECURITY_HOST_FAULT_INJECTOR_H_

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/os/fd.h"

namespace sandglass::testing {

// Makes single system calls of other processes fail, as they would where
// something has run out. Nothing in those processes knows of it: a filter with
// SECCOMP_RET_USER_NOTIF asks this one, which lets all calls through but the
// one that it was told to let fail.
class FaultInjector {
 public:
  // Which of the calling thread's descendants a call is of.
  using Matches = std::function<bool(pid_t thread)>;

  // The calling thread, and all that it starts from then on, are asked for
  // `calls`. They stay so. ok() is false where the kernel can't.
  explicit FaultInjector(const std::vector<int>& calls);
  // The filtered processes must have ended, or their calls fail with ENOSYS.
  ~FaultInjector();
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

  bool ok() const { return listener_.valid(); }

  // The `nth` (from 1) of these calls fails with `error`, once, or each.
  static constexpr int kEach = 0;
  void Arm(int call, int error, int nth, Matches matches)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Lets all through again. How many there were; at least `nth` when one
  // failed.
  int Disarm() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Serve();
  // 0: let it through.
  int ErrorFor(int call, pid_t thread) ABSL_LOCKS_EXCLUDED(mutex_);

  os::Fd listener_, stop_;
  std::thread thread_;
  static constexpr int kNone = -1;
  std::atomic<bool> listening_ = false;
  std::atomic<int> armed_call_ = kNone;
  absl::Mutex mutex_;
  int error_ ABSL_GUARDED_BY(mutex_) = 0;
  int nth_ ABSL_GUARDED_BY(mutex_) = 0;
  int seen_ ABSL_GUARDED_BY(mutex_) = 0;
  Matches matches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SECURITY_HOST_FAULT_INJECTOR_H_
