#ifndef SANDGLASS_SANDBOX_JAIL_BACKLOG_BYTES_H_
#define SANDGLASS_SANDBOX_JAIL_BACKLOG_BYTES_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "sandbox/jail/jail_process.h"

namespace sandglass::sandbox {

// What a connection takes that nobody has accepted and in which nothing waits,
// estimated generously: the kernel's own structure (tcp_sock), which isn't
// charged to any group.
inline constexpr uint64_t kConnectionBytes = 4096;

// The memory of the TCP connections that nobody has accepted yet, in the
// network namespace of this process: for each of them kConnectionBytes and the
// bytes that wait to be read or to be acknowledged. A control group, of either
// version, is charged for a socket only from its creation or its accept(2) on.
// Connections before that, and what is left of a closed socket, have no owner
// in the kernel's lists, and are counted here. Reading stops once there is more
// than `enough`.
// 0 when the process is dead or nothing can be read. When there are only a few
// sockets, nothing is read: they can't hold much.
uint64_t BacklogBytes(const JailProcess& process, uint64_t enough);

// The part of it that lines of a /proc/net/tcp or tcp6 show.
uint64_t BacklogBytesIn(absl::string_view lines);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_BACKLOG_BYTES_H_
