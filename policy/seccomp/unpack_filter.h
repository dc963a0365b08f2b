#ifndef SANDGLASS_POLICY_SECCOMP_UNPACK_FILTER_H_
#define SANDGLASS_POLICY_SECCOMP_UNPACK_FILTER_H_

#include "absl/status/statusor.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// Allows the system calls that a process makes which unpacks one archive into
// one directory; others fail, most of them with ENOSYS. The process makes no
// socket, process or thread, maps no code, signals nobody, not even itself (it
// has the server's uid, and abort(3) has another way to end a process), and
// changes mode and times only of files that it has open: Landlock doesn't limit
// these two, so a path must not lead to a file that it can't open.
absl::StatusOr<BpfProgram> MakeUnpackFilter();

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_UNPACK_FILTER_H_
