#ifndef SANDGLASS_POLICY_SECCOMP_SERVER_FILTER_H_
#define SANDGLASS_POLICY_SECCOMP_SERVER_FILTER_H_

#include "absl/status/statusor.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// Limits what sandglassd can ask of the kernel once it has given up its rights.
// It can no longer start a program or a process, look into other processes,
// mount, enter or make namespaces, load code into the kernel, use those large
// interfaces that a server doesn't need (bpf, perf, io_uring, keys, user
// faults), or make sockets other than unix, IP and netlink ones. Those calls
// get EPERM or EAFNOSUPPORT; calls newer than this list get ENOSYS. All others
// are allowed, because the daemon's libraries change the calls that they make
// from release to release.
absl::StatusOr<BpfProgram> MakeServerFilter();

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_SERVER_FILTER_H_
