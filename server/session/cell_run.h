#ifndef SANDGLASS_SERVER_SESSION_CELL_RUN_H_
#define SANDGLASS_SERVER_SESSION_CELL_RUN_H_

#include "absl/status/statusor.h"
#include "server/base/cancel_token.h"
#include "server/job/job.h"
#include "server/job/run_listener.h"

namespace sandglass::server {

class JailKernels;
struct Kernel;

// Runs one cell in a kernel, step by step, on the calling thread: it tells the
// kernel what to run, polls until the kernel says that it is done, drains the
// output and decides the verdict. At a limit, and when it is cancelled, the
// cell is interrupted; a kernel that goes on all the same is killed. A program
// is killed at once, and so is a kernel whose last cell it is. Precondition:
// the kernel lives and nothing runs in it.
//
// In the result `cell` is set; the counters are those of the whole session
// during the time of the cell. The error is ours: INTERNAL, the jail is gone or
// the kernel does not keep to the protocol.
absl::StatusOr<JobResult> RunCellIn(JailKernels& kernels, Kernel& kernel,
                                    const Job& job, CancelToken& cancel,
                                    RunListener* listener);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_CELL_RUN_H_
