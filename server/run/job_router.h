#ifndef SANDGLASS_SERVER_RUN_JOB_ROUTER_H_
#define SANDGLASS_SERVER_RUN_JOB_ROUTER_H_

#include "absl/status/statusor.h"
#include "server/base/cancel_token.h"
#include "server/job/job.h"
#include "server/session/jail_host.h"

namespace sandglass::server {

// Runs a job to its end where it belongs: a program in a jail of its own, a
// cell in its kernel. A durable session's files are saved when this returns, or
// the result says why not.
absl::StatusOr<JobResult> RunAnywhere(const JailHostParts& parts,
                                      const Job& job, CancelToken& cancel,
                                      JobObserver* observer);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_JOB_ROUTER_H_
