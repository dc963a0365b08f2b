// The binary with a terminal as its standard output and error.
#include <string>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CliTerminalTest, NoEscapeOfTheProgramReachesIt) {
  FakeDaemon daemon;
  daemon.on_stream = [](grpc::ServerContext&, const v1::RunCodeRequest&,
                        StreamWriter& writer) {
    SendStarted(writer);
    // A C1 control and a bidirectional override, each cut between two chunks.
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 0, "a\x1b[31mb\xc2");
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 8,
              "\x9b"
              "1m\xe2\x80");
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 13,
              "\xae"
              "c\rd");
    SendChunk(writer, v1::OUTPUT_STREAM_STDERR, 0, "\x1b]0;x\x07");
    v1::StreamRunCodeResponse event;
    *event.mutable_result() = ResponseWith(v1::OUTCOME_TIMEOUT);
    event.mutable_result()->mutable_evidence()->set_explanation("\x1b[5m");
    writer.Write(event);
    return grpc::Status::OK;
  };
  SubprocessOptions options = daemon.Client({"run", "-l", "py", "-c", "x"});
  options.terminal = true;
  options.env.push_back("NO_COLOR=1");
  const SubprocessResult result = RunProcess(options);
  EXPECT_EQ(result.exit_code, 124);
  EXPECT_EQ(result.out,
            "a\\x1b[31mb\\u009b1m\\u202ec\\x0dd\\x1b]0;x\\x07\n"
            "sandglass: TIMEOUT after 12.3 ms: \\x1b[5m (run r-1)\n");
}

TEST(CliTerminalTest, OnlyOurOwnColoursAreThereAndTheyCanBeTurnedOff) {
  FakeDaemon daemon;
  SubprocessOptions options = daemon.Client({"run", "-l", "py", "-c", "x"});
  options.terminal = true;
  EXPECT_EQ(RunProcess(options).out,
            "sandglass: \x1b[32mOK\x1b[0m after 12.3 ms (run r-1)\n");
  options.env.push_back("NO_COLOR=1");
  EXPECT_THAT(RunProcess(options).out, Not(HasSubstr("\x1b")));
}

TEST(CliTerminalTest, ALongWaitForTheStartIsSaidAndTakenAway) {
  FakeDaemon daemon;
  absl::Notification seen;
  daemon.on_stream = [&](grpc::ServerContext&, const v1::RunCodeRequest&,
                         StreamWriter& writer) {
    seen.WaitForNotificationWithTimeout(absl::Seconds(20));
    SendStarted(writer);
    SendResult(writer, ResponseWith(v1::OUTCOME_OK));
    return grpc::Status::OK;
  };
  SubprocessOptions options = daemon.Client({"run", "-l", "py", "-c", "x"});
  options.terminal = true;
  options.env.push_back("NO_COLOR=1");
  Subprocess client(options);
  EXPECT_TRUE(client.ReadUntil("\rwaiting for the run to start (1 s)\x1b[K"));
  seen.Notify();
  EXPECT_THAT(client.Wait().out,
              EndsWith("\r\x1b[Ksandglass: OK after 12.3 ms (run r-1)\n"));
}

TEST(CliTerminalTest, TheVerdictStartsOnALineOfItsOwn) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data("no newline");
  daemon.Answer(response);
  SubprocessOptions options = daemon.Client({"run", "-l", "py", "-c", "x"});
  options.terminal = true;
  options.env.push_back("NO_COLOR=1");
  EXPECT_EQ(RunProcess(options).out,
            "no newline\nsandglass: OK after 12.3 ms (run r-1)\n");
}

}  // namespace
}  // namespace sandglass::client
