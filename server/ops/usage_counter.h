#ifndef SANDGLASS_SERVER_OPS_USAGE_COUNTER_H_
#define SANDGLASS_SERVER_OPS_USAGE_COUNTER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "google/protobuf/repeated_field.h"
#include "sandglass/v1/exec.pb.h"
#include "sandglass/v1/operator.pb.h"
#include "sandglass/v1/run.pb.h"
#include "server/identity/identity.h"

namespace sandglass::server {

// Counts what was done and for whom since the daemon's start. The counts end
// with the daemon (what lasts is the audit log). Thread-safe.
class UsageCounter {
 public:
  // The most callers that are counted separately; those that come later are
  // counted together as kOthers.
  static constexpr size_t kMaxCallers = 1000;
  static constexpr char kOthers[] = "others";

  explicit UsageCounter(absl::Time since) : since_(since) {}

  // Counts a run that was accepted and has an answer.
  void RecordRun(const Identity& caller, const v1::RunCodeResponse& response)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts a request that is answered with an error. `language` may be empty.
  void RecordError(const Identity& caller, const std::string& language,
                   const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts a command in one of this caller's sessions.
  void RecordCommand(const Identity& owner, const std::string& language,
                     const v1::ExecEnd& end) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ordered by language, then by outcome.
  google::protobuf::RepeatedPtrField<v1::RunCount> Runs() const
      ABSL_LOCKS_EXCLUDED(mutex_);
  google::protobuf::RepeatedPtrField<v1::ErrorCount> Errors() const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The usage of one caller, or of all when `caller` is absent.
  v1::GetUsageResponse Usage(const std::optional<std::string>& caller,
                             absl::Time now) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Use {
    uint64_t runs = 0;
    uint64_t commands = 0;
    uint64_t refused = 0;
    absl::Duration wall;
    absl::Duration cpu;
    double memory_byte_seconds = 0;
    uint64_t network_bytes = 0;

    void Add(const v1::Usage& usage);
    void Add(const v1::NetworkUse& network);
  };

  Use& UseOf(const Identity& caller, const std::string& language)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const absl::Time since_;
  mutable absl::Mutex mutex_;
  std::map<std::pair<std::string, v1::Outcome>, uint64_t> runs_
      ABSL_GUARDED_BY(mutex_);
  // Keyed by reason and code.
  std::map<std::pair<std::string, std::string>, uint64_t> errors_
      ABSL_GUARDED_BY(mutex_);
  // Keyed by caller, then by language.
  std::map<std::string, std::map<std::string, Use>> used_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_USAGE_COUNTER_H_
