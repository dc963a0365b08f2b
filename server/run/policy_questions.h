#ifndef SANDGLASS_SERVER_RUN_POLICY_QUESTIONS_H_
#define SANDGLASS_SERVER_RUN_POLICY_QUESTIONS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandglass/v1/policy.pb.h"
#include "server/base/cancel_token.h"
#include "server/identity/identity.h"
#include "server/live_policy/live_policy.h"
#include "server/run/run_dispatcher.h"

namespace sandglass::server {

// Answers questions about profiles. This changes nothing and touches no
// caller's runs. Thread-safe.
class PolicyQuestions {
 public:
  // `policy` and `dispatcher` must outlive this object. `policy_dir` has the
  // files that profiles can name. `no_disk_cap` says why caps of disk I/O
  // aren't in force here, or is empty.
  PolicyQuestions(const LivePolicy& policy, RunDispatcher& dispatcher,
                  std::string policy_dir, std::string no_disk_cap)
      : policy_(policy),
        dispatcher_(dispatcher),
        policy_dir_(std::move(policy_dir)),
        no_disk_cap_(std::move(no_disk_cap)) {}

  // INVALID_ARGUMENT only when the request itself is malformed.
  absl::StatusOr<v1::CheckProfileResponse> CheckProfile(
      const v1::CheckProfileRequest& request) const;

  // Queues an inspection of the program. `listener` hears of its end as of that
  // of a run; the response only has the decision. Returns null when OnEnd was
  // called already.
  std::shared_ptr<Run> TestRun(const Identity& caller,
                               v1::TestRunRequest&& request,
                               std::optional<MonotonicTime> deadline,
                               RunListener* listener) const;

  // Does the same as RunDispatcher::Leave.
  bool Leave(const std::shared_ptr<Run>& run, RunListener* listener) const {
    return dispatcher_.Leave(run, listener);
  }

 private:
  absl::StatusOr<policy::Profile> Parse(
      const v1::CheckProfileRequest& request) const;

  const LivePolicy& policy_;
  RunDispatcher& dispatcher_;
  const std::string policy_dir_;
  const std::string no_disk_cap_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_POLICY_QUESTIONS_H_
