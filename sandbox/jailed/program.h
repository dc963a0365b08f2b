#ifndef SANDGLASS_SANDBOX_JAILED_PROGRAM_H_
#define SANDGLASS_SANDBOX_JAILED_PROGRAM_H_

#include <sys/types.h>

#include <cstdint>

#include "internal/spawner.pb.h"
#include "sandbox/jailed/enter_jail.h"
#include "sandbox/jailed/plan.h"

namespace sandglass::sandbox {

// Where a program's start ended; shared between init and the child.
struct StartReport {
  StepClock clock;  // its current step failed, when error != 0
  int error = 0;
  int64_t exec_monotonic_ns = 0;
};

// Forks the program's process into the run group, gives up every right in it
// and executes. Returns when the exec has succeeded or a step has failed: the
// pid, or -1; `report` then says which step. `report` must be fresh, in memory
// shared with the child (MAP_SHARED). `filter` is the program's seccomp filter.
pid_t StartProgramProcess(const JailPlan& plan, const JailFds& fds,
                          absl::Span<const sock_filter> filter,
                          const internal::StartProgram& request,
                          StartReport& report);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_PROGRAM_H_
