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
  // Back-stop for the daemon's own check.
  uint64_t cpu_seconds = 0;
};

// Resource limits of the calling process (setrlimit(2)); they can only sink.
// False with errno.
bool SetProgramLimits(const ProgramLimits& limits);

// The same for those limits that `limits` names, of a process of the code's
// uid. For init, while no user's code is in the jail. False with errno.
bool LimitProcess(pid_t pid, const ProgramLimits& limits);

// The same when the code is there: in a child, since whoever does it can get
// signals of the code's meanwhile. Waits for the child.
bool LimitProcessAside(pid_t pid, const ProgramLimits& limits);

// Becomes the code's uid, with no group, no capability and no way to any.
// False with errno: the caller must then end.
// Preconditions: CAP_SETUID and CAP_SETGID in the jail's user namespace.
bool DropProgramRights();

// What the program may open, by Landlock; the paths are looked up now, in the
// caller's mount namespace. Empty with errno on failure. Precondition: `abi`
// is at least 1.
os::Fd MakeLandlockRules(int abi,
                         os::LandlockScopes scopes = os::LandlockScopes::kOwn);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_PROGRAM_RIGHTS_H_
