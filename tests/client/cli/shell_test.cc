// `sandglass session shell` on a terminal of the test's.
#include <signal.h>

#include <atomic>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;

// Echoes what is typed as "<x>"; "exit" ends it with 7, sizes are told.
class CliShellTest : public ::testing::Test {
 protected:
  CliShellTest() {
    daemon_.execs.on_execute = [&](grpc::ServerContext& context,
                                   const v1::ExecuteRequest& first,
                                   ExecServerStream& stream) {
      first_ = first;
      SendExecStarted(stream, "e-1");
      Say(stream, "\x1b[1mready");
      v1::ExecuteRequest request;
      while (stream.Read(&request)) {
        if (request.stdin() == "exit") {
          SendExecEnd(stream, ExitedWith(7));
          return grpc::Status::OK;
        }
        if (request.has_detach()) {
          v1::ExecuteResponse event;
          event.mutable_yielded();
          stream.Write(event);
          return grpc::Status::OK;
        }
        if (request.has_resize()) {
          Say(stream, std::to_string(request.resize().rows()) + "x" +
                          std::to_string(request.resize().columns()));
        } else {
          Say(stream, "<" + request.stdin() + ">");
        }
      }
      cancelled_ = context.IsCancelled();
      return grpc::Status::CANCELLED;
    };
  }

  void Say(ExecServerStream& stream, const std::string& text) {
    SendExecOutput(stream, v1::OUTPUT_STREAM_STDOUT, said_, text);
    said_ += text.size();
  }

  SubprocessOptions Shell() const {
    SubprocessOptions options = daemon_.Client({"session", "shell", "ses-1"});
    options.terminal = true;
    options.terminal_input = true;
    return options;
  }

  FakeDaemon daemon_;
  Shared<v1::ExecuteRequest> first_;
  std::atomic<bool> cancelled_{false};
  uint64_t said_ = 0;
};

TEST_F(CliShellTest, KeysGoThereAndBytesComeBackAsTheyAre) {
  Subprocess client(Shell());
  ASSERT_TRUE(client.ReadUntil("\x1b[1mready"));
  EXPECT_TRUE(client.TerminalIsRaw());
  const v1::ExecSpec spec = first_.Get().start().spec();
  EXPECT_EQ(spec.terminal().rows(), 30u);
  EXPECT_EQ(spec.terminal().columns(), 90u);
  EXPECT_EQ(spec.env().at("TERM"), "xterm");
  EXPECT_TRUE(spec.open_stdin());
  EXPECT_THAT(spec.command(), HasSubstr("bash"));
  client.Type("\x03");
  EXPECT_TRUE(client.ReadUntil("<\x03>"));
  client.Type("ls\r");
  EXPECT_TRUE(client.ReadUntil("<ls\r>"));
  client.SetTerminalSize(50, 120);
  client.Signal(SIGWINCH);
  EXPECT_TRUE(client.ReadUntil("50x120"));
  client.Type("exit");
  EXPECT_EQ(client.Wait().exit_code, 7);
  EXPECT_FALSE(client.TerminalIsRaw());
}

TEST_F(CliShellTest, ThreeTimesTheDetachKeyLeavesTheShellRunning) {
  Subprocess client(Shell());
  ASSERT_TRUE(client.ReadUntil("ready"));
  client.Type("\x1d\x1d\x1d");
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("sandglass session attach ses-1 e-1"));
  EXPECT_FALSE(client.TerminalIsRaw());
  EXPECT_FALSE(cancelled_);
}

class CliShellSignalTest : public CliShellTest,
                           public ::testing::WithParamInterface<int> {};

TEST_P(CliShellSignalTest, ASignalEndsTheShellAndTheTerminalIsAsBefore) {
  Subprocess client(Shell());
  ASSERT_TRUE(client.ReadUntil("ready"));
  ASSERT_TRUE(client.TerminalIsRaw());
  client.Signal(GetParam());
  EXPECT_EQ(client.Wait().exit_code, 128 + GetParam());
  EXPECT_FALSE(client.TerminalIsRaw());
}

INSTANTIATE_TEST_SUITE_P(Signals, CliShellSignalTest,
                         ::testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT));

TEST_F(CliShellTest, TheTerminalIsAsBeforeWhenTheDaemonDies) {
  Subprocess client(Shell());
  ASSERT_TRUE(client.ReadUntil("ready"));
  daemon_.Stop();
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.out, HasSubstr("sandglass: "));
  EXPECT_FALSE(client.TerminalIsRaw());
}

TEST_F(CliShellTest, AShellNeedsATerminal) {
  const SubprocessResult result =
      daemon_.RunClient({"session", "shell", "ses-1"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("session exec ID -- CMD"));
}

}  // namespace
}  // namespace sandglass::client
