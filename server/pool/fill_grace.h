#ifndef SANDGLASS_SERVER_POOL_FILL_GRACE_H_
#define SANDGLASS_SERVER_POOL_FILL_GRACE_H_

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/base/clock.h"

namespace sandglass::server {

// Tells a zygote that starts from one that can't: no jail can be had of either,
// which of the first is no failure. Thread-safe.
class FillPatience {
 public:
  explicit FillPatience(absl::Duration patience = absl::Seconds(15))
      : patience_(patience) {}

  // How a fill of that kind of jails came out, as it is to be taken: the same,
  // but no more as sandbox::IsZygoteStarting once that went on for longer than
  // the patience.
  absl::Status Judge(const std::string& kind, const absl::Status& status,
                     MonotonicTime now);

 private:
  const absl::Duration patience_;
  absl::Mutex mutex_;
  std::map<std::string, MonotonicTime> starting_since_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_POOL_FILL_GRACE_H_
