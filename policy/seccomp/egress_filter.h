#ifndef SANDGLASS_POLICY_SECCOMP_EGRESS_FILTER_H_
#define SANDGLASS_POLICY_SECCOMP_EGRESS_FILTER_H_

#include "absl/status/statusor.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// The system calls that the egress proxy's process makes once its rights are
// gone; others fail, most with ENOSYS. It starts no program, maps no code,
// makes no socket but for TCP and UDP, listens on none, and opens files for
// reading alone.
absl::StatusOr<BpfProgram> MakeEgressFilter();

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_EGRESS_FILTER_H_
