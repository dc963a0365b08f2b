#ifndef SANDGLASS_POLICY_SECCOMP_EGRESS_FILTER_H_
#define SANDGLASS_POLICY_SECCOMP_EGRESS_FILTER_H_

#include "absl/status/statusor.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// Allows the system calls that the egress proxy's process makes once it has
// given up its rights; others fail, most of them with ENOSYS. The process
// starts no program, maps no code, makes only sockets for TCP and UDP, listens
// on none, and opens files only for reading.
absl::StatusOr<BpfProgram> MakeEgressFilter();

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_EGRESS_FILTER_H_
