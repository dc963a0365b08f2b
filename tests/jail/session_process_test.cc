// Many processes in one jail. Needs root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "sandbox/jail/job_frame.h"
#include "tests/jail/session_fixture.h"

namespace sandglass::sandbox {
namespace {

using ::testing::HasSubstr;

int ExitCode(const Seen& process) {
  if (!process.exited || !WIFEXITED(process.exited->wait_status)) return -1;
  return WEXITSTATUS(process.exited->wait_status);
}

int Signal(const Seen& process) {
  if (!process.exited || !WIFSIGNALED(process.exited->wait_status)) return -1;
  return WTERMSIG(process.exited->wait_status);
}

size_t CountGroups(const std::string& run) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(run)) {
    if (entry.is_directory()) ++count;
  }
  return count;
}

TEST(Spawn, AHundredProcessesInARowEndWithTheirCodes) {
  TestSession jail;
  std::string run;
  for (int i = 0; i < 100; ++i) {
    const Seen& seen = jail.Ended(Shell(absl::StrCat("exit ", i)));
    ASSERT_EQ(ExitCode(seen), i);
    run = TestSession::RunDirectory(seen);
  }
  // Each group goes a second after its process, when another comes.
  absl::SleepFor(absl::Milliseconds(1100));
  (void)jail.Ended(Shell("exit 0"));
  EXPECT_LT(CountGroups(run), 4u);
}

TEST(Spawn, TwentyProcessesAtOnceKeepTheirOutputApart) {
  TestSession jail;
  std::vector<uint64_t> ids;
  ids.reserve(20);
  for (int i = 0; i < 20; ++i) {
    ids.push_back(jail.Spawn(Shell(
        absl::StrCat("seq ", i, " 5000; echo to stderr ", i, " >&2; exit 3"))));
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const Seen& seen = jail.AwaitEnd(ids[i]);
    EXPECT_EQ(ExitCode(seen), 3);
    EXPECT_EQ(seen.out.substr(0, seen.out.find('\n')), absl::StrCat(i));
    EXPECT_EQ(seen.out.substr(seen.out.size() - 5), "5000\n");
    EXPECT_EQ(seen.err, absl::StrCat("to stderr ", i, "\n"));
  }
}

TEST(Spawn, ReportsHowAProcessEnded) {
  TestSession jail;
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 42"))), 42);
  EXPECT_EQ(Signal(jail.Ended(Shell("kill -SEGV $$"))), SIGSEGV);
  const Seen& seen = jail.Ended(Shell("pwd; id -u; umask; echo $HOME"));
  EXPECT_EQ(seen.out, "/workspace\n1000\n0022\n/home/sandbox\n");
  EXPECT_GT(seen.spawned->pid, 1);
  EXPECT_LE(seen.spawned->monotonic_ns, seen.exited->monotonic_ns);
}

TEST(Spawn, WhatCantBeStartedHarmsNobody) {
  TestSession jail;
  Seen& other = jail.Started(Shell("sleep 1000"));
  const auto expect_failure = [&](std::vector<std::string> argv,
                                  const std::string& directory, SetupStep step,
                                  int error) {
    ProcessSpec spec = Shell("");
    spec.argv = std::move(argv);
    spec.directory = directory;
    const Seen& seen = jail.Ended(spec);
    ASSERT_TRUE(seen.failed.has_value());
    EXPECT_EQ(seen.failed->step, step);
    EXPECT_EQ(seen.failed->error, error);
    EXPECT_TRUE(seen.failed->IsCallersMistake());
  };
  expect_failure({"/none"}, "/tmp", SetupStep::kExec, ENOENT);
  expect_failure({"none"}, "/tmp", SetupStep::kExec, ENOENT);
  expect_failure({""}, "/tmp", SetupStep::kExec, ENOENT);
  expect_failure({"/etc/passwd"}, "/tmp", SetupStep::kExec, EACCES);
  expect_failure({"/tmp"}, "/tmp", SetupStep::kExec, EACCES);
  expect_failure({"true"}, "/none", SetupStep::kEnterDirectory, ENOENT);
  expect_failure({"true"}, "/etc/passwd", SetupStep::kEnterDirectory, ENOTDIR);
  EXPECT_EQ(ExitCode(jail.Ended(Shell("mkdir -m 0 closed; exit 5"))), 5);
  expect_failure({"true"}, "/workspace/closed", SetupStep::kEnterDirectory,
                 EACCES);
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 6"))), 6);
  EXPECT_FALSE(other.exited.has_value());
}

TEST(Spawn, LooksAlongThePathWithTheCodesRights) {
  TestSession jail;
  ASSERT_EQ(ExitCode(jail.Ended(Shell(
                "mkdir a b; echo x > a/tool; printf '#!/bin/sh\necho b\n' > "
                "b/tool; chmod +x b/tool"))),
            0);
  ProcessSpec spec = Shell("");
  spec.argv = {"tool"};
  spec.env = {"PATH=/none:/workspace/a:/etc/passwd:b"};
  EXPECT_EQ(jail.Ended(spec).out, "b\n");
  spec.env = {"PATH=/workspace/a"};
  const Seen& seen = jail.Ended(spec);
  ASSERT_TRUE(seen.failed.has_value());
  EXPECT_EQ(seen.failed->error, EACCES);
}

TEST(Spawn, RefusesARequestThatInitCannotHandle) {
  TestSession jail;
  ProcessSpec spec = Shell("");
  for (const char* directory : {"", "tmp", "./"}) {
    spec.directory = directory;
    EXPECT_TRUE(absl::IsInvalidArgument(jail.session().Spawn(1000, spec)));
  }
  spec = Shell(std::string("a\0b", 3));
  EXPECT_TRUE(absl::IsInvalidArgument(jail.session().Spawn(1000, spec)));
  spec = Shell(std::string(300'000, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(jail.session().Spawn(1000, spec)));
  spec.argv.clear();
  EXPECT_TRUE(absl::IsInvalidArgument(jail.session().Spawn(1000, spec)));
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 4"))), 4);
}

TEST(Spawn, ReadsWhatItIsGivenToTheEnd) {
  TestSession jail;
  EXPECT_EQ(jail.Ended(Shell("cat; echo end")).out, "end\n");
  ProcessSpec spec = Shell("cat; echo end");
  spec.with_stdin = true;
  Seen& seen = jail.Started(spec);
  os::Fd& in = seen.spawned->fds.stdin_fd;
  ASSERT_EQ(::write(in.get(), "hello\n", 6), 6);
  ASSERT_TRUE(jail.Await([&] { return seen.out == "hello\n"; }));
  in.reset();
  ASSERT_TRUE(jail.Await([&] { return seen.exited.has_value(); }));
  ASSERT_TRUE(jail.Await([&] { return seen.out == "hello\nend\n"; }));
}

TEST(Spawn, MayHaveFewerFilesOpenThanInitHas) {
  TestSession jail;
  ProcessSpec spec = Shell("ulimit -n; echo event >&3; exit 7");
  spec.with_stdin = true;
  spec.with_channel = true;
  spec.open_files = 16;
  const Seen& seen = jail.Ended(spec);
  ASSERT_FALSE(seen.failed.has_value())
      << SetupStepName(static_cast<int>(seen.failed->step)) << ": "
      << seen.failed->error;
  EXPECT_EQ(ExitCode(seen), 7);
  EXPECT_EQ(seen.out, "16\n");
  EXPECT_EQ(seen.channel, "event\n");
}

TEST(Spawn, KeepsTheOrderOfMergedStreams) {
  TestSession jail;
  ProcessSpec spec = Shell(
      "i=0; while [ $i -lt 200 ]; do echo o; echo e >&2; i=$((i+1)); done");
  spec.stdio = ProcessSpec::Stdio::kMergedPipes;
  const Seen& seen = jail.Ended(spec);
  std::string expected;
  for (int i = 0; i < 200; ++i) expected += "o\ne\n";
  EXPECT_EQ(seen.out, expected);
  EXPECT_FALSE(seen.spawned->fds.stderr_fd.valid());
}

constexpr char kOpenFds[] = R"(
import os
fds = []
for fd in range(2000):
  try:
    os.fstat(fd)
    fds.append(fd)
  except OSError:
    pass
print(fds)
if 3 in fds:
  os.write(3, b'through the channel')
)";

TEST(Spawn, HasNothingOpenButItsStreamsAndTheChannel) {
  TestSession jail;
  ProcessSpec spec = Python(kOpenFds);
  EXPECT_EQ(jail.Ended(spec).out, "[0, 1, 2]\n");
  spec.with_stdin = true;
  spec.with_channel = true;
  const Seen& seen = jail.Ended(spec);
  EXPECT_EQ(seen.out, "[0, 1, 2, 3]\n");
  EXPECT_EQ(seen.channel, "through the channel");
}

TEST(Spawn, HasTheProgramsRights) {
  TestSession jail;
  const Seen& seen = jail.Ended(
      Shell("grep -E '^(Cap|NoNewPrivs|Seccomp:|Groups)' /proc/self/status;"
            "cat /proc/self/limits | grep 'open files'; cat /proc/self/cgroup |"
            "grep ^0; echo x > /etc/x; echo x > /dev/stderr; ls /proc/1"));
  EXPECT_THAT(seen.out, HasSubstr("CapEff:\t0000000000000000"));
  EXPECT_THAT(seen.out, HasSubstr("CapBnd:\t0000000000000000"));
  EXPECT_THAT(seen.out, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(seen.out, HasSubstr("Seccomp:\t2"));
  EXPECT_THAT(seen.out, HasSubstr("1024"));
  // Nothing of the host's tree.
  EXPECT_THAT(seen.out, HasSubstr("0::/run/p-"));
  EXPECT_THAT(seen.err, HasSubstr("cannot create /etc/x"));
  EXPECT_THAT(seen.err, HasSubstr("\nx\n"));
  EXPECT_THAT(seen.err, HasSubstr("cannot access '/proc/1'"));
}

TEST(Spawn, OneProcessCanSignalAnother) {
  TestSession jail;
  Seen& server = jail.Started(Shell("sleep 1000"));
  const Seen& other =
      jail.Ended(Shell(absl::StrCat("kill ", server.spawned->pid)));
  EXPECT_EQ(ExitCode(other), 0) << other.err;
  ASSERT_TRUE(jail.Await([&] { return server.exited.has_value(); }));
  EXPECT_EQ(Signal(server), SIGTERM);
}

TEST(KillGroup, KillsATreeAndNoOther) {
  TestSession jail;
  ProcessSpec echo = Shell("cat");
  echo.with_stdin = true;
  Seen& other = jail.Started(echo);
  Seen& tree = jail.Started(
      Shell("(setsid sh -c 'sleep 1000 & sleep 1000' &); setsid sleep 1000 &"
            "echo up; wait"));
  ASSERT_TRUE(jail.Await([&] { return tree.out == "up\n"; }));
  EXPECT_FALSE(GroupIsEmpty(tree.spawned->fds.events));
  ASSERT_TRUE(KillGroup(tree.spawned->fds.kill).ok());
  ASSERT_TRUE(jail.Await(
      [&] { return tree.exited && GroupIsEmpty(tree.spawned->fds.events); }));
  EXPECT_EQ(Signal(tree), SIGKILL);
  // Its group may be gone.
  EXPECT_TRUE(KillGroup(tree.spawned->fds.kill).ok());
  ASSERT_EQ(::write(other.spawned->fds.stdin_fd.get(), "alive", 5), 5);
  EXPECT_TRUE(jail.Await([&] { return other.out == "alive"; }));
}

TEST(KillGroup, KillsTheRestOfAProcessThatEnded) {
  TestSession jail;
  Seen& seen = jail.Ended(Shell("(setsid sleep 1000 &); exit 2"));
  EXPECT_EQ(ExitCode(seen), 2);
  EXPECT_FALSE(GroupIsEmpty(seen.spawned->fds.events));
  ASSERT_TRUE(KillGroup(seen.spawned->fds.kill).ok());
  EXPECT_TRUE(
      jail.Await([&] { return GroupIsEmpty(seen.spawned->fds.events); }));
}

TEST(KillRun, KillsAllProcessesAndTheJailStillServes) {
  TestSession jail;
  Seen& first = jail.Started(Shell("sleep 1000"));
  Seen& second = jail.Started(Shell("setsid sleep 1000 & wait"));
  ASSERT_TRUE(jail.session().jail().KillRun().ok());
  ASSERT_TRUE(jail.Await([&] { return first.exited && second.exited; }));
  EXPECT_EQ(Signal(first), SIGKILL);
  EXPECT_TRUE(jail.Await([&] { return jail.session().jail().RunIsEmpty(); }));
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 9"))), 9);
}

TEST(SendSignal, ReachesAProcessOrItsGroup) {
  TestSession jail;
  const std::string wait =
      "trap 'echo parent; exit 7' INT; "
      "sh -c 'trap \"echo child; exit\" INT; echo up; while :; do sleep 0.05; "
      "done' & while :; do wait; done";
  Seen& group = jail.Started(Shell(wait));
  ASSERT_TRUE(jail.Await([&] { return group.out == "up\n"; }));
  ASSERT_TRUE(
      jail.session().SendSignal(group.spawned->pid, SIGUSR2, false).ok());
  ASSERT_TRUE(jail.Await([&] { return group.exited.has_value(); }));
  EXPECT_EQ(Signal(group), SIGUSR2);

  Seen& both =
      jail.Started(Python("import os, signal, time\n"
                          "def got(*_):\n"
                          "  os.write(1, b'x')\n"
                          "signal.signal(signal.SIGINT, got)\n"
                          "pid = os.fork()\n"
                          "os.write(1, b'u')\n"
                          "time.sleep(1000) if pid == 0 else os.wait()\n"
                          "while True: time.sleep(1000)\n"));
  ASSERT_TRUE(jail.Await([&] { return both.out == "uu"; }));
  ASSERT_TRUE(jail.session().SendSignal(both.spawned->pid, SIGINT, true).ok());
  EXPECT_TRUE(jail.Await([&] { return both.out == "uuxx"; }));
}

TEST(SendSignal, ReachesNeitherInitNorEverybody) {
  TestSession jail;
  for (const pid_t pid : {-1, 0, 1, INT32_MAX}) {
    for (const bool to_group : {false, true}) {
      EXPECT_TRUE(absl::IsInvalidArgument(
          jail.session().SendSignal(pid, SIGKILL, to_group)));
    }
  }
  for (const int signal : {-1, 0, 65}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(jail.session().SendSignal(2, signal, false)));
  }
  // Nobody's: no error, and nothing happens.
  ASSERT_TRUE(jail.session().SendSignal(4'000'000, SIGKILL, false).ok());
  ASSERT_TRUE(jail.session().SendSignal(4'000'000, SIGKILL, true).ok());
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 8"))), 8);
}

TEST(Freeze, StopsTheProcessorTime) {
  TestSession jail;
  Seen& busy = jail.Started(Shell("echo up; while :; do :; done"));
  ASSERT_TRUE(jail.Await([&] { return busy.out == "up\n"; }));
  const auto used = [&] {
    const JailCounters counters = jail.session().jail().ReadCounters();
    return counters.cpu_user + counters.cpu_system;
  };
  ASSERT_TRUE(jail.session().Freeze(true).ok());
  ASSERT_TRUE(jail.Await([&] { return jail.session().IsFrozen(); }));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(jail.session().Spawn(1000, Shell("exit 1"))));
  const absl::Duration before = used();
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_LT(used() - before, absl::Milliseconds(100));
  ASSERT_TRUE(jail.session().Freeze(false).ok());
  EXPECT_TRUE(
      jail.Await([&] { return used() - before > absl::Milliseconds(200); }));
  EXPECT_FALSE(jail.session().IsFrozen());
}

TEST(Freeze, LetsKillsThrough) {
  TestSession jail;
  Seen& one = jail.Started(Shell("while :; do :; done"));
  Seen& other = jail.Started(Shell("sleep 1000"));
  ASSERT_TRUE(jail.session().Freeze(true).ok());
  ASSERT_TRUE(jail.Await([&] { return jail.session().IsFrozen(); }));
  ASSERT_TRUE(KillGroup(one.spawned->fds.kill).ok());
  ASSERT_TRUE(jail.Await([&] { return one.exited.has_value(); }));
  EXPECT_EQ(Signal(one), SIGKILL);
  EXPECT_FALSE(other.exited.has_value());
  ASSERT_TRUE(jail.session().jail().KillRun().ok());
  ASSERT_TRUE(jail.Await([&] { return other.exited.has_value(); }));
  ASSERT_TRUE(jail.session().Freeze(false).ok());
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 1"))), 1);
}

TEST(Beside, ProcessesRunBesideAProgram) {
  TestSession jail;
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 1"))), 1);
  ProgramSpec program = {.argv = {"/bin/sh", "-c", "sleep 0.3; exit 3"},
                         .env = {"PATH=/usr/bin"},
                         .file_size_bytes = 1 << 20,
                         .cpu_time = absl::Seconds(10)};
  ASSERT_TRUE(jail.session().jail().StartProgram(program).ok());
  ASSERT_TRUE(jail.Await([&] { return jail.main_started().has_value(); }));
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 2"))), 2);
  ASSERT_TRUE(jail.Await([&] { return jail.main_exited().has_value(); }));
  EXPECT_EQ(jail.main_exited()->wait_status, 3 << 8);
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 4"))), 4);
}

TEST(Beside, ProcessesRunBesideAWaitingInterpreter) {
  TestSession jail;
  ProgramSpec program = {
      .argv = {"/bin/sh", "-c",
               absl::StrCat("echo ", std::string(kWaitingWord),
                            "; read x; ulimit -n; exit 3")},
      .env = {"PATH=/usr/bin"},
      .with_stdin = true,
      .open_files = 77,
      .file_size_bytes = 1 << 20,
      .cpu_time = absl::Seconds(10)};
  ASSERT_TRUE(jail.session().jail().Prestart(program).ok());
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 1"))), 1);
  ASSERT_TRUE(jail.Await([&] { return jail.waits(); }));
  Seen& other = jail.Started(Shell("sleep 1000"));
  ASSERT_TRUE(jail.session().jail().StartProgram(program).ok());
  ASSERT_TRUE(jail.Await([&] { return jail.main_started().has_value(); }));
  ASSERT_EQ(::write(jail.session().jail().stdin_fd().get(), "\n", 1), 1);
  ASSERT_TRUE(jail.Await([&] { return jail.main_exited().has_value(); }));
  char text[16] = {};
  EXPECT_GT(::read(jail.session().jail().stdout_fd().get(), text, 15), 0);
  EXPECT_STREQ(text, "77\n");
  EXPECT_FALSE(other.exited.has_value());
}

TEST(Beside, ProcessesRunBesideARunner) {
  TestSession jail(kPythonKind);
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 1"))), 1);
  EXPECT_FALSE(jail.session().ReleaseReport().valid());
  const std::string code =
      "import os, sys\nos.write(254, b'own words')\n"
      "sys.stdin.read()\n";
  ProgramSpec program = {.argv = {"main.py"},
                         .env = {"PATH=/usr/bin", "HOME=/home/sandbox"},
                         .files = {{"main.py", code, 0644}},
                         .with_stdin = true,
                         .file_size_bytes = 1 << 20,
                         .cpu_time = absl::Seconds(10)};
  ASSERT_TRUE(jail.session().jail().StartProgram(program).ok());
  ASSERT_TRUE(jail.Await([&] { return jail.main_started().has_value(); }));
  const os::Fd report = jail.session().ReleaseReport();
  ASSERT_TRUE(report.valid());
  EXPECT_FALSE(jail.session().ReleaseReport().valid());
  std::string words;
  ASSERT_TRUE(jail.Await([&] {
    char text[64];
    const ssize_t size = ::read(report.get(), text, sizeof(text));
    if (size > 0) words.append(text, static_cast<size_t>(size));
    return words == "own words";
  }));
  const Seen& seen = jail.Ended(Shell("cat main.py; exit 2"));
  EXPECT_EQ(seen.out, code);
  EXPECT_EQ(ExitCode(seen), 2);
  EXPECT_FALSE(jail.main_exited().has_value());
  // The spawner, which is its parent, tells the runner's end.
  jail.session().jail().stdin_fd().reset();
  ASSERT_TRUE(jail.Await([&] { return jail.main_exited().has_value(); }));
  EXPECT_EQ(jail.main_exited()->wait_status, 0);
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 3"))), 3);
}

TEST(Beside, ProcessesRunBesideADeadRunner) {
  TestSession jail(kPythonKind);
  ASSERT_TRUE(jail.session().jail().KillRun().ok());
  ASSERT_TRUE(jail.Await([&] { return jail.main_exited().has_value(); }));
  EXPECT_EQ(jail.main_exited()->wait_status, SIGKILL);
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 3"))), 3);
}

TEST(Limits, AProcessFailsAtTheJailsLimits) {
  policy::Limits limits;
  limits.max_processes = 8;
  TestSession jail(kExecKind, limits);
  std::vector<uint64_t> ids;
  ids.reserve(12);
  ProcessSpec spec = Shell("");
  spec.argv = {"sleep", "1000"};
  for (int i = 0; i < 12; ++i) ids.push_back(jail.Spawn(spec));
  ASSERT_TRUE(jail.Await([&] {
    return jail.At(ids.back()).failed || jail.At(ids.back()).spawned;
  }));
  ASSERT_TRUE(jail.At(ids.back()).failed.has_value());
  EXPECT_EQ(jail.At(ids.back()).failed->step, SetupStep::kCloneProgram);
  EXPECT_EQ(jail.At(ids.back()).failed->error, EAGAIN);
  EXPECT_FALSE(jail.At(ids.back()).failed->IsCallersMistake());
  ASSERT_TRUE(KillGroup(jail.At(ids[0]).spawned->fds.kill).ok());
  ASSERT_TRUE(jail.Await([&] { return jail.At(ids[0]).exited.has_value(); }));
  EXPECT_EQ(ExitCode(jail.Ended(Shell("exit 3"))), 3);
}

// Last: nothing may be left of all those jails, not even of those whose groups
// were full when they were killed.
TEST(Removal, LeavesNoControlGroup) {
  std::string run;
  {
    TestSession jail;
    for (int i = 0; i < 5; ++i) {
      (void)jail.Ended(Shell("(setsid sleep 1000 &); exit 0"));
    }
    run = TestSession::RunDirectory(jail.Started(Shell("sleep 1000")));
    EXPECT_EQ(CountGroups(run), 6u);
  }
  EXPECT_TRUE(g_sandbox->WaitUntilEmpty(absl::Seconds(30)));
  EXPECT_FALSE(std::filesystem::exists(run));
}

}  // namespace
}  // namespace sandglass::sandbox

int main(int argc, char** argv) {
  return sandglass::sandbox::RunSessionTests(argc, argv);
}
