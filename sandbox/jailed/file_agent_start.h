#ifndef SANDGLASS_SANDBOX_JAILED_FILE_AGENT_START_H_
#define SANDGLASS_SANDBOX_JAILED_FILE_AGENT_START_H_

#include <linux/filter.h>
#include <sys/types.h>

#include "absl/types/span.h"
#include "sandbox/jailed/plan.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// Forks the jail's file agent: a process with just the rights of the code, in
// init's own part of the groups, that serves the other end of `daemon_end`
// until that is closed. It shares the code's uid, so the code may stop or kill
// it, but can neither trace nor look into it. The pid, or -1 with errno
// (ENOSYS: this spawner was built without one). A step that fails in the child
// closes its end.
pid_t StartFileAgent(const JailPlan& plan, const os::Fd& landlock_ruleset,
                     absl::Span<const sock_filter> filter, os::Fd& daemon_end);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_FILE_AGENT_START_H_
