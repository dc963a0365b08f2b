#ifndef SANDGLASS_SERVER_RUN_JOB_ROUTER_H_
#define SANDGLASS_SERVER_RUN_JOB_ROUTER_H_

#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "server/base/cancel_token.h"
#include "server/job/job.h"
#include "server/job/job_runner.h"
#include "server/job/one_use_job.h"
#include "server/session/jail_host.h"

namespace sandglass::server {

// Runs each job where its target says.
class JobRouter final : public JobRunner {
 public:
  // What `parts` points to outlives the router.
  explicit JobRouter(JailHostParts parts) : parts_(std::move(parts)) {}

  absl::StatusOr<JobResult> Run(const Job& job, CancelToken& cancel,
                                RunListener* listener) override {
    if (const SessionPlace* place = SessionPlaceOf(job.target)) {
      return place->session->Run(job, cancel, listener);
    }
    if (std::holds_alternative<OwnKernel>(job.target)) {
      return RunRich(parts_, job, cancel, listener);
    }
    if (IsLookAlone(job.target)) {
      return absl::InternalError("a program was to be looked at, not run");
    }
    return RunJob(*parts_.sandbox, *parts_.pool, job, cancel, listener);
  }

 private:
  const JailHostParts parts_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_JOB_ROUTER_H_
