#include "sandbox/jail/socket_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "sandbox/os/asked_calls.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/io.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/seqpacket.h"

namespace sandglass::sandbox {
namespace {

// A process that asks before it makes sockets. It works when it is told to, and
// ends with the result; 254 when it could not ask.
class Asker {
 public:
  explicit Asker(const std::function<int()>& work) {
    auto ends = os::SeqPacketPair();
    EXPECT_TRUE(ends.ok());
    child_ = ::fork();
    if (child_ == 0) {
      ends->first.reset();
      os::Fd listener;
      if (os::SetNoNewPrivs()) listener = os::AskBeforeSockets();
      const bool sent =
          listener.valid() &&
          os::SendDatagram(ends->second.get(), "l", {listener.get()});
      listener.reset();
      char go = 0;
      if (!sent || ::read(ends->second.get(), &go, 1) != 1) ::_exit(254);
      ::_exit(work());
    }
    ends->second.reset();
    go_ = std::move(ends->first);
    auto packet = os::ReceivePacket(go_.get(), os::Wait::kYes);
    EXPECT_TRUE(packet.ok()) << packet.status();
    if (packet.ok() && packet->fds.size() == 1) {
      listener_ = std::move(packet->fds[0]);
    }
    EXPECT_TRUE(os::IsListener(listener_));
  }
  ~Asker() {
    if (child_ < 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  os::Fd&& listener() { return std::move(listener_); }
  void Begin() { EXPECT_TRUE(os::SendDatagram(go_.get(), "g", {})); }
  // Waits for its end. Returns its exit code.
  int Result() {
    int status = 0;
    const pid_t child = std::exchange(child_, -1);
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  bool HasEnded() const {
    siginfo_t info = {};
    return ::waitid(P_PID, static_cast<id_t>(child_), &info,
                    WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child_;
  }

 private:
  pid_t child_ = -1;
  os::Fd go_;
  os::Fd listener_;
};

int ErrorOf(long result) { return result < 0 ? errno : 0; }
int MakeSocket() { return ErrorOf(::socket(AF_UNIX, SOCK_STREAM, 0)); }
int MakePair() {
  int pair[2];
  return ErrorOf(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}
int AskForRing() {
  // Without parameters it fails, but not before it has asked.
  return ErrorOf(::syscall(SYS_io_uring_setup, 1, nullptr)) == ENOSYS ? 1 : 0;
}
int MakeSocketOfX32() {
  (void)::syscall(0x40000000 | SYS_socket, AF_UNIX, SOCK_STREAM, 0);
  return 0;
}
int AskForListener() {
  (void)::syscall(SYS_seccomp, ~0U, 0, nullptr);
  return 0;
}
int AskForKey() {
  (void)::syscall(SYS_add_key, nullptr, nullptr, nullptr, 0, 0);
  return 0;
}
int AskForTheKeyOfAnother() {
  (void)::syscall(SYS_request_key, nullptr, nullptr, nullptr, 0);
  return 0;
}
int AskForLineDiscipline() {
  const int discipline = 3;  // N_PPP
  (void)::ioctl(0, TIOCSETD, &discipline);
  return 0;
}
// Another call of the same number.
int AskForTerminal() {
  struct termios settings = {};
  (void)::ioctl(0, TCGETS, &settings);
  return 0;
}
int MakePipe() {
  int pipe[2];
  return ErrorOf(::pipe2(pipe, O_CLOEXEC));
}

class SocketWatchTest : public ::testing::Test {
 protected:
  SocketWatchTest() { watch_.Start(); }
  SocketWatch watch_;
};

TEST_F(SocketWatchTest, WhoMakesNoneLeavesTheNetworkUnused) {
  for (const auto way : {MakePipe, AskForTerminal}) {
    Asker asker(way);
    const auto listener = watch_.Watch(asker.listener());
    ASSERT_NE(listener, nullptr);
    asker.Begin();
    EXPECT_EQ(asker.Result(), 0);
    EXPECT_TRUE(listener->EndUnused());
    EXPECT_TRUE(listener->EndUnused());
  }
}

TEST_F(SocketWatchTest, EachWayToASocketIsAllowedAndCounts) {
  for (const auto way :
       {MakeSocket, MakePair, AskForRing, MakeSocketOfX32, AskForListener,
        AskForKey, AskForTheKeyOfAnother, AskForLineDiscipline}) {
    Asker asker(way);
    const auto listener = watch_.Watch(asker.listener());
    ASSERT_NE(listener, nullptr);
    asker.Begin();
    EXPECT_EQ(asker.Result(), 0);
    EXPECT_FALSE(listener->EndUnused());
  }
}

TEST_F(SocketWatchTest, WhatAChildMakesCountsToo) {
  Asker asker([] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(MakeSocket());
    int status = 0;
    return ::waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1;
  });
  const auto listener = watch_.Watch(asker.listener());
  asker.Begin();
  EXPECT_EQ(asker.Result(), 0);
  EXPECT_FALSE(listener->EndUnused());
}

TEST_F(SocketWatchTest, AfterTheEndNobodyGetsOne) {
  Asker asker(MakeSocket);
  const auto listener = watch_.Watch(asker.listener());
  EXPECT_TRUE(listener->EndUnused());
  asker.Begin();
  ::usleep(200'000);
  EXPECT_FALSE(asker.HasEnded());
  EXPECT_TRUE(listener->EndUnused());
}

TEST_F(SocketWatchTest, WhereTheListenerIsGoneTheCallFails) {
  Asker asker(MakeSocket);
  watch_.Watch(asker.listener()).reset();
  asker.Begin();
  EXPECT_EQ(asker.Result(), ENOSYS);
}

TEST_F(SocketWatchTest, WhoIsKilledWhileItAsksHoldsUpNobody) {
  watch_.Stop();
  auto killed = std::make_unique<Asker>(MakeSocket);
  const auto its = watch_.Watch(killed->listener());
  killed->Begin();
  ::usleep(50'000);
  killed.reset();
  watch_.Start();
  Asker asker(MakeSocket);
  const auto listener = watch_.Watch(asker.listener());
  asker.Begin();
  EXPECT_EQ(asker.Result(), 0);
}

TEST_F(SocketWatchTest, WhoAsksWhileItIsStoppedWaits) {
  watch_.Stop();
  Asker asker(MakeSocket);
  const auto listener = watch_.Watch(asker.listener());
  asker.Begin();
  ::usleep(100'000);
  EXPECT_FALSE(asker.HasEnded());
  watch_.Start();
  EXPECT_EQ(asker.Result(), 0);
}

TEST_F(SocketWatchTest, ManyAtOnceAreAnswered) {
  constexpr int kAskers = 40;
  std::vector<std::unique_ptr<Asker>> askers;
  std::vector<std::shared_ptr<SocketWatch::Listener>> listeners;
  for (int i = 0; i < kAskers; ++i) {
    askers.push_back(std::make_unique<Asker>([] {
      for (int k = 0; k < 20; ++k) {
        if (const int error = MakePair(); error != 0) return error;
      }
      return 0;
    }));
    listeners.push_back(watch_.Watch(askers.back()->listener()));
  }
  for (const auto& asker : askers) asker->Begin();
  for (const auto& asker : askers) EXPECT_EQ(asker->Result(), 0);
  for (const auto& listener : listeners) EXPECT_FALSE(listener->EndUnused());
}

TEST_F(SocketWatchTest, WhoAsksTooMuchWaitsAndOthersDoNot) {
  constexpr int kBeyond = 300;
  constexpr int kCalls = SocketWatch::kBurst + kBeyond;
  Asker flood([] {
    for (int i = 0; i < kCalls; ++i) {
      const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
      if (fd < 0) return errno;
      ::close(fd);
    }
    return 0;
  });
  const auto its = watch_.Watch(flood.listener());
  const absl::Time start = os::SteadyNow();
  flood.Begin();
  for (int i = 0; i < 10; ++i) {
    Asker other(MakeSocket);
    const auto listener = watch_.Watch(other.listener());
    other.Begin();
    EXPECT_EQ(other.Result(), 0);
  }
  EXPECT_EQ(flood.Result(), 0);
  // Less one that comes just after the last pause.
  EXPECT_GE(os::SteadyNow() - start,
            absl::Seconds(kBeyond - 1) / SocketWatch::kPerSecond);
  EXPECT_FALSE(its->EndUnused());
}

TEST_F(SocketWatchTest, WhoAsksTooMuchAndEndsIsForgotten) {
  Asker flood([] {
    for (;;) ::close(::socket(AF_UNIX, SOCK_STREAM, 0));
    return 0;
  });
  auto its = watch_.Watch(flood.listener());
  flood.Begin();
  ::usleep(150'000);
  its.reset();
  ::usleep(150'000);
  Asker asker(MakeSocket);
  const auto listener = watch_.Watch(asker.listener());
  asker.Begin();
  EXPECT_EQ(asker.Result(), 0);
}

TEST_F(SocketWatchTest, WhatIsNoListenerIsNotTakenForOne) {
  EXPECT_FALSE(os::IsListener(os::Fd()));
  EXPECT_FALSE(os::IsListener(os::Fd(::open("/dev/null", O_RDONLY))));
  EXPECT_FALSE(os::IsListener(os::Fd(::socket(AF_UNIX, SOCK_STREAM, 0))));
}

}  // namespace
}  // namespace sandglass::sandbox
