// Filters that ask before they refuse, with this process as who is asked.

#include "sandbox/os/asked_calls.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <utility>

#include "gtest/gtest.h"
#include "policy/architecture/architecture.h"
#include "sandbox/os/io.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/seqpacket.h"

namespace sandglass::os {
namespace {

// getppid(2) asks, all else is allowed.
constexpr sock_filter kFilter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};

constexpr int kInTimeMs = 10'000;

// A child that installs the filter and does `work`, whose result it ends with.
class AskedCallTest : public ::testing::Test {
 protected:
  void Start(const std::function<int()>& work) {
    auto ends = SeqPacketPair();
    ASSERT_TRUE(ends.ok());
    child_ = ::fork();
    if (child_ == 0) {
      Fd listener;
      if (SetNoNewPrivs()) listener = InstallAskingFilter(kFilter);
      if (!listener.valid() ||
          !SendDatagram(ends->second.get(), "l", {listener.get()})) {
        ::_exit(255);
      }
      listener.reset();
      ::_exit(work());
    }
    ends->second.reset();
    auto packet = ReceivePacket(ends->first.get(), Wait::kYes);
    ASSERT_TRUE(packet.ok()) << packet.status();
    ASSERT_EQ(packet->fds.size(), 1u);
    listener_ = std::move(packet->fds[0]);
  }
  ~AskedCallTest() override {
    if (child_ > 0 && !ended_) {
      ::kill(child_, SIGKILL);
      (void)End();
    }
  }
  short Poll() {
    struct pollfd fd = {listener_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&fd, 1, kInTimeMs), 1);
    return fd.revents;
  }
  int End() {
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    ended_ = true;
    return status;
  }

  pid_t child_ = -1;
  bool ended_ = false;
  Fd listener_;
};

TEST_F(AskedCallTest, TheCallGetsTheErrorAndDoesNothing) {
  Start([] {
    errno = 0;
    return ::syscall(SYS_getppid, 7, 8, 9) == -1 ? errno : 0;
  });
  EXPECT_NE(Poll() & POLLIN, 0);
  AskedCall call;
  ASSERT_TRUE(ReceiveCall(listener_, call));
  EXPECT_EQ(call.number, SYS_getppid);
  EXPECT_EQ(call.architecture, policy::kArchitecture);
  EXPECT_EQ(call.arguments[0], 7u);
  EXPECT_EQ(call.arguments[2], 9u);
  ASSERT_TRUE(RefuseCall(listener_, call, EXDEV));
  EXPECT_EQ(End(), EXDEV << 8);
  EXPECT_NE(Poll() & POLLHUP, 0);
}

TEST_F(AskedCallTest, WithoutAListenerThereIsNoSuchCall) {
  Start([] { return ::syscall(SYS_getppid) == -1 ? errno : 0; });
  EXPECT_NE(Poll() & POLLIN, 0);
  listener_.reset();
  EXPECT_EQ(End(), ENOSYS << 8);
}

TEST_F(AskedCallTest, WhoAskedCanBeKilled) {
  Start([] {
    ::syscall(SYS_getppid);
    return 0;
  });
  EXPECT_NE(Poll() & POLLIN, 0);
  AskedCall call;
  ASSERT_TRUE(ReceiveCall(listener_, call));
  ::kill(child_, SIGKILL);
  EXPECT_EQ(End(), SIGKILL);
  EXPECT_FALSE(RefuseCall(listener_, call, EPERM));
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace sandglass::os
