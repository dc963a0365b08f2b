// Descriptors are closed aside also where there is no thread for it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "sandbox/os/fd.h"
#include "sandbox/untrusted_fds.h"

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

void SetMostProcesses(rlim_t most) {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NPROC, &limit);
  limit.rlim_cur = most;
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

}  // namespace
}  // namespace sandglass::sandbox
