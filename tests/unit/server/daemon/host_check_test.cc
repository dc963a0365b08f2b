// What an operator gets to read on a host that can't hold jails: one line, with
// the page that helps. Of a real sandglassd, in namespaces that lack something.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Host {
  const char* name;
  // A user namespace that has nearly all ids, as of a container's.
  bool own_users = false;
  const char* masked = nullptr;  // before that
  const char* script = "true";   // takes something away
  std::vector<const char*> words;
};

const Host kHosts[] = {
    {.name = "NoControlGroups",
     .script = "umount -l /sys/fs/cgroup",
     .words = {"memory-limit, pids-limit, cpu-limit, cgroup-kill",
               "no cgroup2 file system is mounted"}},
    {.name = "ControlGroupsThatAreNotOurs",
     .script = "awk \"\\$5 ~ \\\"^/sys/fs/cgroup\\\" {print \\$5}\" "
               "/proc/self/mountinfo | while read m; do mount -o "
               "remount,bind,ro $m; done",
     .words = {"cgroup-kill (can't make a group in /sys/fs/cgroup",
               ": Read-only file system"}},
    {.name = "NoUserNamespaces",
     .own_users = true,
     .script = "echo 0 >/proc/sys/user/max_user_namespaces",
     .words = {"user-namespace (trial failed: No space left on device",
               "max_user_namespaces"}},
    {.name = "MaskedProc",
     .own_users = true,
     .masked = "/proc/kmsg",
     .words = {"fresh-proc (trial failed: Operation not permitted)",
               "/proc is masked", "docs/container.md"}},
};

// In the child; `maps` is where the parent says that it has written the maps.
[[noreturn]] void Become(const Host& host, const std::string& script, int maps,
                         int output) {
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    ::_exit(101);
  }
  // What a namespace inherits nobody there can take away.
  if (host.masked != nullptr &&
      ::mount("/dev/null", host.masked, nullptr, MS_BIND, nullptr) != 0) {
    ::_exit(102);
  }
  if (host.own_users && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    ::_exit(103);
  }
  char byte = 'n';
  if (::write(maps, &byte, 1) != 1 || ::read(maps, &byte, 1) != 1) {
    ::_exit(104);
  }
  if (host.own_users && (::setgid(0) != 0 || ::setuid(0) != 0)) ::_exit(105);
  const int null = ::open("/dev/null", O_WRONLY);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
  ::_exit(106);
}

struct Said {
  int status;
  std::string text;
};

Said On(const Host& host) {
  const TempDir dir;
  const std::string script = absl::StrCat(
      host.script, " && exec ", SANDGLASSD, " --check --state-dir ",
      dir.Path("s"), " --cache-dir ", dir.Path("c"));
  int maps[2];
  int output[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, maps) != 0 ||
      ::pipe2(output, O_CLOEXEC) != 0) {
    return {-1, "no pipes"};
  }
  // Not fork: ThreadSanitizer's begins a thread in the child, and what has two
  // can't go to a user namespace (unshare(2)).
  const pid_t child = ::_Fork();
  if (child == 0) Become(host, script, maps[1], output[1]);
  ::close(maps[1]);
  ::close(output[1]);
  char byte = 0;
  if (::read(maps[0], &byte, 1) == 1 && host.own_users) {
    for (const char* map : {"uid_map", "gid_map"}) {
      std::ofstream(absl::StrCat("/proc/", child, "/", map))
          << "0 0 2000000000\n";
    }
  }
  EXPECT_EQ(::write(maps[0], "y", 1), 1);
  Said said = {0, ""};
  std::array<char, 4096> buffer;
  ssize_t got = 0;
  while ((got = ::read(output[0], buffer.data(), buffer.size())) > 0) {
    said.text.append(buffer.data(), static_cast<size_t>(got));
  }
  ::waitpid(child, &said.status, 0);
  ::close(maps[0]);
  ::close(output[0]);
  return {WIFEXITED(said.status) ? WEXITSTATUS(said.status) : -1, said.text};
}

class HostTest : public ::testing::TestWithParam<Host> {};

TEST_P(HostTest, IsOneLineWithAPage) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const Said said = On(GetParam());
  EXPECT_EQ(said.status, 78) << said.text;
  EXPECT_THAT(said.text, HasSubstr("this host lacks required isolation: "));
  for (const char* word : GetParam().words) {
    EXPECT_THAT(said.text, HasSubstr(word));
  }
  // Which page depends on whether this is a container itself.
  EXPECT_THAT(said.text, HasSubstr(". See docs/"));
  const std::vector<std::string> lines =
      absl::StrSplit(said.text, '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, SizeIs(1));
}

INSTANTIATE_TEST_SUITE_P(That, HostTest, ::testing::ValuesIn(kHosts),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace sandglass::server
