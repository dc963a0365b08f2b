#ifndef SANDGLASS_SERVER_SESSION_SESSION_LINES_H_
#define SANDGLASS_SERVER_SESSION_SESSION_LINES_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/base/shares.h"

namespace sandglass::server {

// Accounts for the memory of runs that wait for their turn in a session, before
// they come to the queue. Each session bounds how many may wait; this bounds
// the memory of all of them together, by callers' shares. Thread-safe.
class SessionLines {
 public:
  // One caller may have at most half of `max_bytes`.
  explicit SessionLines(uint64_t max_bytes);

  // Counts one more run, by its caller's name and the bytes of its request.
  // RESOURCE_EXHAUSTED, "QUEUE_BYTES_FULL": there was no room, and the run has
  // to leave the line if it waits there; it is counted all the same.
  absl::Status Add(const std::string& caller, uint64_t request_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A run that was added with the same values no longer waits.
  void Remove(const std::string& caller, uint64_t request_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const uint64_t max_bytes_;
  absl::Mutex mutex_;
  Shares bytes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_SESSION_LINES_H_
