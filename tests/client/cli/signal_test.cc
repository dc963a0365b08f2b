// Ctrl-C, other signals and readers that go away, through the binary.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Waits until the daemon has seen the client's cancel.
bool SawCancel(const FakeDaemon& daemon) {
  for (int i = 0; i < 1000 && !daemon.cancelled; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return daemon.cancelled;
}

// A run that says "ready" and then goes on until it is cancelled.
void NeverEnd(FakeDaemon& daemon) {
  daemon.on_stream = [&](grpc::ServerContext& context,
                         const v1::RunCodeRequest&, StreamWriter& writer) {
    SendStarted(writer);
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 0, "ready");
    return daemon.WaitForCancel(context);
  };
}

class CliSignalTest : public ::testing::TestWithParam<int> {};

TEST_P(CliSignalTest, CancelsTheRunOnTheDaemon) {
  FakeDaemon daemon;
  NeverEnd(daemon);
  Subprocess client(daemon.Client({"run", "-l", "py", "-c", "x"}));
  ASSERT_TRUE(client.ReadUntil("ready"));
  client.Signal(GetParam());
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 128 + GetParam());
  EXPECT_THAT(result.err, StartsWith("sandglass: CANCELLED after "));
  EXPECT_THAT(result.err, HasSubstr("the daemon was told to stop the run "
                                    "(run r-1)\n"));
  EXPECT_TRUE(SawCancel(daemon));
}

INSTANTIATE_TEST_SUITE_P(Signals, CliSignalTest,
                         ::testing::Values(SIGINT, SIGTERM, SIGHUP));

// A cell's end tells where it was and what became of its kernel.
TEST_P(CliSignalTest, WaitsForTheEndOfACellThatItStopped) {
  FakeDaemon daemon;
  std::atomic<bool> stopped{false};
  daemon.on_cancel = [&](const v1::CancelRunRequest& request, auto&) {
    EXPECT_EQ(request.run_id(), "r-1");
    stopped = true;
    return grpc::Status::OK;
  };
  daemon.on_stream = [&](grpc::ServerContext& context,
                         const v1::RunCodeRequest&, StreamWriter& writer) {
    SendStarted(writer);
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 0, "ready");
    for (int i = 0; i < 1000 && !stopped && !context.IsCancelled(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 5, " last words");
    SendResult(writer, ResponseWith(v1::OUTCOME_CANCELLED));
    return grpc::Status::OK;
  };
  Subprocess client(daemon.Client({"session", "run", "s", "-c", "x"}));
  ASSERT_TRUE(client.ReadUntil("ready"));
  client.Signal(GetParam());
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 128 + GetParam());
  EXPECT_EQ(result.out, "ready last words");
  EXPECT_THAT(result.err, HasSubstr("sandglass: CANCELLED after "));
}

TEST(CliSignalTest, ACellWhoseDaemonDoesNotStopItIsLeft) {
  FakeDaemon daemon;
  NeverEnd(daemon);
  daemon.on_cancel = [&](const auto&, auto&) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such run");
  };
  Subprocess client(daemon.Client({"session", "run", "s", "-c", "x"}));
  ASSERT_TRUE(client.ReadUntil("ready"));
  client.Signal(SIGINT);
  EXPECT_EQ(client.Wait().exit_code, 130);
  EXPECT_TRUE(SawCancel(daemon));
}

TEST(CliSignalTest, CancelsAnUnaryCallToo) {
  FakeDaemon daemon;
  std::atomic<bool> started{false};
  std::atomic<bool> release{false};
  daemon.on_run = [&](const v1::RunCodeRequest&, v1::RunCodeResponse&) {
    started = true;
    for (int i = 0; i < 2000 && !release; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return grpc::Status::OK;
  };
  Subprocess client(daemon.Client({"run", "-l", "py", "-c", "x", "--json"}));
  for (int i = 0; i < 1000 && !started; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(started);
  client.Signal(SIGINT);
  const SubprocessResult result = client.Wait();
  release = true;
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("sandglass: CANCELLED after "));
}

TEST(CliSignalTest, ASecondSignalEndsAClientThatIsStuck) {
  FakeDaemon daemon;
  daemon.on_stream = [&](grpc::ServerContext& context,
                         const v1::RunCodeRequest&, StreamWriter& writer) {
    SendStarted(writer);
    // Far more than a pipe holds: the client's write blocks, for nobody reads.
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 0, std::string(1 << 20, 'x'));
    return daemon.WaitForCancel(context);
  };
  Subprocess client(daemon.Client({"run", "-l", "py", "-c", "x"}));
  ASSERT_TRUE(client.ReadUntil("x"));
  client.Signal(SIGINT);
  EXPECT_TRUE(SawCancel(daemon));
  client.Signal(SIGINT);
  EXPECT_EQ(client.Wait().exit_code, 130);
}

TEST(CliSignalTest, AReaderThatGoesAwayStopsTheRunQuietly) {
  FakeDaemon daemon;
  daemon.on_stream = [&](grpc::ServerContext& context,
                         const v1::RunCodeRequest&, StreamWriter& writer) {
    SendStarted(writer);
    uint64_t offset = 0;
    while (!context.IsCancelled()) {
      SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, offset, "line\n");
      offset += 5;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return daemon.WaitForCancel(context);
  };
  Subprocess client(daemon.Client({"run", "-l", "py", "-c", "x"}));
  ASSERT_TRUE(client.ReadUntil("line\n"));
  client.CloseOutput();
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 141);
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(SawCancel(daemon));
}

TEST(CliSignalTest, AFullDiskUnderStdoutIsReported) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data("output");
  daemon.Answer(response);
  SubprocessOptions options =
      daemon.Client({"-c", std::string(SANDGLASS_BINARY) +
                               " run -l py -c x > /dev/full; echo code $?"});
  options.program = "/bin/sh";
  const SubprocessResult result = RunProcess(options);
  EXPECT_EQ(result.out, "code 125\n");
  EXPECT_THAT(result.err, HasSubstr("No space left on device"));
}

TEST(CliSignalTest, ADaemonThatDiesIsReported) {
  FakeDaemon daemon;
  NeverEnd(daemon);
  Subprocess client(daemon.Client({"run", "-l", "py", "-c", "x"}));
  ASSERT_TRUE(client.ReadUntil("ready"));
  daemon.Stop();
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, StartsWith("sandglass: "));
}

}  // namespace
}  // namespace sandglass::client
