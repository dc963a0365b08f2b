#include "sandbox/jail/netlink_bytes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <sys/socket.h>

#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sandbox/os/files.h"

namespace sandglass::sandbox {
namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();
constexpr char kNames[] =
    "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    "
    "Drops    Inode\n";

std::string Line(int64_t to_read, int64_t sent) {
  return absl::StrCat("0000000086ba6195 0   4242       00000000 ", to_read,
                      "     ", sent,
                      "        0     2        0        23960754\n");
}

os::Fd File(const std::string& text) {
  absl::StatusOr<os::Fd> file = os::MakeMemfd("list", text);
  EXPECT_TRUE(file.ok());
  return file.ok() ? *std::move(file) : os::Fd();
}

TEST(NetlinkBytesTest, WithoutSocketsThereAreNone) {
  EXPECT_EQ(NetlinkBytes(File(kNames), kAll), 0u);
  EXPECT_EQ(NetlinkBytes(File(""), kAll), 0u);
  EXPECT_EQ(NetlinkBytes(os::Fd(), kAll), 0u);
}

TEST(NetlinkBytesTest, CountsWaitingBytesAndTheSockets) {
  EXPECT_EQ(NetlinkBytes(File(kNames + Line(70000, 0) + Line(0, 500)), kAll),
            70500u + 2 * kNetlinkSocketBytes);
}

TEST(NetlinkBytesTest, MalformedInputCountsNothing) {
  EXPECT_EQ(NetlinkBytes(File("\n\n1 2 3\n1 2 3 4 -5 6 7\n"), kAll), 0u);
}

// A socket in a network namespace of its own, looked at from outside.
class NetlinkSocketsTest : public ::testing::Test {
 protected:
  // On a thread of its own, which is the namespace's only inhabitant.
  template <typename F>
  void Inside(F&& f) {
    std::thread([&] {
      if (::unshare(CLONE_NEWNET) != 0) return;
      list_.reset(
          ::open("/proc/thread-self/net/netlink", O_RDONLY | O_CLOEXEC));
      f();
    }).join();
  }
  static os::Fd Socket(int size) {
    os::Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    sockaddr_nl any = {};
    any.nl_family = AF_NETLINK;
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&any), sizeof(any)),
              0);
    return fd;
  }
  // Asks for what is refused, and doesn't read that.
  static void Ask(const os::Fd& fd) {
    struct {
      nlmsghdr header;
      char rest[4000];
    } message = {};
    message.header.nlmsg_len = sizeof(message);
    message.header.nlmsg_type = RTM_NEWLINK;
    message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    ASSERT_GT(::send(fd.get(), &message, sizeof(message), MSG_DONTWAIT), 0);
  }

  os::Fd list_;
  std::vector<os::Fd> sockets_;
};

TEST_F(NetlinkSocketsTest, AreSeenFromOutsideEachTime) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  uint64_t before = 0;
  Inside([&] {
    before = NetlinkBytes(list_, kAll);
    sockets_.push_back(Socket(1 << 18));
    for (int i = 0; i < 10; ++i) Ask(sockets_[0]);
  });
  const uint64_t waiting = NetlinkBytes(list_, kAll) - before;
  EXPECT_GE(waiting, 10 * 4000 + kNetlinkSocketBytes);
  EXPECT_LT(waiting, uint64_t{1} << 20);
  sockets_.clear();
  EXPECT_EQ(NetlinkBytes(list_, kAll), before);
}

TEST_F(NetlinkSocketsTest, AreAllSeenWhereTheyAreMany) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  constexpr size_t kCount = 700;  // many pages
  uint64_t before = 0;
  Inside([&] {
    before = NetlinkBytes(list_, kAll);
    for (size_t i = 0; i < kCount; ++i) sockets_.push_back(Socket(1 << 12));
  });
  EXPECT_EQ(NetlinkBytes(list_, kAll), before + kCount * kNetlinkSocketBytes);
  const uint64_t enough = NetlinkBytes(list_, 100 * kNetlinkSocketBytes);
  EXPECT_GT(enough, 100 * kNetlinkSocketBytes);
  EXPECT_LT(enough, 200 * kNetlinkSocketBytes);
}

}  // namespace
}  // namespace sandglass::sandbox
