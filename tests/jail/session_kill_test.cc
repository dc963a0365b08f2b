// Each way to kill, alone, where another may fail. Needs root.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <string>

#include "absl/time/clock.h"
#include "tests/jail/session_fixture.h"

namespace sandglass::sandbox {
namespace {

int ExitCode(const Seen& process) {
  if (!process.exited || !WIFEXITED(process.exited->wait_status)) return -1;
  return WEXITSTATUS(process.exited->wait_status);
}

int Signal(const Seen& process) {
  if (!process.exited || !WIFSIGNALED(process.exited->wait_status)) return -1;
  return WTERMSIG(process.exited->wait_status);
}

// Its main thread ends while another goes on, as in its child, which is a
// process group and session of its own. cgroup.kill of Linux 6.18 passes both
// over.
constexpr char kHeadless[] = R"(
import ctypes, os, threading, time
child = os.fork()
if child == 0: os.setsid()
threading.Thread(target=time.sleep, args=(1000,)).start()
if child == 0: print('up', flush=True)
ctypes.CDLL(None).syscall(60, 0)  # exit, of this thread
)";

Seen& StartHeadless(TestSession& jail) {
  Seen& seen = jail.Started(Python(kHeadless));
  EXPECT_TRUE(jail.Await([&] { return seen.out == "up\n"; }));
  absl::SleepFor(absl::Milliseconds(50));  // until the main threads have ended
  return seen;
}

TEST(KillByPid, KillsAProcessWithoutAMainThread) {
  TestSession jail;
  Seen& other = jail.Started(Shell("sleep 1000"));
  Seen& seen = StartHeadless(jail);
  ASSERT_TRUE(jail.session().KillByPid(seen.spawned->id).ok());
  ASSERT_TRUE(jail.Await(
      [&] { return seen.exited && GroupIsEmpty(seen.spawned->fds.events); }));
  EXPECT_EQ(Signal(seen), SIGKILL);
  EXPECT_FALSE(GroupIsEmpty(other.spawned->fds.events));
  // Nothing happens to who has that number of none.
  ASSERT_TRUE(jail.session().KillByPid(seen.spawned->id).ok());
  ASSERT_TRUE(jail.session().KillByPid(1'000'000).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(jail.session().KillByPid(0)));
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 3"))), 3);
  EXPECT_FALSE(other.exited.has_value());
}

TEST(KillByPid, KillsTheRestOfAProcessThatEnded) {
  TestSession jail;
  const Seen& seen = jail.Ended(Python(
      std::string("import os\nif os.fork() > 0: os._exit(2)\n") + kHeadless));
  EXPECT_EQ(ExitCode(seen), 2);
  EXPECT_FALSE(GroupIsEmpty(seen.spawned->fds.events));
  ASSERT_TRUE(jail.session().KillByPid(seen.spawned->id).ok());
  EXPECT_TRUE(
      jail.Await([&] { return GroupIsEmpty(seen.spawned->fds.events); }));
}

TEST(KillByPid, KillsAFrozenProcess) {
  TestSession jail;
  Seen& seen = StartHeadless(jail);
  ASSERT_TRUE(jail.session().Freeze(true).ok());
  ASSERT_TRUE(jail.Await([&] { return jail.session().IsFrozen(); }));
  ASSERT_TRUE(jail.session().KillByPid(seen.spawned->id).ok());
  EXPECT_TRUE(jail.Await(
      [&] { return seen.exited && GroupIsEmpty(seen.spawned->fds.events); }));
  ASSERT_TRUE(jail.session().Freeze(false).ok());
}

TEST(KillRunByPid, KillsAllProcessesAndTheJailStillServes) {
  TestSession jail;
  Seen& first = StartHeadless(jail);
  Seen& second = jail.Started(Shell("setsid sleep 1000 & wait"));
  ASSERT_TRUE(jail.session().jail().KillRunByPid().ok());
  ASSERT_TRUE(jail.Await([&] {
    return first.exited && second.exited && jail.session().jail().RunIsEmpty();
  }));
  EXPECT_EQ(Signal(first), SIGKILL);
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 3"))), 3);
}

TEST(KillJail, KillsAProcessWithoutAMainThread) {
  TestSession jail;
  const Seen& seen = StartHeadless(jail);
  jail.ExpectGone();
  ASSERT_TRUE(jail.session().jail().KillJail().ok());
  EXPECT_TRUE(jail.Await([&] { return jail.gone(); }));
  EXPECT_TRUE(GroupIsEmpty(seen.spawned->fds.events));
}

TEST(EndNamespace, KillsAProcessWithoutAMainThread) {
  TestSession jail;
  const Seen& seen = StartHeadless(jail);
  jail.ExpectGone();
  jail.session().jail().EndNamespace();
  EXPECT_TRUE(jail.Await([&] { return jail.gone(); }));
  EXPECT_TRUE(GroupIsEmpty(seen.spawned->fds.events));
}

}  // namespace
}  // namespace sandglass::sandbox
