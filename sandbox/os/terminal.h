#ifndef SANDGLASS_SANDBOX_OS_TERMINAL_H_
#define SANDGLASS_SANDBOX_OS_TERMINAL_H_

#include <sys/types.h>

#include <cstdint>

#include "sandbox/os/fd.h"

namespace sandglass::os {

// Pseudo-terminals (pts(4), ioctl_tty(2)).

// Opens both ends of a new pseudo-terminal in the devpts that is mounted at
// `directory`. They are close-on-exec, don't become a controlling terminal, and
// the master is non-blocking. Returns false and sets errno on failure.
bool OpenTerminal(const char* directory, Fd& master, Fd& slave);

// Makes `terminal` the controlling terminal of the caller's session. Returns
// false and sets errno on failure. Precondition: the caller leads a session
// that has none.
bool AcquireTerminal(int terminal);

// Sets the number of rows and columns. The foreground process group gets
// SIGWINCH when they change. `terminal` may be either end. Returns false and
// sets errno on failure.
bool SetTerminalSize(int terminal, uint16_t rows, uint16_t columns);

// The foreground process group of a master's terminal, as a number in the
// innermost pid namespace that the group's leader is in. 0 when there is no
// such group or its leader has ended.
pid_t ForegroundGroup(int master);

// True when `fd` is the master of a pseudo-terminal.
bool IsTerminalMaster(int fd);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_TERMINAL_H_
