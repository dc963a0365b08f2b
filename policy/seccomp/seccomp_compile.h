#ifndef SANDGLASS_POLICY_SECCOMP_SECCOMP_COMPILE_H_
#define SANDGLASS_POLICY_SECCOMP_SECCOMP_COMPILE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// The same as SeccompPolicy::Compile, for rules that don't come from files.
// Preconditions: those of a policy; the rules for a call are adjacent, the last
// of them has no tests, and the call's number fits its name.
absl::StatusOr<BpfProgram> CompileRules(
    const std::vector<SeccompPolicy::Rule>& rules);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_SECCOMP_COMPILE_H_
