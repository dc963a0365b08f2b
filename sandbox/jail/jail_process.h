#ifndef SANDGLASS_SANDBOX_JAIL_JAIL_PROCESS_H_
#define SANDGLASS_SANDBOX_JAIL_JAIL_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// The pid of the process behind a pidfd, as this process's /proc shows it. 0:
// it is dead and reaped, or not visible here. After its end another process may
// get that pid; so call IsAlive after using it.
pid_t PidOf(const os::Fd& pidfd);
bool IsAlive(const os::Fd& pidfd);

// The path of a process's group on the v2 hierarchy; empty when there is no
// such process.
std::string GroupOfProcess(pid_t pid);

// Identifies a jail's init without a descriptor: by its pid and its control
// group, which no other process is ever in. `pid` 0: it is dead.
struct JailProcess {
  pid_t pid = 0;
  std::string group;
};
JailProcess FindProcess(const os::Fd& pidfd);
// False once it is dead, even if another process has its pid.
bool IsStill(const JailProcess& process);

// CPU time as a process's limit counts it: whole seconds, rounded up. Of a time
// without end it is the largest number, of one below zero 0.
uint64_t CeilSeconds(absl::Duration duration);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_JAIL_PROCESS_H_
