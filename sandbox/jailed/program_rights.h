#ifndef SANDGLASS_SANDBOX_JAILED_PROGRAM_RIGHTS_H_
#define SANDGLASS_SANDBOX_JAILED_PROGRAM_RIGHTS_H_

#include <sys/types.h>

#include <cstdint>

#include "sandbox/os/fd.h"
#include "sandbox/os/landlock.h"

namespace sandglass::sandbox {

// As one of a program's limits: none but what the process has already.
inline constexpr uint64_t kNoLimit = ~uint64_t{0};

struct ProgramLimits {
  uint64_t open_files = 0;
  uint64_t file_size_bytes = 0;
  // A second line of defence behind the daemon's own check.
  uint64_t cpu_seconds = 0;
};

// Sets resource limits of the calling process (setrlimit(2)), which can only be
// lowered. Returns false and sets errno on failure.
bool SetProgramLimits(const ProgramLimits& limits);

// Sets those limits that `limits` names for another process of the code's uid.
// Only for init, while no user's code is in the jail. Returns false and sets
// errno on failure.
bool LimitProcess(pid_t pid, const ProgramLimits& limits);

// The same when the code is in the jail already: in a child, because a process
// that does this can get signals from the code meanwhile. Waits for the child.
bool LimitProcessAside(pid_t pid, const ProgramLimits& limits);

// Changes to the code's uid, without any groups or capabilities and without a
// way to gain any. Returns false and sets errno on failure: the caller must
// then end.
// Preconditions: CAP_SETUID and CAP_SETGID in the jail's user namespace.
bool DropProgramRights();

// Makes the Landlock rules for what the program may open. The paths are
// resolved now, in the caller's mount namespace. Returns an empty Fd and sets
// errno on failure. Precondition: `abi` is at least 1.
os::Fd MakeLandlockRules(int abi,
                         os::LandlockScopes scopes = os::LandlockScopes::kOwn);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_PROGRAM_RIGHTS_H_
