#ifndef SANDGLASS_SANDBOX_SPAWNER_NETNS_H_
#define SANDGLASS_SANDBOX_SPAWNER_NETNS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// A new network namespace with nothing but `lo`, which is up. It belongs to the
// calling process's user namespace, so nobody in a jail's own can change it.
// The caller is back in its former namespace (`home`) afterwards. Takes 0.4 ms,
// now and then 6.
// Precondition: single-threaded, CAP_SYS_ADMIN and CAP_NET_ADMIN.
absl::StatusOr<os::Fd> MakeNetns(const os::Fd& home);

// Back from a jail's network namespace to `home`. A spawner that is left in one
// would make every later jail share it, so it ends the yard rather than go on;
// but where the kernel is only short of memory, it first tries for ten seconds.
void LeaveNetns(const os::Fd& home);

// The calling process's network namespace.
absl::StatusOr<os::Fd> CurrentNetns();

// A jail's doors to the egress proxy, in its network namespace; nobody in the
// jail has them. In this order: a socket that listens on kProxyAddress and
// kProxyPort (egress_ports.h), one for datagrams to kDnsPort there, one that
// listens on each of `ports` of all addresses. The caller is back in `home`
// afterwards. False with errno. Takes some 12 µs, and 5 for each port.
// Preconditions: single-threaded, CAP_SYS_ADMIN and, where the namespace
// belongs, CAP_NET_BIND_SERVICE.
bool MakeJailDoors(const os::Fd& netns, absl::Span<const uint16_t> ports,
                   const os::Fd& home, std::vector<os::Fd>& doors);

// The list of the netlink sockets in the calling process's network namespace
// (/proc/net/netlink); it stays that one's, wherever it is read. The namespace
// lives as long as the descriptor.
os::Fd OpenNetlinkSockets();

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_NETNS_H_
