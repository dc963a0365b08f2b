#ifndef SANDGLASS_SERVER_OPS_READINESS_H_
#define SANDGLASS_SERVER_OPS_READINESS_H_

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "sandglass/v1/operator.pb.h"

namespace sandglass::server {

// What has to hold for the daemon to be ready.
enum class ReadyWhen : size_t {
  kIsolation,  // a program that tries to get out of a jail doesn't
  kLanguages,  // the canaries of the languages do well
  kPool,       // jails can be made
  kDisk,       // there is room where the daemon writes
  kAudit,      // runs can be put on record
  kHelpers,    // the daemon's other processes answer
};
inline constexpr size_t kReadyConditions = 6;

// Tells whether calls can be served: service by service, as gRPC's health
// service names them, and "" for the daemon as a whole. Thread-safe.
//
// A condition takes away the services that could not do their work without it;
// "" holds only while all conditions do. Before Start and after Stop nothing is
// served.
class Readiness {
 public:
  // Told of each service at the start and when its state changes, under a lock:
  // it must not come back here.
  using Tell = std::function<void(const std::string& service, bool serving)>;

  // The services of the API.
  static absl::Span<const char* const> Services();

  Readiness();

  void Start(Tell tell) ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing is told afterwards.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // At any time. OK: it holds, and `detail` shows why that is believed. All do
  // at first, but for kIsolation, which isn't known.
  void Set(ReadyWhen condition, const absl::Status& status,
           const std::string& detail = "") ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Get(ReadyWhen condition) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether "" is served.
  bool Ready() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool Stopped() const ABSL_LOCKS_EXCLUDED(mutex_);
  // In the order of their enumerators.
  std::vector<v1::Condition> Conditions() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct State {
    absl::Status status;
    std::string detail;
    absl::Time since;
  };

  bool Serves(std::string_view service) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  enum class Whom { kAll, kChanged };
  void TellOf(Whom whom) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  Tell tell_ ABSL_GUARDED_BY(mutex_);  // empty while nothing is served
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::array<State, kReadyConditions> states_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> serving_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_READINESS_H_
