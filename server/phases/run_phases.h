#ifndef SANDGLASS_SERVER_PHASES_RUN_PHASES_H_
#define SANDGLASS_SERVER_PHASES_RUN_PHASES_H_

#include <optional>

#include "absl/status/statusor.h"
#include "server/base/cancel_token.h"
#include "server/base/clock.h"
#include "server/job/job.h"
#include "server/job/job_runner.h"
#include "server/job/run_listener.h"
#include "server/phases/compile_cache.h"

namespace sandglass::server {

// Runs all phases of a job on the calling thread: first the compile phase, if
// it has one, in a jail of its own; then, if that went well, the program in a
// fresh jail that gets what was compiled. If `cache`, which may be null, has
// the result of an earlier compile of the same program, no compiler runs;
// otherwise the cache is given the result before any part of the program runs.
//
// When `deadline` is set, each phase's wall time is lowered to what it leaves.
// DEADLINE_EXCEEDED when too little is left to start; else the errors of
// `runner`.
absl::StatusOr<JobResult> RunPhases(JobRunner& runner, Job& job,
                                    std::optional<MonotonicTime> deadline,
                                    CancelToken& cancel, RunListener* listener,
                                    CompileCache* cache = nullptr);

// How much of a call's remaining time has to be kept for the answer to arrive:
// a tenth, but at least 100 ms and at most 1 s.
absl::Duration DeadlineMargin(absl::Duration left);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_PHASES_RUN_PHASES_H_
