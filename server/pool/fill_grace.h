#ifndef SANDGLASS_SERVER_POOL_FILL_GRACE_H_
#define SANDGLASS_SERVER_POOL_FILL_GRACE_H_

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sandbox/yard/spawner_event.h"
#include "server/base/clock.h"

namespace sandglass::server {

// Distinguishes a zygote that is still starting from one that can't start.
// Neither gives a jail, but for the first that is no failure. Thread-safe.
class FillGrace {
 public:
  explicit FillGrace(absl::Duration patience = absl::Seconds(15))
      : patience_(patience) {}

  // Returns how the result of a fill of that kind of jails is to be treated:
  // the status itself, except that it is no longer a sandbox::IsZygoteStarting
  // once that has gone on for longer than the patience.
  absl::Status Judge(const std::string& kind, const absl::Status& status,
                     MonotonicTime now) {
    absl::MutexLock lock(&mutex_);
    if (!sandbox::IsZygoteStarting(status)) {
      starting_since_.erase(kind);
      return status;
    }
    const MonotonicTime since =
        starting_since_.emplace(kind, now).first->second;
    if (Between(since, now) < patience_) return status;
    return absl::Status(status.code(), status.message());
  }

 private:
  const absl::Duration patience_;
  absl::Mutex mutex_;
  std::map<std::string, MonotonicTime> starting_since_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_POOL_FILL_GRACE_H_
