#ifndef SANDGLASS_SERVER_JOB_ONE_USE_JOB_H_
#define SANDGLASS_SERVER_JOB_ONE_USE_JOB_H_

#include "absl/status/statusor.h"
#include "sandbox/yard/sandbox.h"
#include "server/base/cancel_token.h"
#include "server/job/job.h"
#include "server/job/run_listener.h"
#include "server/pool/jail_pool.h"

namespace sandglass::server {

// Runs one job in a jail of its own, top to bottom, on the calling thread: get
// a jail (an idle one of the pool's, or a new one), stage in, start, poll until
// the end, drain, collect files, decide.
// Returns when the last output byte is read and the run's processes are dead;
// the jail itself is then taken down off the caller's path.
//
// The error is ours, never the program's: RESOURCE_EXHAUSTED (no jail slot),
// UNAVAILABLE (spawner gone), INTERNAL (a set-up step failed; the message names
// step and errno), CANCELLED (the token fired before the program started).
absl::StatusOr<JobResult> RunJob(sandbox::Sandbox& sandbox, JailPool& pool,
                                 const Job& job, CancelToken& cancel,
                                 RunListener* listener);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_ONE_USE_JOB_H_
