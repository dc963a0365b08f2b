#ifndef SANDGLASS_SANDBOX_JAILED_INIT_H_
#define SANDGLASS_SANDBOX_JAILED_INIT_H_

#include "sandbox/jailed/plan.h"

namespace sandglass::sandbox {

// The life of a jail's init after its clone: it waits until its ids are mapped,
// builds the jail, waits for the slots of its run, then reaps children and does
// what the control socket asks. It ends when the daemon closes the socket; the
// kernel then ends everything in the jail.
// Precondition: the calling process was just cloned as PID 1 of a new pid
// namespace, and is single-threaded.
[[noreturn]] void RunInit(const JailPlan& plan);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_INIT_H_
