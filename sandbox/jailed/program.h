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
#include "sandbox/wire/step_clock.h"

namespace sandglass::sandbox {

// How far a program's start got; shared between init and the child.
struct StartReport {
  StepClock clock;  // its current step failed if error != 0
  int error = 0;
  int64_t exec_monotonic_ns = 0;
};

// What a process of the sandboxed code is started with. Descriptors and text
// are borrowed.
struct ProcessStart {
  char* const* argv = nullptr;  // ends with nullptr
  char* const* env = nullptr;
  const char* directory = kWorkspace;
  int cgroup = -1;           // v2 directory in which it starts
  int streams[3] = {};       // these become 0, 1 and 2
  int channel = -1;          // becomes 3, unless it is -1
  bool on_terminal = false;  // all three are one; it becomes controlling
  // SOCK_SEQPACKET to which the listener of a filter that asks is sent, or -1
  int listener_to = -1;
  ProgramLimits limits;
};

// Forks a process, gives up every right in it and executes the program; if
// argv[0] has no "/", it is looked up along the PATH of `env`. Returns when the
// exec has succeeded or a step has failed: the pid, or -1, and `report` then
// says which step. `report` must be fresh and in memory shared with the child
// (MAP_SHARED). `filter` is the process's seccomp filter, which has to allow
// sendmsg(2) if it asks a listener; `landlock_ruleset` has its Landlock rules.
pid_t StartProcess(const JailPlan& plan, const os::Fd& landlock_ruleset,
                   absl::Span<const sock_filter> filter,
                   const ProcessStart& start, StartReport& report);

class CallTrace;

// The same for the jail's program, in the run group; through `trace` unless
// that is null.
pid_t StartProgramProcess(const JailPlan& plan, const JailFds& fds,
                          absl::Span<const sock_filter> filter,
                          CallTrace* trace,
                          const internal::StartProgram& request,
                          StartReport& report);

// Pointers to the texts as exec needs them, valid as long as `strings`.
std::vector<char*> Pointers(
    const google::protobuf::RepeatedPtrField<std::string>& strings);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_PROGRAM_H_
