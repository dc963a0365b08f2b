#include "server/base/tcp_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

TEST(ListenOnTcp, APortThatIsTakenIsNamedWithItsSetting) {
  os::Fd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {.sin_family = AF_INET,
                         .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<sockaddr*>(&address), size),
            0);
  ASSERT_EQ(::listen(taken.get(), 1), 0);
  ASSERT_EQ(
      ::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size),
      0);
  const std::string text = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  EXPECT_THAT(std::string(ListenOnTcp("listen", text).status().message()),
              HasSubstr(absl::StrCat("listen: can't listen on ", text,
                                     ": Address already in use")));
  taken.reset();
  EXPECT_EQ(ListenOnTcp("listen", text).status(), absl::OkStatus());
  EXPECT_EQ(ListenOnTcp("listen", "127.0.0.1:0").status(), absl::OkStatus());
  EXPECT_EQ(ListenOnTcp("listen", "[::1]:0").status(), absl::OkStatus());
  const auto all = ListenOnTcp("listen", "[::]:0", Ipv4::kNot);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_TRUE(
      ListenOnTcp("listen", absl::StrCat("0.0.0.0:", TcpPortOf(*all))).ok());
  EXPECT_FALSE(ListenOnTcp("listen", "nowhere").ok());
}

}  // namespace
}  // namespace sandglass::server
