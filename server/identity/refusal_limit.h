#ifndef SANDGLASS_SERVER_IDENTITY_REFUSAL_LIMIT_H_
#define SANDGLASS_SERVER_IDENTITY_REFUSAL_LIMIT_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/base/clock.h"

namespace sandglass::server {

// How often an address may present credentials that aren't right: 20 times at
// once, and then once a second. Thread-safe; keeps at most 4096 addresses and
// forgets those that have been quiet longest.
class RefusalLimit {
 public:
  static constexpr double kBurst = 20;
  static constexpr double kPerSecond = 1;
  static constexpr size_t kMaxAddresses = 4096;

  // Counts a refusal.
  void Count(const std::string& address, MonotonicTime now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // How long the address has to wait before it may try again; zero: not at all.
  absl::Duration Wait(const std::string& address, MonotonicTime now) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Bucket {
    double refusals = 0;  // less those that time has made good
    MonotonicTime at;
  };
  static double Left(const Bucket& bucket, MonotonicTime now);

  mutable absl::Mutex mutex_;
  std::map<std::string, Bucket> addresses_ ABSL_GUARDED_BY(mutex_);
};

// An IPv4 address itself, of an IPv6 address its /64: what one household or
// machine is usually given.
std::string NetworkOf(const std::string& address);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IDENTITY_REFUSAL_LIMIT_H_
