#ifndef SANDGLASS_SANDBOX_OS_TERMINAL_H_
#define SANDGLASS_SANDBOX_OS_TERMINAL_H_

#include <sys/types.h>

#include <cstdint>

#include "sandbox/os/fd.h"

namespace sandglass::os {

// Pseudo-terminals (pts(4), ioctl_tty(2)).

// Both ends of one of the devpts that is mounted at `directory`: close-on-exec,
// nobody's controlling terminal, the master non-blocking. False with errno.
bool OpenTerminal(const char* directory, Fd& master, Fd& slave);

// Makes `terminal` the controlling one of the caller's session. False with
// errno. Precondition: the caller leads a session that has none.
bool TakeTerminal(int terminal);

// Rows and columns; the foreground process group gets SIGWINCH when they
// change. `terminal` is either end. False with errno.
bool SetTerminalSize(int terminal, uint16_t rows, uint16_t columns);

// The process group in the foreground of a master's terminal, by its number in
// the innermost process namespace that its leader is in. 0 when there is none,
// or its leader has ended.
pid_t ForegroundGroup(int master);

// True when `fd` is the master of a pseudo-terminal.
bool IsTerminalMaster(int fd);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_TERMINAL_H_
