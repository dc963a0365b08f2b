// Processes on a terminal. Needs root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "sandbox/os/terminal.h"
#include "tests/jail/session_fixture.h"

namespace sandglass::sandbox {
namespace {

using ::testing::HasSubstr;

ProcessSpec OnTerminal(ProcessSpec spec) {
  spec.stdio = ProcessSpec::Stdio::kTerminal;
  spec.rows = 33;
  spec.columns = 101;
  spec.env.push_back("TERM=xterm");
  return spec;
}

// A terminal writes "\r\n" for "\n".
std::string Lines(const Seen& seen) {
  return absl::StrReplaceAll(seen.out, {{"\r\n", "\n"}});
}

void Type(const Seen& seen, const std::string& text) {
  ASSERT_EQ(::write(seen.spawned->fds.terminal.get(), text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
}

TEST(Terminal, IsOneOfTheProcesssOwn) {
  TestSession jail;
  const Seen& seen = jail.Ended(OnTerminal(
      Shell("tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo all;"
            "ls -l $(tty) | cut -c1-10; echo to tty > $(tty)")));
  EXPECT_EQ(Lines(seen), "/dev/pts/0\n33 101\nall\ncrw-------\nto tty\n");
  EXPECT_FALSE(seen.spawned->fds.stdout_fd.valid());
  const Seen& none = jail.Ended(Shell("tty"));
  EXPECT_EQ(none.out, "not a tty\n");
}

TEST(Terminal, HasAChannelBesideIt) {
  TestSession jail;
  ProcessSpec spec = OnTerminal(Shell("echo beside >&3; echo on"));
  spec.with_channel = true;
  const Seen& seen = jail.Ended(spec);
  EXPECT_EQ(Lines(seen), "on\n");
  EXPECT_EQ(seen.channel, "beside\n");
}

TEST(Terminal, TellsOfANewSize) {
  TestSession jail;
  Seen& seen =
      jail.Started(OnTerminal(Shell("trap 'stty size; exit 5' WINCH; echo up; "
                                    "while :; do sleep 0.05; done")));
  ASSERT_TRUE(jail.Await([&] { return Lines(seen) == "up\n"; }));
  ASSERT_TRUE(os::SetTerminalSize(seen.spawned->fds.terminal.get(), 10, 20));
  ASSERT_TRUE(jail.Await([&] { return seen.exited.has_value(); }));
  EXPECT_EQ(seen.exited->wait_status, 5 << 8);
  EXPECT_TRUE(jail.Await([&] { return Lines(seen) == "up\n10 20\n"; }));
}

TEST(Terminal, ControlCInterruptsTheForeground) {
  TestSession jail;
  // Not a shell, which may take note of the signal and go on.
  ProcessSpec spec = Shell("");
  spec.argv = {"cat"};
  Seen& seen = jail.Started(OnTerminal(spec));
  Type(seen, "up\n");
  ASSERT_TRUE(jail.Await([&] { return Lines(seen) == "up\nup\n"; }));
  Type(seen, "\x03");
  ASSERT_TRUE(jail.Await([&] { return seen.exited.has_value(); }));
  EXPECT_TRUE(WIFSIGNALED(seen.exited->wait_status));
  EXPECT_EQ(WTERMSIG(seen.exited->wait_status), SIGINT);
}

TEST(Terminal, AShellHasJobControl) {
  TestSession jail;
  ProcessSpec spec = OnTerminal(Shell(""));
  spec.argv = {"bash", "--norc", "--noediting", "-i"};
  spec.env.push_back("PS1=> ");
  Seen& seen = jail.Started(spec);
  ASSERT_TRUE(jail.Await([&] { return Lines(seen).ends_with("> "); }));
  EXPECT_THAT(seen.out, ::testing::Not(HasSubstr("no job control")));
  const auto run = [&](const std::string& keys, const std::string& until) {
    seen.out.clear();
    Type(seen, keys);
    EXPECT_TRUE(jail.Await([&] {
      return Lines(seen).find(until) != std::string::npos &&
             Lines(seen).ends_with("> ");
    })) << seen.out;
  };
  seen.out.clear();
  Type(seen, "sh -c 'echo ready; cat'\n");
  // What came earlier the shell would read.
  ASSERT_TRUE(jail.Await(
      [&] { return Lines(seen).find("\nready\n") != std::string::npos; }));
  Type(seen, "typed\n");
  // Once as an echo, once from cat.
  ASSERT_TRUE(jail.Await(
      [&] { return Lines(seen).find("typed\ntyped\n") != std::string::npos; }));
  run("\x1a", "Stopped");
  run("jobs\n", "cat");
  seen.out.clear();
  Type(seen, "fg\n");
  ASSERT_TRUE(jail.Await([&] { return Lines(seen).ends_with("cat'\n"); }));
  Type(seen, "again\n");
  ASSERT_TRUE(jail.Await(
      [&] { return Lines(seen).find("again\nagain\n") != std::string::npos; }));
  run("\x03", "^C");
  run("echo $?\n", "130");
  Type(seen, "\x04");
  ASSERT_TRUE(jail.Await([&] { return seen.exited.has_value(); }));
}

// What a terminal's holder outside could be harmed by.
constexpr char kForbidden[] = R"(
import ctypes, fcntl, os
def attempt(request, argument):
  try:
    fcntl.ioctl(0, request, argument)
    return 'done'
  except OSError as e:
    return e.strerror
print(attempt(0x5412, b'x'), attempt(0x541c, b'\3'), attempt(0x5423, b'\1\0\0\0'),
      sep=', ')
for path in '/dev/ptmx', '/dev/pts/ptmx':
  try:
    os.open(path, os.O_RDWR)
  except OSError as e:
    print(e.strerror)
)";

TEST(Terminal, TypesNothingByItself) {
  TestSession jail;
  const Seen& seen = jail.Ended(OnTerminal(Python(kForbidden)));
  EXPECT_EQ(Lines(seen),
            "Operation not permitted, Operation not permitted, "
            "Operation not permitted\nNo such file or directory\n"
            "Permission denied\n");
}

TEST(Terminal, HangsUpWhenTheDaemonLetsGo) {
  TestSession jail;
  Seen& seen = jail.Started(OnTerminal(Shell("echo up; sleep 1000")));
  ASSERT_TRUE(jail.Await([&] { return Lines(seen) == "up\n"; }));
  seen.spawned->fds.terminal.reset();
  ASSERT_TRUE(jail.Await([&] { return seen.exited.has_value(); }));
  EXPECT_TRUE(WIFSIGNALED(seen.exited->wait_status));
  EXPECT_EQ(WTERMSIG(seen.exited->wait_status), SIGHUP);
}

TEST(Terminal, ThereAreNoMoreThanAJailNeeds) {
  TestSession jail;
  std::vector<uint64_t> ids;
  ids.reserve(20);
  for (int i = 0; i < 20; ++i) {
    ids.push_back(jail.Spawn(OnTerminal(Shell("sleep 1000"))));
  }
  Seen& last = jail.At(ids.back());
  ASSERT_TRUE(jail.Await([&] { return last.failed || last.spawned; }));
  ASSERT_TRUE(last.failed.has_value());
  EXPECT_EQ(last.failed->error, ENOSPC);
  EXPECT_FALSE(last.failed->IsCallersMistake());
  // Those of others don't count.
  TestSession other;
  EXPECT_EQ(Lines(other.Ended(OnTerminal(Shell("tty")))), "/dev/pts/0\n");
}

}  // namespace
}  // namespace sandglass::sandbox
