#ifndef SANDGLASS_SERVER_JOB_RUN_FUNCTION_H_
#define SANDGLASS_SERVER_JOB_RUN_FUNCTION_H_

#include <functional>

#include "absl/status/statusor.h"
#include "server/base/cancel_token.h"
#include "server/job/job.h"

namespace sandglass::server {

// Runs one job to its end on the calling thread: RunJob with its sandbox
// bound, or a script in tests. Called by many threads at once.
using RunFunction = std::function<absl::StatusOr<JobResult>(
    const Job&, CancelToken&, JobObserver*)>;

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_RUN_FUNCTION_H_
