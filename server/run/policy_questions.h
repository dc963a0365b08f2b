#ifndef SANDGLASS_SERVER_RUN_POLICY_QUESTIONS_H_
#define SANDGLASS_SERVER_RUN_POLICY_QUESTIONS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandglass/v1/policy.pb.h"
#include "server/base/cancel_token.h"
#include "server/identity/caller.h"
#include "server/live_policy/live_policy.h"
#include "server/run/run_dispatcher.h"

namespace sandglass::server {

// What the daemon answers about profiles; nothing changes and nothing of a
// caller's runs. Thread-safe.
class PolicyQuestions {
 public:
  // Both outlive it. `policy_dir` has what profiles can name.
  // `no_disk_cap`: why caps of disk I/O aren't in force here, or empty.
  PolicyQuestions(const LivePolicy& policy, RunDispatcher& dispatcher,
                  std::string policy_dir, std::string no_disk_cap)
      : policy_(policy),
        dispatcher_(dispatcher),
        policy_dir_(std::move(policy_dir)),
        no_disk_cap_(std::move(no_disk_cap)) {}

  // INVALID_ARGUMENT only for a request that is none.
  absl::StatusOr<v1::CheckProfileResponse> CheckProfile(
      const v1::CheckProfileRequest& request) const;

  // Queues a look at the program. `listener` hears the end as of a run; its
  // response has the decision and no more. Null when it heard it already.
  std::shared_ptr<Run> TestRun(const Caller& caller,
                               v1::TestRunRequest&& request,
                               std::optional<MonotonicTime> deadline,
                               RunListener* listener) const;

  // As RunDispatcher::Leave.
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
