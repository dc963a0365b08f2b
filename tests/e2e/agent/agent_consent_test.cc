// What a person is asked while a model works, and a daemon that starts again
// under a conversation.

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/agent/agent_fixture.h"
#include "tests/support/host/process.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using client::ScriptedRequest;
using client::Subprocess;
using client::SubprocessOptions;
using client::SubprocessResult;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kQuestion[] = "approve all such in this session)? ";

class AgentConsent : public AgentTest {
 protected:
  static void SetUpTestSuite() {
    policy_ = MakeTestDirectory();
    std::error_code error;
    fs::copy(SANDGLASS_SOURCE_DIR "/policy/data", policy_,
             fs::copy_options::recursive, error);
    EXPECT_FALSE(error) << error.message();
    std::ofstream(policy_ + "/profiles/asks.json")
        << R"({"description": "d", "approval": {"self_approval": true},
        "rules": [{"id": "ask-eval", "severity": "require_approval",
                   "languages": ["python"], "calls": ["eval"]}]})";
    StartSuite({.extra_arguments = {"--policy-dir", policy_, "--supervise"}});
  }
  static void TearDownTestSuite() {
    DaemonTest::TearDownTestSuite();
    std::error_code ignored;
    fs::remove_all(policy_, ignored);
  }

  // The agent on a terminal of its own.
  SubprocessOptions Asking(std::vector<std::string> args = {}) {
    args.insert(args.begin(), {"--profile", "asks"});
    args.emplace_back("go");
    SubprocessOptions options = Options(std::move(args));
    options.terminal = options.terminal_input = options.controlling = true;
    return options;
  }
  static ScriptedCall Eval(int n) {
    return RunPython(absl::StrCat("print(eval('", n, "*2'))"));
  }

  static std::string policy_;
};

std::string AgentConsent::policy_;

TEST_F(AgentConsent, WhatIsApprovedRunsAndTheModelSeesIt) {
  Script({ChatTurn("", {Eval(21)}), ChatTurn("done")});
  Subprocess agent(Asking());
  ASSERT_TRUE(agent.ReadUntil(kQuestion));
  agent.Type("what\n");
  ASSERT_TRUE(agent.ReadUntil("'what' is none of the answers. approve"));
  agent.Type("edit\n");
  ASSERT_TRUE(agent.ReadUntil("can't be edited here. approve"));
  agent.Type("approve\n");
  const SubprocessResult result = agent.Wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("print(eval('21*2'))"), HasSubstr("ask-eval")));
  EXPECT_THAT(LastOf(1), AllOf(HasSubstr("exit 0"), HasSubstr("42")));
}

TEST_F(AgentConsent, WhatIsRejectedDoesNotRunAndTheModelIsTold) {
  Script({ChatTurn("", {Eval(21)}), ChatTurn("done")});
  Subprocess agent(Asking());
  ASSERT_TRUE(agent.ReadUntil(kQuestion));
  agent.Type("reject\n");
  EXPECT_EQ(agent.Wait().exit_code, 0);
  EXPECT_THAT(LastOf(1), AllOf(HasSubstr("was not approved and did not run"),
                               Not(HasSubstr("exit 0"))));
}

TEST_F(AgentConsent, OneYesMayBeForTheWholeSession) {
  Script(
      {ChatTurn("", {Eval(21)}), ChatTurn("", {Eval(22)}), ChatTurn("done")});
  Subprocess agent(Asking());
  ASSERT_TRUE(agent.ReadUntil(kQuestion));
  agent.Type("session\n");
  EXPECT_EQ(agent.Wait().exit_code, 0);
  EXPECT_THAT(LastOf(1), HasSubstr("42"));
  EXPECT_THAT(LastOf(2), HasSubstr("44"));
}

TEST_F(AgentConsent, CtrlCAtTheQuestionIsNoConsent) {
  Script({ChatTurn("", {Eval(21)}), ChatTurn("done")});
  Subprocess agent(Asking());
  ASSERT_TRUE(agent.ReadUntil(kQuestion));
  agent.Type("\x03");
  agent.Wait();
  for (size_t i = 1; i < server_->requests().size(); ++i) {
    EXPECT_THAT(LastOf(i), Not(HasSubstr("exit 0")));
  }
}

TEST_F(AgentConsent, WhereNobodyIsAskedNothingRuns) {
  Script({ChatTurn("", {Eval(21)}), ChatTurn("done")});
  const SubprocessResult result =
      Agent({"--profile", "asks", "--no-input", "go"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(LastOf(1), AllOf(HasSubstr("was not approved and did not run"),
                               Not(HasSubstr("exit 0"))));
}

TEST_F(AgentConsent, TheConversationGoesOnWhenTheDaemonStartsAgain) {
  int turn = 0;
  Serve([&](const ScriptedRequest&) {
    ++turn;
    if (turn == 2) {
      std::vector<Process> servers;
      for (const Process& process : daemon().Processes()) {
        const std::string command = CommandOf(process.pid);
        if (process.pid != daemon().pid() &&
            command.substr(0, command.find(' ')).ends_with("/sandglassd")) {
          servers.push_back(process);
        }
      }
      EXPECT_FALSE(servers.empty());
      for (const Process& server : servers) Kill(server, SIGKILL);
      EXPECT_TRUE(WaitUntilDead(servers, absl::Seconds(10)));
    }
    // The supervisor needs a moment; meanwhile calls fail in words.
    const bool enough =
        turn > 40 ||
        (turn > 3 && LastOf(turn - 1).find("exit 0") != std::string::npos);
    if (turn > 2) absl::SleepFor(absl::Milliseconds(200));
    return enough
               ? ChatTurn("done")
               : ChatTurn("", {RunPython(absl::StrCat("print(", turn, ")"))});
  });
  const SubprocessResult result = Agent({"go"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(LastOf(server_->requests().size() - 1), HasSubstr("exit 0"));
  EXPECT_THAT(Asked(server_->requests().size() - 1)["messages"].dump(),
              HasSubstr("A new, empty one takes its place"));
  SetUp();  // its processes are others now
}

}  // namespace
}  // namespace sandglass::testing
