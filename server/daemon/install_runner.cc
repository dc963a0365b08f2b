#include "server/daemon/install_runner.h"

#include "server/daemon/run_gate.h"
#include "server/job/one_use_job.h"

namespace sandglass::server {

absl::StatusOr<JobResult> InstallRunner::Run(const Job& job,
                                             CancelToken& cancel,
                                             RunListener* listener) {
  if (absl::Status hold = JailsHold(readiness_); !hold.ok()) return hold;
  return RunJob(sandbox_, pool_, job, cancel, listener);
}

}  // namespace sandglass::server
