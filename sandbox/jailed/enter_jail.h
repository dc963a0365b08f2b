#ifndef SANDGLASS_SANDBOX_JAILED_ENTER_JAIL_H_
#define SANDGLASS_SANDBOX_JAILED_ENTER_JAIL_H_

#include "sandbox/jailed/plan.h"
#include "sandbox/jailed/streams.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/step_clock.h"

namespace sandglass::sandbox {

// What init keeps once the jail is built.
struct JailFds {
  os::Fd landlock_ruleset;
  StreamPipes streams;
  os::Fd tmp_fs;
  os::Fd workspace_fs;
  os::Fd limit_files;  // see MountLimitFiles
};

// Turns the calling process, which was just cloned into its namespaces with its
// ids mapped, into the jail's init: groups, mounts, rules, pipes, and the end
// of every way to gain a right. Returns false and sets errno when a step fails;
// `clock.current()` names the step. The caller must then exit, because the
// isolation is incomplete. Preconditions: single-threaded; PID 1 of a new pid
// namespace.
bool EnterJail(const JailPlan& plan, StepClock& clock, JailFds& fds);

// The rest, which has to wait until it is known whom the jail is for: its file
// systems get their sizes, its files say its limits, the layer (a detached
// mount, or empty) is attached, and init loses every right except CAP_SETUID,
// CAP_SETGID and CAP_KILL in the jail's own user namespace. Failures as above.
// Before this call nothing of a user may be in the jail.
bool FitJail(const JailPlan& plan, const ScratchSizes& wanted,
             const VisibleLimits& limits, const os::Fd& limit_files,
             const os::Fd& layer, StepClock& clock);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_ENTER_JAIL_H_
