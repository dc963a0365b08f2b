#ifndef SANDGLASS_SANDBOX_JAIL_NETLINK_BYTES_H_
#define SANDGLASS_SANDBOX_JAIL_NETLINK_BYTES_H_

#include <cstdint>

#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// What a netlink socket takes that has nothing to read, estimated generously:
// the kernel's own structure (netlink_sock), which isn't charged to any group
// either.
inline constexpr uint64_t kNetlinkSocketBytes = 4096;

// The memory of the netlink sockets in `list`, a /proc/net/netlink: for each of
// them kNetlinkSocketBytes and the messages that wait in it. Reading stops once
// there is more than `enough`: for each page of the list the kernel goes
// through it from the start. 0 when the list can't be read.
uint64_t NetlinkBytes(const os::Fd& list, uint64_t enough);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_NETLINK_BYTES_H_
