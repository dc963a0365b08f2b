#ifndef SANDGLASS_POLICY_SECCOMP_SECCOMP_START_H_
#define SANDGLASS_POLICY_SECCOMP_SECCOMP_START_H_

#include "absl/status/status.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// Whether a program can be started under a filter. A process takes its filter
// on before it looks up its working directory and its program, so that both
// are found behind every wall (sandbox/jailed/program.cc); the calls that do
// this must therefore be allowed, with the arguments that they have there: a
// filter may refuse others of theirs.
//
// OK, or INVALID_ARGUMENT with the names of the calls that the filter refuses
// and what they are needed for, or because `filter` is no program that the
// kernel would take.
absl::Status CheckStartsPrograms(const BpfProgram& filter);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_SECCOMP_START_H_
