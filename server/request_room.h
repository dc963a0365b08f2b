#ifndef SANDGLASS_SERVER_REQUEST_ROOM_H_
#define SANDGLASS_SERVER_REQUEST_ROOM_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sandglass::server {

// Memory for requests that are on their way in: a message has room from its
// first bytes, which say how long it is, to its last. Thread-safe.
//
// A caller may hold as much as is free. So one alone gets half of it all, two
// that want all they can get a third each, and there is always something left
// for whoever comes next.
class RequestRoom {
 public:
  explicit RequestRoom(uint64_t bytes) : bytes_(bytes) {}
  RequestRoom(const RequestRoom&) = delete;
  RequestRoom& operator=(const RequestRoom&) = delete;

  // False, and nothing is taken: the caller's share isn't enough now.
  bool Take(const std::string& caller, uint64_t bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // What the caller had taken before.
  void Give(const std::string& caller, uint64_t bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Bytes that are taken now.
  uint64_t used() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Bytes that were ever taken.
  uint64_t total() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const uint64_t bytes_;
  mutable absl::Mutex mutex_;
  uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t total_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, uint64_t> callers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_REQUEST_ROOM_H_
