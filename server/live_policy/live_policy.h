#ifndef SANDGLASS_SERVER_LIVE_POLICY_LIVE_POLICY_H_
#define SANDGLASS_SERVER_LIVE_POLICY_LIVE_POLICY_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// The policy in force. A piece of work takes it once, when it begins, and
// follows what it says until the work ends, whatever is in force by that time.
// Thread-safe.
class LivePolicy {
 public:
  explicit LivePolicy(PolicySet first)
      : policy_(std::make_shared<const PolicySet>(std::move(first))) {}

  std::shared_ptr<const PolicySet> Get() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::ReaderMutexLock lock(&mutex_);
    return policy_;
  }

  void Set(std::shared_ptr<const PolicySet> next) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    policy_.swap(next);
  }

 private:
  mutable absl::Mutex mutex_;
  std::shared_ptr<const PolicySet> policy_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIVE_POLICY_LIVE_POLICY_H_
