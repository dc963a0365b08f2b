#ifndef SANDGLASS_POLICY_SECCOMP_SERVER_FILTER_H_
#define SANDGLASS_POLICY_SECCOMP_SERVER_FILTER_H_

#include "absl/status/statusor.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// What sandglassd can't ask of the kernel any more once its rights are gone:
// to start a program or a process, to look into another, to mount, to enter or
// make namespaces, to load code into the kernel, to use its large interfaces
// that a server has no need of (bpf, perf, io_uring, keys, user faults), or to
// make sockets but unix, IP and netlink ones. Those get EPERM or EAFNOSUPPORT,
// calls newer than this list ENOSYS. All others are allowed: libraries that
// the daemon is made of change theirs from release to release.
absl::StatusOr<BpfProgram> MakeServerFilter();

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_SERVER_FILTER_H_
