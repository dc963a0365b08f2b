#ifndef SANDGLASS_SERVER_SESSION_SESSION_LINES_H_
#define SANDGLASS_SERVER_SESSION_SESSION_LINES_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/base/shares.h"

namespace sandglass::server {

// What runs hold that wait for their turn in a session, before they come to the
// queue: each session bounds how many they are, and this the memory of all, by
// callers' shares. Thread-safe.
class SessionLines {
 public:
  // Half of `most_bytes` may be one caller's.
  explicit SessionLines(uint64_t most_bytes);

  // Counts one more run, by its caller's name and the bytes of its request.
  // RESOURCE_EXHAUSTED, "QUEUE_BYTES_FULL": there was no room, and it is to
  // leave the line, if it waits there; it is counted all the same.
  absl::Status Add(const std::string& caller, uint64_t request_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // One that was added with the same values waits there no more.
  void Remove(const std::string& caller, uint64_t request_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const uint64_t most_bytes_;
  absl::Mutex mutex_;
  Shares bytes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_SESSION_LINES_H_
