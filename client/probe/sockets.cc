// Sockets, and the network that they can reach.

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "client/probe/report.h"

namespace sandglass::probe {
namespace {

void TrySocket(const char* name, int family, int type, int protocol = 0) {
  errno = 0;
  const int fd = socket(family, type | SOCK_CLOEXEC, protocol);
  Report(name, fd, errno);
  if (fd >= 0) close(fd);
}

// Connects, and never waits longer than two seconds.
void TryConnect(const char* name, const char* address, int port, int type) {
  sockaddr_in target = {};
  target.sin_family = AF_INET;
  target.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address, &target.sin_addr);
  const int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  errno = 0;
  int result =
      connect(fd, reinterpret_cast<sockaddr*>(&target), sizeof(target));
  if (result < 0 && errno == EINPROGRESS) {
    pollfd waiting = {fd, POLLOUT, 0};
    if (poll(&waiting, 1, 2000) <= 0) {
      ReportText(name, "HANGS");
      close(fd);
      return;
    }
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    result = error == 0 ? 0 : -1;
    errno = error;
  }
  Report(name, result, errno);
  close(fd);
}

void TryBind(const char* name, int port) {
  sockaddr_in target = {};
  target.sin_family = AF_INET;
  target.sin_port = htons(static_cast<uint16_t>(port));
  target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  errno = 0;
  const int result =
      bind(fd, reinterpret_cast<sockaddr*>(&target), sizeof(target));
  Report(name, result, errno);
  close(fd);
}

}  // namespace

void TrySockets() {
  TrySocket("unix", AF_UNIX, SOCK_STREAM);
  TrySocket("inet", AF_INET, SOCK_STREAM);
  TrySocket("inet6", AF_INET6, SOCK_DGRAM);
  TrySocket("netlink-route", AF_NETLINK, SOCK_RAW, 0);
  TrySocket("netlink-netfilter", AF_NETLINK, SOCK_RAW, 12);
  TrySocket("packet", AF_PACKET, SOCK_DGRAM);
  TrySocket("vsock", AF_VSOCK, SOCK_STREAM);
  TrySocket("alg", AF_ALG, SOCK_SEQPACKET);
  TrySocket("bluetooth", AF_BLUETOOTH, SOCK_RAW);
  TrySocket("xdp", AF_XDP, SOCK_RAW);
  TrySocket("key", AF_KEY, SOCK_RAW);
  TrySocket("tipc", AF_TIPC, SOCK_STREAM);
  TrySocket("inet-raw", AF_INET, SOCK_RAW, IPPROTO_ICMP);
  const int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  errno = 0;
  const int upper = setsockopt(tcp, SOL_TCP, TCP_ULP, "tls", 3);
  Report("tcp-ulp", upper, errno);
  close(tcp);
  int pair[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
    errno = 0;
    const ssize_t sent = send(pair[0], "x", 1, MSG_OOB);
    Report("unix-msg-oob", sent, errno);
  }
}

void TryNetwork() {
  std::vector<std::string> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    for (ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
      if (it->ifa_addr == nullptr || it->ifa_addr->sa_family != AF_INET) {
        continue;
      }
      found.push_back(std::string(it->ifa_name) + " " +
                      ((it->ifa_flags & IFF_UP) != 0 ? "up" : "down"));
    }
    freeifaddrs(list);
  }
  ReportNames("interface", found);
  // The kernel numbers interfaces from 1; a second interface would have a name.
  found.clear();
  for (unsigned index = 1; index < 64; ++index) {
    char name[IF_NAMESIZE];
    if (if_indextoname(index, name) != nullptr) found.emplace_back(name);
  }
  ReportNames("link", found);
  TryConnect("connect-loopback", "127.0.0.1", 9, SOCK_STREAM);
  TryConnect("connect-outside", "192.0.2.1", 80, SOCK_STREAM);
  TryConnect("connect-resolver", "192.0.2.53", 53, SOCK_DGRAM);
  TryConnect("connect-metadata", "169.254.169.254", 80, SOCK_STREAM);
  TryBind("bind-high-port", 18080);
  TryBind("bind-low-port", 80);
  // No process in the jail may change its network.
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = {};
  strcpy(request.ifr_name, "lo");
  errno = 0;
  const int down = ioctl(fd, SIOCSIFFLAGS, &request);
  Report("set-lo-down", down, errno);
  close(fd);
}

}  // namespace sandglass::probe
