#ifndef SANDGLASS_SERVER_EDGE_REQUEST_ROOM_H_
#define SANDGLASS_SERVER_EDGE_REQUEST_ROOM_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sandglass::server {

// Memory for requests that are still being received, or that nobody has read
// yet. Thread-safe.
//
// A caller may hold as much as is free. So one caller alone gets half of it
// all, two that want all they can get have a third each, and there is always
// something left for the next one.
class RequestRoom {
 public:
  // The most calls at a time that found no room. Each keeps at most a window's
  // bytes, 64 KiB, so all of them together keep at most an eighth of a
  // gigabyte.
  static constexpr uint64_t kMaxRefused = 2048;

  explicit RequestRoom(uint64_t bytes, uint64_t max_refused = kMaxRefused)
      : bytes_(bytes), refused_(max_refused) {}
  RequestRoom(const RequestRoom&) = delete;
  RequestRoom& operator=(const RequestRoom&) = delete;

  // Takes room. Returns false, and takes nothing, when the caller's share isn't
  // enough now.
  bool Acquire(const std::string& caller, uint64_t bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives back what the caller had taken before.
  void Release(const std::string& caller, uint64_t bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The same for calls that found no room, by the same rule. They are counted
  // because what their clients have sent by the time they hear of it still
  // arrives.
  bool AcquireRefused(const std::string& caller) ABSL_LOCKS_EXCLUDED(mutex_);
  void ReleaseRefused(const std::string& caller) ABSL_LOCKS_EXCLUDED(mutex_);

  // Bytes that are taken now.
  uint64_t used() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Bytes that were taken in all, including those that were given back.
  uint64_t total() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // How much of one thing the callers hold.
  struct Held {
    explicit Held(uint64_t all) : max(all) {}
    bool Acquire(const std::string& caller, uint64_t amount);
    void Release(const std::string& caller, uint64_t amount);

    const uint64_t max;
    uint64_t used = 0;
    std::map<std::string, uint64_t> callers;  // no zeros
  };

  mutable absl::Mutex mutex_;
  Held bytes_ ABSL_GUARDED_BY(mutex_);
  Held refused_ ABSL_GUARDED_BY(mutex_);
  uint64_t total_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_REQUEST_ROOM_H_
