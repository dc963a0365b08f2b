#include "server/edge/cut_connections.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"
#include "sandbox/os/fd.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

struct Connection {
  os::Fd listener, client, accepted;
};

Connection Connect(int family, const sockaddr* address, socklen_t size) {
  Connection made;
  made.listener = os::Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(made.listener.get(), address, size), 0);
  EXPECT_EQ(::listen(made.listener.get(), 1), 0);
  sockaddr_storage bound{};
  socklen_t bound_size = sizeof(bound);
  ::getsockname(made.listener.get(), reinterpret_cast<sockaddr*>(&bound),
                &bound_size);
  made.client = os::Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(made.client.get(), reinterpret_cast<sockaddr*>(&bound),
                      bound_size),
            0);
  made.accepted =
      os::Fd(::accept4(made.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(made.accepted.valid());
  return made;
}

bool IsOpen(const os::Fd& client) {
  char byte = 0;
  return ::recv(client.get(), &byte, 1, MSG_DONTWAIT) < 0;
}

TEST(CutConnections, CutsOnlyConnectionsOfThatSocket) {
  const TempDir dir;
  const std::string path = dir.Path("sock");
  sockaddr_un unix_address = {.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(unix_address.sun_path, sizeof(unix_address.sun_path) - 1);
  const Connection local =
      Connect(AF_UNIX, reinterpret_cast<const sockaddr*>(&unix_address),
              sizeof(unix_address));
  const sockaddr_in loopback = {.sin_family = AF_INET,
                                .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  const Connection tcp = Connect(
      AF_INET, reinterpret_cast<const sockaddr*>(&loopback), sizeof(loopback));
  sockaddr_in bound{};
  socklen_t size = sizeof(bound);
  ::getsockname(tcp.listener.get(), reinterpret_cast<sockaddr*>(&bound), &size);

  EXPECT_EQ(CutConnections(path + "2", {}), 0);
  EXPECT_TRUE(IsOpen(local.client));
  EXPECT_EQ(CutConnections(path, {}), 1);
  EXPECT_FALSE(IsOpen(local.client));
  EXPECT_TRUE(IsOpen(tcp.client));
  EXPECT_EQ(CutConnections("", {ntohs(bound.sin_port)}), 1);
  EXPECT_FALSE(IsOpen(tcp.client));
}

}  // namespace
}  // namespace sandglass::server
