#ifndef SANDGLASS_SANDBOX_SPAWNER_NETNS_H_
#define SANDGLASS_SANDBOX_SPAWNER_NETNS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// Makes a new network namespace with nothing but `lo`, which is up. It belongs
// to the calling process's user namespace, so that nobody in a jail's own user
// namespace can change it. Afterwards the caller is back in its former
// namespace (`home`). Takes 0.4 ms, sometimes 6.
// Precondition: single-threaded, CAP_SYS_ADMIN and CAP_NET_ADMIN.
absl::StatusOr<os::Fd> MakeNetns(const os::Fd& home);

// Returns from a jail's network namespace to `home`. If a spawner stayed in
// one, every later jail would share it; so on failure this ends the yard. But
// while the kernel is only short of memory, it first tries for ten seconds.
void LeaveNetns(const os::Fd& home);

// A descriptor of the calling process's network namespace.
absl::StatusOr<os::Fd> CurrentNetns();

// Makes a jail's doors to the egress proxy, in its network namespace; no
// process in the jail has them. They are, in this order: a socket that listens
// on kProxyAddress and kProxyPort (egress_ports.h), one for datagrams to
// kDnsPort there, and one for each of `ports` that listens on all addresses.
// Afterwards the caller is back in `home`. Returns false and sets errno on
// failure. Takes some 12 µs, and 5 µs more for each port.
// Preconditions: single-threaded, CAP_SYS_ADMIN, and CAP_NET_BIND_SERVICE in
// the user namespace that owns the network namespace.
bool MakeJailDoors(const os::Fd& netns, absl::Span<const uint16_t> ports,
                   const os::Fd& home, std::vector<os::Fd>& doors);

// Opens the list of netlink sockets in the calling process's network namespace
// (/proc/net/netlink). It remains the list of that namespace, wherever it is
// read, and keeps the namespace alive.
os::Fd OpenNetlinkSockets();

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_NETNS_H_
