#ifndef SANDGLASS_SANDBOX_FILE_AGENT_FILE_AGENT_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_FILE_AGENT_H_

#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// The file agent of a jail: does what the daemon asks for on `socket`
// (internal/files.proto) with the rights of this process, which are to be those
// of the sandboxed code. Paths are below the process's root. Operations that
// take long get a process of their own. Ends when the daemon closes its end,
// and leaves nothing half-done.
// Preconditions: single-threaded; no child processes; signals as after exec.
[[noreturn]] void RunFileAgent(os::Fd socket);
// The same below any directory.
[[noreturn]] void RunFileAgentIn(os::Fd socket, os::Fd root);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_FILE_AGENT_H_
