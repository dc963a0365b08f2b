#ifndef SANDGLASS_SERVER_JOB_JOB_RUNNER_H_
#define SANDGLASS_SERVER_JOB_JOB_RUNNER_H_

#include "absl/status/statusor.h"
#include "server/base/cancel_token.h"
#include "server/job/job.h"
#include "server/job/run_listener.h"

namespace sandglass::server {

// Runs jobs. Called by many threads at once. It outlives all who were given a
// reference to it.
class JobRunner {
 public:
  virtual ~JobRunner() = default;

  // Runs one job to its end on the calling thread. `listener` hears of its
  // progress; it may be null. Errors are as RunJob's.
  virtual absl::StatusOr<JobResult> Run(const Job& job, CancelToken& cancel,
                                        RunListener* listener) = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_JOB_RUNNER_H_
