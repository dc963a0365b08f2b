#ifndef SANDGLASS_SANDBOX_JAIL_BACKLOG_BYTES_H_
#define SANDGLASS_SANDBOX_JAIL_BACKLOG_BYTES_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "sandbox/jail/jail_process.h"

namespace sandglass::sandbox {

// What a connection takes that nobody has accepted and nothing waits in,
// generously: the kernel's own part of it (tcp_sock), charged to no group.
inline constexpr uint64_t kConnectionBytes = 4096;

// Memory of the TCP connections that nobody has accepted yet, in the network
// namespace of this process: of each the bytes that wait to be
// read or to be acknowledged, and kConnectionBytes. A control group is charged
// for a socket from its creation or its accept(2) on, whichever version it is
// of; what comes before that, and what is left of a socket that was closed,
// has no owner in the kernel's lists, and counts here. Reading ends when there
// is more than `enough`.
// 0 when the process is dead, or nothing can be read. With a handful of sockets
// nothing is looked at: they can't hold much.
uint64_t BacklogBytes(const JailProcess& process, uint64_t enough);

// The part of it that lines of a /proc/net/tcp or tcp6 tell of.
uint64_t BacklogBytesIn(absl::string_view lines);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_BACKLOG_BYTES_H_
