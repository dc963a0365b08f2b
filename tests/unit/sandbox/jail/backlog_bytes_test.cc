#include "sandbox/jail/backlog_bytes.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

namespace sandglass::sandbox {
namespace {

constexpr uint64_t kAll = ~uint64_t{0} >> 1;

constexpr char kNames[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "
    "retrnsmt   uid  timeout inode\n";

std::string Line(const std::string& state, const std::string& queues,
                 const std::string& inode) {
  return "   1: 0100007F:9C40 0100007F:D2F0 " + state + " " + queues +
         " 00:00000000 00000000     0        0 " + inode +
         " 1 0000000000000000 20 4 30 10 -1\n";
}

TEST(BacklogBytesIn, CountsConnectionsThatNobodyAccepted) {
  EXPECT_EQ(BacklogBytesIn(""), 0u);
  EXPECT_EQ(BacklogBytesIn(kNames), 0u);
  EXPECT_EQ(BacklogBytesIn(kNames + Line("01", "00000010:00001000", "0")),
            0x1010 + kConnectionBytes);
  EXPECT_EQ(BacklogBytesIn(Line("08", "00000000:00000001", "0") +
                           Line("01", "00000000:00000000", "0")),
            1 + 2 * kConnectionBytes);
}

TEST(BacklogBytesIn, PassesOverWhatSomebodyIsChargedFor) {
  EXPECT_EQ(BacklogBytesIn(Line("01", "00000010:00001000", "12345")), 0u);
  EXPECT_EQ(BacklogBytesIn(Line("0A", "00000000:00000010", "7")), 0u);
  EXPECT_EQ(BacklogBytesIn(Line("06", "00000000:00000000", "0")), 0u);
}

TEST(BacklogBytesIn, MalformedInputCountsNothing) {
  EXPECT_EQ(BacklogBytesIn("\n\n1 2 3\n"), 0u);
  EXPECT_EQ(BacklogBytesIn(Line("01", "x:y", "0")), 0u);
  EXPECT_EQ(BacklogBytesIn(Line("01", "00000001", "0")), 0u);
}

TEST(BacklogBytes, OfAnUnknownProcessAreZero) {
  EXPECT_EQ(BacklogBytes(JailProcess(), kAll), 0u);
}

// This process's own sockets, in a network namespace like any.
class OwnSockets : public ::testing::Test {
 protected:
  void SetUp() override {
    const os::Fd pidfd(
        static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    self_ = FindProcess(pidfd);
    ASSERT_EQ(self_.pid, ::getpid());
  }
  JailProcess self_;
};

TEST_F(OwnSockets, GrowWithConnectionsUntilTheyAreAccepted) {
  constexpr int kConnections = 20;
  constexpr size_t kBytes = 30'000;
  const os::Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(server.get(), any, size), 0);
  ASSERT_EQ(::listen(server.get(), kConnections), 0);
  ASSERT_EQ(::getsockname(server.get(), any, &size), 0);
  const uint64_t before = BacklogBytes(self_, kAll);
  std::vector<os::Fd> clients;
  const std::string text(kBytes, 'x');
  for (int i = 0; i < kConnections; ++i) {
    clients.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(clients.back().get(), any, size), 0);
    ASSERT_EQ(::write(clients.back().get(), text.data(), kBytes),
              static_cast<ssize_t>(kBytes));
  }
  const uint64_t waiting = BacklogBytes(self_, kAll) - before;
  EXPECT_GE(waiting, kConnections * (kBytes / 2));
  EXPECT_GT(BacklogBytes(self_, before + 1), before + 1);
  std::vector<os::Fd> accepted;
  accepted.reserve(kConnections);
  for (int i = 0; i < kConnections; ++i) {
    accepted.emplace_back(::accept(server.get(), nullptr, nullptr));
  }
  // Others on this machine may have some.
  EXPECT_LT(BacklogBytes(self_, kAll), before + waiting / 2);
}

TEST_F(OwnSockets, OfADeadProcessAreNothing) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  const os::Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  ASSERT_TRUE(pidfd.valid());
  const JailProcess process = FindProcess(pidfd);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(IsStill(process));
  EXPECT_EQ(BacklogBytes(process, kAll), 0u);
  EXPECT_EQ(FindProcess(pidfd).pid, 0);
}

}  // namespace
}  // namespace sandglass::sandbox
