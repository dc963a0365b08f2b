#ifndef SANDGLASS_POLICY_SECCOMP_SECCOMP_START_H_
#define SANDGLASS_POLICY_SECCOMP_SECCOMP_START_H_

#include "absl/status/status.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// Checks that a program can be started under a filter. A process installs its
// filter before it looks up its working directory and its program, so that both
// are looked up under every restriction (sandbox/jailed/program.cc). The calls
// that do this must therefore be allowed, with the arguments that they have
// there; a filter may refuse them with other arguments.
//
// OK, or INVALID_ARGUMENT with the names of the calls that the filter refuses
// and what they are needed for, or because the kernel wouldn't accept `filter`.
absl::Status CheckStartsPrograms(const BpfProgram& filter);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_SECCOMP_START_H_
