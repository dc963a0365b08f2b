// What a parent does with a child that makes it its tracer.

#include "sandbox/os/process.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace sandglass::os {
namespace {

// A child that makes this process its tracer, sends itself `signal`, and ends
// with 7 if it lives on.
pid_t StartTraced(int signal) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
    ::raise(signal);
    ::_exit(7);
  }
  return child;
}

int WaitFor(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(LetGoIfStopped, AChildThatIsTracedGoesOnWithItsSignal) {
  const pid_t ignoring = StartTraced(SIGCHLD);
  EXPECT_TRUE(LetGoIfStopped(ignoring, WaitFor(ignoring)));
  int end = WaitFor(ignoring);
  EXPECT_TRUE(WIFEXITED(end) && WEXITSTATUS(end) == 7) << end;
  EXPECT_FALSE(LetGoIfStopped(ignoring, end));

  const pid_t dying = StartTraced(SIGUSR1);
  EXPECT_TRUE(LetGoIfStopped(dying, WaitFor(dying)));
  end = WaitFor(dying);
  EXPECT_TRUE(WIFSIGNALED(end) && WTERMSIG(end) == SIGUSR1) << end;
  EXPECT_FALSE(LetGoIfStopped(dying, end));
}

// An exec stops a traced process with SIGTRAP, which nobody sent.
TEST(LetGoIfStopped, AnExecIsNoTrap) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
    ::execl("/bin/true", "true", nullptr);
    ::_exit(1);
  }
  EXPECT_TRUE(LetGoIfStopped(child, WaitFor(child)));
  const int end = WaitFor(child);
  EXPECT_TRUE(WIFEXITED(end) && WEXITSTATUS(end) == 0) << end;
}

}  // namespace
}  // namespace sandglass::os
