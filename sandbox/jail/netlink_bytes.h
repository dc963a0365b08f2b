#ifndef SANDGLASS_SANDBOX_JAIL_NETLINK_BYTES_H_
#define SANDGLASS_SANDBOX_JAIL_NETLINK_BYTES_H_

#include <cstdint>

#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// What a netlink socket takes that has nothing to read, generously: the
// kernel's own part of it (netlink_sock), which is charged to no group either.
inline constexpr uint64_t kNetlinkSocketBytes = 4096;

// Memory of the netlink sockets that are in `list`, a /proc/net/netlink: of
// each the messages that wait in it, and kNetlinkSocketBytes. Reading ends when
// there is more than `enough`: the kernel goes through the list from its start
// for each page of it. 0 when it can't be read.
uint64_t NetlinkBytes(const os::Fd& list, uint64_t enough);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_NETLINK_BYTES_H_
