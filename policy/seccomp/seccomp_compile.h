#ifndef SANDGLASS_POLICY_SECCOMP_SECCOMP_COMPILE_H_
#define SANDGLASS_POLICY_SECCOMP_SECCOMP_COMPILE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// As SeccompPolicy::Compile, of rules that come from no file. Preconditions:
// what holds for a policy's; the rules of a call stand together, the last of
// them has no tests, and its number fits its name.
absl::StatusOr<BpfProgram> CompileRules(
    const std::vector<SeccompPolicy::Rule>& rules);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_SECCOMP_COMPILE_H_
