// Descriptors are closed aside also where there is no thread for it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "sandbox/jail/untrusted_fds.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {
namespace {

constexpr uid_t kNobody = 65534;
constexpr int kLongEnoughMs = 20'000;

// The end of a pipe that is to be closed, in a vector; the other one stays.
std::vector<os::Fd> OneEnd(os::Fd& other) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  other.reset(ends[0]);
  std::vector<os::Fd> fds;
  fds.emplace_back(ends[1]);
  return fds;
}

bool IsClosedWithin(const os::Fd& other, int ms) {
  pollfd end = {other.get(), POLLIN, 0};
  return ::poll(&end, 1, ms) == 1 && (end.revents & POLLHUP) != 0;
}

void SetMostProcesses(rlim_t max) {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NPROC, &limit);
  limit.rlim_cur = max;
  ::setrlimit(RLIMIT_NPROC, &limit);
}

// In a process of its own; its exit code.
int CloseWithoutThreads() {
  // The limit doesn't hold for root.
  if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) return 2;
  rlimit before = {};
  ::getrlimit(RLIMIT_NPROC, &before);
  os::Fd first;
  os::Fd second;
  SetMostProcesses(0);
  CloseAside(OneEnd(first));
  if (IsClosedWithin(first, 0)) return 3;  // it had a thread after all
  SetMostProcesses(before.rlim_cur);
  CloseAside(OneEnd(second));
  return IsClosedWithin(second, kLongEnoughMs) &&
                 IsClosedWithin(first, kLongEnoughMs)
             ? 0
             : 4;
}

TEST(CloseAside, WhatHadNoThreadIsClosedWithTheNextThatHas) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(CloseWithoutThreads());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "it died of signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// One whose close(2) waits for a reader who never reads.
os::Fd Lingering(const os::Fd& listener) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  os::Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(
      ::connect(client.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  const linger wait = {.l_onoff = 1, .l_linger = kLongEnoughMs / 1000};
  ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof(wait));
  const std::vector<char> much(1 << 16);
  while (::send(client.get(), much.data(), much.size(), MSG_DONTWAIT) > 0) {
  }
  return client;
}

TEST(CloseAside, WhatOneMakerChoseHoldsUpNoOthers) {
  const os::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(listener.get(), 64), 0);  // takes a port of loopback, too
  for (int i = 0; i < 30; ++i) {
    std::vector<os::Fd> slow;
    slow.push_back(Lingering(listener));
    os::Fd other;
    std::vector<os::Fd> fast = OneEnd(other);
    CloseAside(std::move(slow));
    CloseAside(std::move(fast));
    EXPECT_TRUE(IsClosedWithin(other, kLongEnoughMs / 4)) << i;
  }
}

}  // namespace
}  // namespace sandglass::sandbox
