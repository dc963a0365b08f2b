#ifndef SANDGLASS_SERVER_OPS_READINESS_H_
#define SANDGLASS_SERVER_OPS_READINESS_H_

#include <array>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "google/protobuf/repeated_field.h"
#include "sandglass/v1/operator.pb.h"

namespace sandglass::server {

// What has to hold for the daemon to be ready, and, at the end, what only an
// operator needs to know of: the daemon is ready without it.
enum class ReadyWhen : size_t {
  kIsolation,    // a program that tries to get out of a jail doesn't
  kLanguages,    // the canaries of the languages succeed
  kPool,         // jails can be made
  kDisk,         // there is room where the daemon writes
  kAudit,        // runs can be put on record
  kHelpers,      // the daemon's other processes answer
  kPolicy,       // the last reload of the policy went well
  kWarm,         // interpreters can be started ahead, so that runs needn't wait
  kCredentials,  // the certificate and the tokens that the files say are in
                 // force
};
inline constexpr size_t kReadyConditions = 9;

// Says whether calls can be served, for each service by the name that gRPC's
// health service uses, and with "" for the daemon as a whole. Thread-safe.
//
// When a condition fails, the services that could not do their work without it
// are not served; "" is served only while all hold that readiness needs. Before
// Start and after Stop nothing is served.
class Readiness {
 public:
  // Called for each service at the start and whenever its state changes. A lock
  // is held meanwhile, so it must not call this object.
  using ServingListener =
      std::function<void(const std::string& service, bool serving)>;

  // The services of the API.
  static absl::Span<const char* const> Services();

  Readiness();

  void Start(ServingListener tell) ABSL_LOCKS_EXCLUDED(mutex_);
  // After this nothing is told any more.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // Sets a condition; may be called at any time. OK means that it holds, and
  // `detail` shows why that is believed. At first all conditions hold except
  // kIsolation, which isn't known yet.
  void Set(ReadyWhen condition, const absl::Status& status,
           const std::string& detail = "") ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Get(ReadyWhen condition) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether "" is served, that is the daemon as a whole.
  bool Ready() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool Stopped() const ABSL_LOCKS_EXCLUDED(mutex_);
  // All conditions, in the order of their enumerators.
  google::protobuf::RepeatedPtrField<v1::Condition> Conditions() const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct State {
    absl::Status status;
    std::string detail;
    absl::Time since;
  };

  bool Serves(std::string_view service) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  enum class Whom { kAll, kChanged };
  void NotifyListener(Whom whom) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  ServingListener tell_
      ABSL_GUARDED_BY(mutex_);  // empty while nothing is served
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::array<State, kReadyConditions> states_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> serving_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_READINESS_H_
