#include "server/run/job_router.h"

#include <variant>

#include "server/job/one_use_job.h"

namespace sandglass::server {

absl::StatusOr<JobResult> JobRouter::Run(const Job& job, CancelToken& cancel,
                                         RunListener* listener) {
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

}  // namespace sandglass::server
