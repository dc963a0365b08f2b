#ifndef SANDGLASS_SERVER_PHASES_RUN_PHASES_H_
#define SANDGLASS_SERVER_PHASES_RUN_PHASES_H_

#include <optional>

#include "absl/status/statusor.h"
#include "server/base/cancel_token.h"
#include "server/base/clock.h"
#include "server/job/job.h"
#include "server/job/job_runner.h"
#include "server/phases/compile_cache.h"

namespace sandglass::server {

// Runs all phases of a job on the calling thread: the compile phase, if it has
// one, in a jail of its own; then, when that went well, the program in a fresh
// jail that gets what was compiled. With a `cache` that has what an earlier
// compile of the same made, no compiler runs; the cache is given what was
// compiled before anything of the program runs. It may be null.
//
// When `deadline` is set, each phase's wall time is lowered to what it leaves.
// DEADLINE_EXCEEDED when too little is left to start; else the errors of
// `runner`.
absl::StatusOr<JobResult> RunPhases(JobRunner& runner, Job& job,
                                    std::optional<MonotonicTime> deadline,
                                    CancelToken& cancel, JobObserver* observer,
                                    CompileCache* cache = nullptr);

// What of a call's time must be left over for the answer to arrive: a tenth,
// within 100 ms and 1 s.
absl::Duration DeadlineMargin(absl::Duration left);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_PHASES_RUN_PHASES_H_
