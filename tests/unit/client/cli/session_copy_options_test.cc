// `sandglass session` on the command line: files and commands.
#include <string>
#include <utility>
#include <vector>

#include "client/base/exit_codes.h"
#include "client/cli/command_line.h"
#include "client/run/exec_text.h"
#include "client/session/remote_paths.h"
#include "client/session/session_exec_command.h"
#include "client/terminal/raw_terminal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <typename Options>
Options Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "session");
  const ParsedCommandLine parsed = ParseCommandLine(arguments);
  EXPECT_TRUE(parsed.command.has_value()) << parsed.text;
  if (!parsed.command) return {};
  const auto& session = std::get<SessionOptions>(parsed.command->command);
  EXPECT_TRUE(std::holds_alternative<Options>(session));
  return std::get<Options>(session);
}

std::string ErrorOf(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "session");
  const ParsedCommandLine parsed = ParseCommandLine(arguments);
  EXPECT_FALSE(parsed.command.has_value());
  EXPECT_EQ(parsed.exit_code, kExitError);
  return parsed.text;
}

TEST(SessionCopyOptionsTest, TakesPathsAsCpDoes) {
  auto put = Parse<SessionPutOptions>({"put", "s", "a", "./[b]", "dir/"});
  EXPECT_EQ(put.session_id, "s");
  EXPECT_THAT(put.local, ElementsAre("a", "./[b]"));
  EXPECT_EQ(put.remote, "dir/");
  put = Parse<SessionPutOptions>({"put", "s", "[b]", "[c,d]", "{e}", "[]"});
  EXPECT_THAT(put.local, ElementsAre("[b]", "[c,d]", "{e}"));
  EXPECT_EQ(put.remote, "[]");
  put = Parse<SessionPutOptions>({"put", "s", "--", "-a", "--b"});
  EXPECT_THAT(put.local, ElementsAre("-a"));
  EXPECT_EQ(put.remote, "--b");
  EXPECT_EQ(Parse<SessionPutOptions>({"put", "s", "a"}).remote, ".");
  auto get = Parse<SessionGetOptions>({"get", "s", "a", "-"});
  EXPECT_EQ(get.remote, "a");
  EXPECT_EQ(get.local, "-");
  EXPECT_EQ(Parse<SessionGetOptions>({"get", "s", "a"}).local, ".");
  EXPECT_EQ(Parse<SessionGetOptions>({"get", "--", "s", "-a"}).remote, "-a");
  EXPECT_THAT(Parse<SessionCatOptions>({"cat", "s", "[a]", "[b,c]"}).remote,
              ElementsAre("[a]", "[b,c]"));
  EXPECT_THAT(ErrorOf({"put", "s", "-"}), HasSubstr("put ID - REMOTE"));
  EXPECT_THAT(ErrorOf({"put", "s"}), HasSubstr("LOCAL"));
  EXPECT_THAT(ErrorOf({"get", "s", ""}), HasSubstr("REMOTE is empty"));
}

TEST(SessionCopyOptionsTest, TakesACommandBehindTheDashes) {
  const auto exec = Parse<SessionExecOptions>(
      {"exec", "s", "-itd", "--", "sh", "-c", "--", "x"});
  EXPECT_THAT(exec.argv, ElementsAre("sh", "-c", "--", "x"));
  EXPECT_TRUE(exec.interactive);
  EXPECT_TRUE(exec.terminal);
  EXPECT_TRUE(exec.background);
  EXPECT_EQ(Parse<SessionExecOptions>({"exec", "s", "-c", "ls"}).command, "ls");
  EXPECT_THAT(ErrorOf({"exec", "s"}), HasSubstr("session exec ID -- CMD"));
  EXPECT_THAT(ErrorOf({"exec", "s", "ls", "-l"}),
              HasSubstr("sandglass session exec ID -- ls"));
  EXPECT_THAT(ErrorOf({"exec", "s", "-c", "ls", "--", "ls"}),
              HasSubstr("exclude each other"));
  EXPECT_THAT(ErrorOf({"exec", "s", "-i", "-n", "--", "ls"}),
              HasSubstr("exclude each other"));
  EXPECT_THAT(ErrorOf({"list", "--", "ls"}), HasSubstr("session exec"));
  EXPECT_TRUE(Parse<SessionExecOptions>({"shell", "s"}).shell);
  EXPECT_EQ(Parse<SessionExecOptions>({"shell", "s", "python3"}).command,
            "python3");
}

TEST(SessionCopyOptionsTest, RefusesMoreForksThanTheDaemonMakes) {
  EXPECT_EQ(Parse<SessionForkOptions>({"fork", "s"}).count, 1u);
  EXPECT_EQ(Parse<SessionForkOptions>({"fork", "s", "-n", "64"}).count, 64u);
  EXPECT_THAT(ErrorOf({"fork", "s", "-n", "65"}), HasSubstr("at most 64"));
  EXPECT_THAT(ErrorOf({"fork", "s", "-n", "0"}), HasSubstr("no count"));
}

TEST(RemotePathsTest, LastNameIsANameOrEmpty) {
  EXPECT_EQ(LastName("a/b.txt"), "b.txt");
  EXPECT_EQ(LastName("a/b//"), "b");
  EXPECT_EQ(LastName("b"), "b");
  for (const char* none : {"", "/", ".", "..", "a/.", "a/..", "a/../"}) {
    EXPECT_EQ(LastName(none), "") << none;
  }
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath(".", "b"), "b");
}

TEST(ExecTextTest, ReadsSignals) {
  EXPECT_EQ(ParseSignal("INT").value(), 2);
  EXPECT_EQ(ParseSignal("sigterm").value(), 15);
  EXPECT_EQ(ParseSignal("64").value(), 64);
  for (const char* wrong : {"", "0", "65", "SIG", "NONE", "-1"}) {
    EXPECT_FALSE(ParseSignal(wrong).ok()) << wrong;
  }
}

TEST(DetachKeysTest, ThreeKeysWithinASecondDetach) {
  const absl::Time start = absl::FromUnixSeconds(1);
  DetachKeys keys;
  EXPECT_FALSE(keys.Feed("\x1d\x1d", start));
  EXPECT_TRUE(keys.Feed("\x1d", start + absl::Milliseconds(900)));
  DetachKeys slow;
  EXPECT_FALSE(slow.Feed("\x1d\x1d", start));
  EXPECT_FALSE(slow.Feed("\x1d", start + absl::Seconds(2)));
  EXPECT_TRUE(slow.Feed("\x1d\x1d", start + absl::Milliseconds(2100)));
  DetachKeys other;
  EXPECT_FALSE(other.Feed("\x1d\x1dx\x1d", start));
}

TEST(BuildExecSpecTest, OnlyPlainTerminalNamesGoThrough) {
  SessionExecOptions options;
  options.terminal = true;
  options.argv = {"top"};
  const auto term = [&](const std::string& name) {
    return BuildExecSpec(options, name)->env().at("TERM");
  };
  EXPECT_EQ(term("screen.xterm-256color"), "screen.xterm-256color");
  EXPECT_EQ(term(""), "xterm");
  EXPECT_EQ(term("a b"), "xterm");
  options.env = {{"TERM", "vt100"}};
  EXPECT_EQ(term("xterm"), "vt100");
  options.terminal = false;
  options.env.clear();
  EXPECT_THAT(BuildExecSpec(options, "xterm")->env(), IsEmpty());
}

}  // namespace
}  // namespace sandglass::client
