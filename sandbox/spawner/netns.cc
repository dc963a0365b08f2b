#include "sandbox/spawner/netns.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sandbox/os/io.h"
#include "sandbox/os/namespaces.h"
#include "sandbox/os/status.h"
#include "sandbox/wire/egress_ports.h"

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

// How many connections may wait until the proxy accepts them.
constexpr int kBacklog = 128;

// `address` is in network byte order.
os::Fd BoundSocket(int type, in_addr_t address, uint16_t port) {
  os::Fd socket(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in own = {};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = address;
  own.sin_port = htons(port);
  if (socket.valid() && ::bind(socket.get(), reinterpret_cast<sockaddr*>(&own),
                               sizeof(own)) != 0) {
    socket.reset();
  }
  return socket;
}

os::Fd ListeningSocket(in_addr_t address, uint16_t port) {
  os::Fd socket = BoundSocket(SOCK_STREAM, address, port);
  if (socket.valid() && ::listen(socket.get(), kBacklog) != 0) {
    return os::Fd();
  }
  return socket;
}

bool MakeDoorsHere(absl::Span<const uint16_t> ports,
                   std::vector<os::Fd>& doors) {
  const in_addr_t own = ::inet_addr(kProxyAddress);
  doors.clear();
  doors.push_back(ListeningSocket(own, kProxyPort));
  if (!doors.back().valid()) return false;
  doors.push_back(BoundSocket(SOCK_DGRAM, own, kDnsPort));
  if (!doors.back().valid()) return false;
  for (const uint16_t port : ports) {
    doors.push_back(ListeningSocket(INADDR_ANY, port));
    if (!doors.back().valid()) return false;
  }
  return true;
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
  LeaveNetns(home);
  return made;
}

void LeaveNetns(const os::Fd& home) {
  constexpr int kPauseMillis = 10;
  constexpr int kMaxTries = 1000;
  for (int tries = 0; !os::EnterNetworkNamespace(home); ++tries) {
    if (!os::IsShortage(errno) || tries >= kMaxTries) ::abort();
    ::poll(nullptr, 0, kPauseMillis);
  }
}

bool MakeJailDoors(const os::Fd& netns, absl::Span<const uint16_t> ports,
                   const os::Fd& home, std::vector<os::Fd>& doors) {
  if (!os::EnterNetworkNamespace(netns)) return false;
  const bool made = MakeDoorsHere(ports, doors);
  const int error = errno;
  LeaveNetns(home);
  errno = error;
  return made;
}

os::Fd OpenNetlinkSockets() {
  return os::Fd(::open("/proc/self/net/netlink", O_RDONLY | O_CLOEXEC));
}

}  // namespace sandglass::sandbox
