// The daemon's command line, as far as it goes without a sandbox.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Ended {
  int status;
  std::string output;  // standard error and output
};

Ended Daemon(const std::string& arguments, const std::string& wrapper = "") {
  FILE* pipe = ::popen(
      ("exec " + wrapper + SANDGLASSD " " + arguments + " 2>&1").c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  if (pipe == nullptr) return {};
  Ended ended;
  std::array<char, 4096> buffer;
  for (;;) {
    const size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe);
    if (got == 0) break;
    ended.output.append(buffer.data(), got);
  }
  ended.status = WEXITSTATUS(::pclose(pipe));
  return ended;
}

TEST(DaemonCommand, BadUsageIsOneLineAndAnExitStatusOfOurs) {
  for (const char* arguments : {"--bogus", "--config", "word"}) {
    const Ended ended = Daemon(arguments);
    EXPECT_EQ(ended.status, 78) << arguments;
    EXPECT_THAT(ended.output, StartsWith("sandglassd: "));
    EXPECT_THAT(ended.output, HasSubstr("(see sandglassd --help)"));
    EXPECT_EQ(ended.output.find('\n'), ended.output.size() - 1);
  }
  for (const auto& [arguments, nearest] :
       {std::pair{"--confg x",
                  "there is no option '--confg'; did you mean "
                  "'--config'?"},
        std::pair{"--listn=x", "did you mean '--listen'?"},
        std::pair{"version",
                  "unexpected 'version'; did you mean "
                  "'--version'?"}}) {
    EXPECT_THAT(Daemon(arguments).output, HasSubstr(nearest));
  }
  const Ended help = Daemon("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, HasSubstr("--sweep"));
  EXPECT_EQ(Daemon("--version").status, 0);
  EXPECT_EQ(Daemon("-V").output, Daemon("--version").output);
}

TEST(DaemonCommand, ACgroupParentThatIsNotThereIsRefused) {
  TempDir dir;
  const std::string config = dir.path() + "/sg.json";
  std::ofstream(config) << R"({"cgroup_parent": "/no/such"})";
  for (const char* mode : {"--check", ""}) {
    const Ended ended = Daemon("--config " + config + " --state-dir " +
                               dir.path() + "/state " + mode);
    EXPECT_EQ(ended.status, 78) << mode;
    EXPECT_THAT(ended.output, HasSubstr("no such directory as /"));
    EXPECT_THAT(ended.output, HasSubstr("/no/such; make it or leave it"));
  }
}

// As in a container that gives its root few rights.
TEST(DaemonCommand, MissingRightsAndTheirPageAreNamedInTheLastLine) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  TempDir dir;
  const Ended ended = Daemon("--check --state-dir " + dir.path() + "/state",
                             "setpriv --bounding-set=-chown,-setuid ");
  EXPECT_EQ(ended.status, 78);
  const std::string last =
      ended.output.substr(ended.output.rfind('\n', ended.output.size() - 2));
  EXPECT_THAT(last, HasSubstr("CAP_CHOWN, CAP_SETUID"));
  EXPECT_THAT(last, HasSubstr("See docs/container.md"));
}

}  // namespace
}  // namespace sandglass::server
