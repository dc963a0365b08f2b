#ifndef SANDGLASS_SERVER_SESSION_CELL_RUN_H_
#define SANDGLASS_SERVER_SESSION_CELL_RUN_H_

#include "absl/status/statusor.h"
#include "server/base/cancel_token.h"
#include "server/job/job.h"
#include "server/session/kernel.h"

namespace sandglass::server {

// Runs one cell in a kernel, top to bottom, on the calling thread: say what is
// to be run, poll until the kernel says that it is done, drain, decide. At a
// limit, and when cancelled, the cell is interrupted; a kernel that goes on all
// the same is killed; a program is killed at once. Precondition: the kernel
// lives and nothing runs in it.
//
// In the result `cell` is set; counters are those of the time of the cell, the
// whole session's. The error is ours: INTERNAL, the jail is gone or the kernel
// does not keep to the protocol.
absl::StatusOr<JobResult> RunCellIn(KernelKeeper& keeper, Kernel& kernel,
                                    const Job& job, CancelToken& cancel,
                                    JobObserver* observer);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_CELL_RUN_H_
