#include "sandbox/spawner/netns.h"

#include <fcntl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>

#include "sandbox/os/namespaces.h"
#include "sandbox/os/status.h"

namespace sandglass::sandbox {
namespace {

bool BringUpLoopback() {
  const os::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return false;
  struct ifreq request = {};
  std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

}  // namespace

absl::StatusOr<os::Fd> CurrentNetns() {
  os::Fd fd(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return os::ErrnoStatus("open /proc/self/ns/net");
  return fd;
}

absl::StatusOr<os::Fd> MakeNetns(const os::Fd& home) {
  if (!os::Unshare(os::kNewNetwork)) return os::ErrnoStatus("unshare(NEWNET)");
  absl::StatusOr<os::Fd> made;
  if (BringUpLoopback()) {
    made = CurrentNetns();
  } else {
    made = os::ErrnoStatus("bring up lo");
  }
  // A spawner that is left in a jail's network namespace would make every later
  // jail share it: end the yard rather than go on.
  if (!os::EnterNetworkNamespace(home)) ::abort();
  return made;
}

os::Fd OpenNetlinkSockets() {
  return os::Fd(::open("/proc/self/net/netlink", O_RDONLY | O_CLOEXEC));
}

}  // namespace sandglass::sandbox
