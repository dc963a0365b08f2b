#ifndef SANDGLASS_SANDBOX_JAILED_PROGRAM_H_
#define SANDGLASS_SANDBOX_JAILED_PROGRAM_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "internal/spawner.pb.h"
#include "sandbox/jailed/enter_jail.h"
#include "sandbox/jailed/plan.h"
#include "sandbox/jailed/program_rights.h"
#include "sandbox/wire/jail_layout.h"

namespace sandglass::sandbox {

// Where a program's start ended; shared between init and the child.
struct StartReport {
  StepClock clock;  // its current step failed, when error != 0
  int error = 0;
  int64_t exec_monotonic_ns = 0;
};

// What a process of the code's is started with. Descriptors and text are
// borrowed.
struct ProcessStart {
  char* const* argv = nullptr;  // ends with nullptr
  char* const* env = nullptr;
  const char* directory = kWorkspace;
  int cgroup = -1;           // v2 directory to be born in
  int streams[3] = {};       // what become 0, 1 and 2
  int channel = -1;          // what becomes 3, if there is one
  bool on_terminal = false;  // the streams are one, which becomes its own
  // SOCK_SEQPACKET; where the filter's listener goes if the filter asks, or -1
  int listener_to = -1;
  ProgramLimits limits;
};

// Forks a process, gives up every right in it and executes; argv[0] is looked
// up along the PATH of `env` when it has no "/". Returns when the exec has
// succeeded or a step has failed: the pid, or -1; `report` then says which
// step. `report` must be fresh, in memory shared with the child (MAP_SHARED).
// `filter` is the process's seccomp filter, which has to allow sendmsg(2) if it
// asks, `landlock_ruleset` its rules.
pid_t StartProcess(const JailPlan& plan, const os::Fd& landlock_ruleset,
                   absl::Span<const sock_filter> filter,
                   const ProcessStart& start, StartReport& report);

class CallTrace;

// The same for the program, in the run group; by `trace` unless that is null.
pid_t StartProgramProcess(const JailPlan& plan, const JailFds& fds,
                          absl::Span<const sock_filter> filter,
                          CallTrace* trace,
                          const internal::StartProgram& request,
                          StartReport& report);

// The texts as exec wants them, which live as long as `strings`.
std::vector<char*> Pointers(
    const google::protobuf::RepeatedPtrField<std::string>& strings);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_PROGRAM_H_
