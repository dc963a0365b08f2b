#ifndef SANDGLASS_SANDBOX_JAIL_UNTRUSTED_FDS_H_
#define SANDGLASS_SANDBOX_JAIL_UNTRUSTED_FDS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// Checks that descriptors from inside a jail are of the expected kind; those
// that aren't get closed unused.

// Closes descriptors of unknown kinds in a thread for which nobody waits: the
// process that made them decides how long closing takes (SO_LINGER, also of a
// socket that waits inside another). When no thread can be started, they are
// closed together with the next that are closed so.
void CloseAside(std::vector<os::Fd> fds);

// True for an end of a pipe, on which reading, writing and closing can't block
// for long; `access` is O_RDONLY or O_WRONLY. Makes it non-blocking.
bool IsPipeEnd(const os::Fd& fd, int access);

// True for a regular file of a tmpfs.
bool IsFileOfTmpfs(const os::Fd& fd);

// True for the file `name` of a v2 control group, opened for `access`.
bool IsGroupFile(const os::Fd& fd, absl::string_view name, int access);

// True for the master of a pseudo-terminal, open for reading and writing. Makes
// it non-blocking.
bool IsTerminal(const os::Fd& fd);

// True for a SOCK_SEQPACKET socket of the unix domain. Makes it non-blocking.
bool IsUnixSeqPacket(const os::Fd& fd);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_UNTRUSTED_FDS_H_
