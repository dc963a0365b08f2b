#ifndef SANDGLASS_SANDBOX_JAIL_JAIL_PROCESS_H_
#define SANDGLASS_SANDBOX_JAIL_JAIL_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// The number of the process behind a pidfd, as this process's /proc has it. 0:
// it is dead and reaped, or not in view. Another may get the number once it is;
// who uses it asks IsAlive afterwards.
pid_t PidOf(const os::Fd& pidfd);
bool IsAlive(const os::Fd& pidfd);

// Where a process is on the v2 hierarchy; empty when there is no such process.
std::string GroupOfProcess(pid_t pid);

// A jail's init without a descriptor: its number and the control group, which
// no other process is ever in. `pid` 0: it is dead.
struct JailProcess {
  pid_t pid = 0;
  std::string group;
};
JailProcess FindProcess(const os::Fd& pidfd);
// False once it is dead, whoever has its number now.
bool IsStill(const JailProcess& process);

// CPU time as a process's limit counts it: whole seconds, rounded up. Of a time
// without end it is the largest number, of one below zero 0.
uint64_t CeilSeconds(absl::Duration duration);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_JAIL_PROCESS_H_
