// `sandglass top` on a terminal of the test's.
#include <signal.h>

#include <atomic>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kEnter[] = "\x1b[?1049h";
constexpr char kLeave[] = "\x1b[?7h\x1b[?25h\x1b[?1049l";

class CliTopTest : public ::testing::Test {
 protected:
  CliTopTest() {
    daemon_.operators.on_get_status = [this](const v1::GetStatusRequest&,
                                             v1::GetStatusResponse& status) {
      status = FakeStatus();
      // Half a run a second.
      const int looks = ++looks_;
      status.mutable_uptime()->set_seconds(7500 + 2 * looks);
      status.mutable_runs(0)->set_runs(1000 + static_cast<uint64_t>(looks));
      status.set_version(version_.Get());
      return grpc::Status::OK;
    };
    daemon_.on_list = [](const v1::ListRunsRequest& request,
                         v1::ListRunsResponse& response) {
      v1::RunSummary& run = *response.add_runs();
      run.set_run_id(request.states(0) == v1::RUN_STATE_FINISHED ? "run-done"
                                                                 : "run-\x1b[");
      run.set_state(static_cast<v1::RunState>(request.states(0)));
      run.set_outcome(v1::OUTCOME_TIMEOUT);
      return grpc::Status::OK;
    };
    daemon_.sessions.on_list_sessions = [](const v1::ListSessionsRequest&,
                                           v1::ListSessionsResponse& response) {
      response.add_sessions()->set_session_id("ses-1");
      return grpc::Status::OK;
    };
    version_ = "0.1.0";
  }

  SubprocessOptions Top() const {
    SubprocessOptions options = daemon_.Client({"top", "--interval", "100ms"});
    options.terminal = true;
    options.terminal_input = true;
    options.controlling = true;
    return options;
  }

  FakeDaemon daemon_;
  Shared<std::string> version_;
  std::atomic<int> looks_{0};
};

TEST_F(CliTopTest, ShowsAScreenAndLeavesItOnQ) {
  Subprocess client(Top());
  ASSERT_TRUE(client.ReadUntil("ses-1"));
  ASSERT_TRUE(client.ReadUntil("runs 0.5/s"));
  EXPECT_TRUE(client.TerminalIsRaw());
  client.Type("q");
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_FALSE(client.TerminalIsRaw());
  EXPECT_THAT(result.out, StartsWith(kEnter));
  EXPECT_THAT(result.out, EndsWith(kLeave));
  EXPECT_THAT(result.out, HasSubstr("run-\\x1b["));
  EXPECT_THAT(result.out, HasSubstr("run-done"));
}

TEST_F(CliTopTest, CtrlCAndTheEndOfInputLeaveItToo) {
  for (const auto& [key, code] :
       {std::pair("\x03", 130), std::pair("\x04", 0)}) {
    Subprocess client(Top());
    ASSERT_TRUE(client.ReadUntil("ses-1"));
    client.Type(key);
    const SubprocessResult result = client.Wait();
    EXPECT_EQ(result.exit_code, code);
    EXPECT_FALSE(client.TerminalIsRaw());
    EXPECT_THAT(result.out, EndsWith(kLeave));
  }
}

TEST_F(CliTopTest, ASignalLeavesTheTerminalAsItWas) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    Subprocess client(Top());
    ASSERT_TRUE(client.ReadUntil("ses-1"));
    client.Signal(number);
    const SubprocessResult result = client.Wait();
    EXPECT_EQ(result.exit_code, 128 + number);
    EXPECT_FALSE(client.TerminalIsRaw());
    EXPECT_THAT(result.out, EndsWith(kLeave));
  }
}

TEST_F(CliTopTest, FollowsTheTerminalsSize) {
  SubprocessOptions options = Top();
  // What comes next is then only because of the size.
  options.args = {"top", "--interval", "1h"};
  Subprocess client(options);
  ASSERT_TRUE(client.ReadUntil("daemon 64 MiB"));
  client.SetTerminalSize(12, 20);
  // Cut where the line would be longer.
  ASSERT_TRUE(client.ReadUntil("sandglassd 0.1.0 re…"));
  client.Type("q");
  EXPECT_EQ(client.Wait().exit_code, 0);
}

TEST_F(CliTopTest, GoesOnTryingWhileTheDaemonIsAway) {
  Subprocess client(Top());
  ASSERT_TRUE(client.ReadUntil("ses-1"));
  daemon_.Stop();
  ASSERT_TRUE(client.ReadUntil("no answer since "));
  version_ = "0.2.0";
  daemon_.Start();
  ASSERT_TRUE(client.ReadUntil("sandglassd 0.2.0"));
  client.Type("q");
  EXPECT_EQ(client.Wait().exit_code, 0);
  EXPECT_FALSE(client.TerminalIsRaw());
}

TEST_F(CliTopTest, WithoutATerminalItPrintsOnce) {
  const SubprocessResult result =
      daemon_.RunClient({"top", "--interval", "100ms"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("sandglassd 0.1.0 ready, up "));
  EXPECT_THAT(result.out, HasSubstr("runs 0.5/s"));
  EXPECT_THAT(result.out, HasSubstr("run-\\x1b["));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  // Rates are of two looks.
  EXPECT_GE(looks_.load(), 2);
}

TEST_F(CliTopTest, WithOnceItPrintsPlainTextOnATerminalToo) {
  SubprocessOptions options = Top();
  options.args.push_back("--once");
  const SubprocessResult result = RunProcess(options);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("run-done"));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
}

TEST_F(CliTopTest, AsJsonItIsOneLookAtAll) {
  const SubprocessResult result = daemon_.RunClient({"top", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(looks_.load(), 1);
  const auto json = nlohmann::json::parse(result.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << result.out;
  EXPECT_EQ(json["status"]["version"], "0.1.0");
  EXPECT_THAT(json["ended"].dump(), HasSubstr("run-done"));
  for (const char* name : {"active", "sessions"}) {
    EXPECT_TRUE(json[name].is_object()) << name;
  }
}

TEST_F(CliTopTest, WithoutADaemonToBeginWithItSaysSo) {
  daemon_.Stop();
  const SubprocessResult result = RunProcess(Top());
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.out, StartsWith("sandglass: no daemon at"));
  EXPECT_THAT(result.out, Not(HasSubstr(kEnter)));
}

}  // namespace
}  // namespace sandglass::client
