#ifndef SANDGLASS_SERVER_RUN_RUN_WATCHER_H_
#define SANDGLASS_SERVER_RUN_RUN_WATCHER_H_

#include "absl/status/status.h"
#include "server/identity/identity.h"
#include "server/run/run.h"

namespace sandglass::server {

// Hears what becomes of all requests, on many threads at once. It never waits.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  // A run that was accepted; its answer is about to go out.
  virtual void RecordRun(const Run& run, const RunEnd& end) = 0;
  // A request that wasn't.
  virtual void RecordRefused(const Identity& caller,
                             const absl::Status& status) = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_RUN_WATCHER_H_
