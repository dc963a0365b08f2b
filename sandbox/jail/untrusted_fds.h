#ifndef SANDGLASS_SANDBOX_JAIL_UNTRUSTED_FDS_H_
#define SANDGLASS_SANDBOX_JAIL_UNTRUSTED_FDS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// Descriptors that come out of a jail are of the kind they are to be, or they
// are closed unused.

// Closes descriptors of unknown kinds where nobody waits for it: their maker
// chooses how long that takes (SO_LINGER, also of a socket that waits in
// another). Where there is no thread for it, with the next that are closed so.
void CloseAside(std::vector<os::Fd> fds);

// An end of a pipe, which neither reading, writing nor closing holds up;
// `access` is O_RDONLY or O_WRONLY. Makes it non-blocking.
bool IsPipeEnd(const os::Fd& fd, int access);

// A regular file of a tmpfs.
bool IsFileOfTmpfs(const os::Fd& fd);

// The file `name` of a v2 control group, opened for `access`.
bool IsGroupFile(const os::Fd& fd, absl::string_view name, int access);

// The master of a pseudo-terminal, for reading and writing. Makes it
// non-blocking.
bool IsTerminal(const os::Fd& fd);

// A SOCK_SEQPACKET socket of the unix domain. Makes it non-blocking.
bool IsUnixSeqPacket(const os::Fd& fd);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_UNTRUSTED_FDS_H_
