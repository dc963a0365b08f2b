#ifndef SANDGLASS_SANDBOX_JAILED_FILE_AGENT_START_H_
#define SANDGLASS_SANDBOX_JAILED_FILE_AGENT_START_H_

#include <linux/filter.h>
#include <sys/types.h>

#include "absl/types/span.h"
#include "sandbox/jailed/plan.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// Forks the jail's file agent: a process with exactly the rights of the
// sandboxed code, in init's own part of the groups. It serves the other end of
// `daemon_end` until that is closed. It has the code's uid, so the code can
// stop or kill it, but can neither trace it nor read its memory. Returns the
// pid, or -1 and sets errno (ENOSYS: this spawner was built without an agent).
// If a step fails in the child, the child closes its end.
pid_t StartFileAgent(const JailPlan& plan, const os::Fd& landlock_ruleset,
                     absl::Span<const sock_filter> filter, os::Fd& daemon_end);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_FILE_AGENT_START_H_
