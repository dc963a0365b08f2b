// `sandglass session exec`, attach, ps, stop and fork through the binary.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;

template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class CliExecTest : public ::testing::Test {
 protected:
  CliExecTest() {
    daemon_.execs.on_signal_exec = [&](const v1::SignalExecRequest& request,
                                       v1::SignalExecResponse&) {
      EXPECT_EQ(request.exec_id(), "e-1");
      signalled_ = request.signal();
      return grpc::Status::OK;
    };
    daemon_.execs.on_stop_exec = [&](const v1::StopExecRequest& request,
                                     v1::StopExecResponse&) {
      stop_ = request;
      stopped_ = true;
      return grpc::Status::OK;
    };
  }

  // A command that says "ready" and goes on until `until` and then ends so.
  void GoOn(const std::function<bool()>& until, const v1::ExecEnd& end) {
    daemon_.execs.on_execute = [=, this](grpc::ServerContext& context,
                                         const v1::ExecuteRequest& first,
                                         ExecServerStream& stream) {
      first_ = first;
      SendExecStarted(stream, "e-1");
      SendExecOutput(stream, v1::OUTPUT_STREAM_STDOUT, 0, "ready");
      EXPECT_TRUE(Eventually([&] { return until() || context.IsCancelled(); }));
      cancelled_ = context.IsCancelled();
      SendExecEnd(stream, end);
      return grpc::Status::OK;
    };
  }

  FakeDaemon daemon_;
  Shared<v1::ExecuteRequest> first_;
  Shared<v1::StopExecRequest> stop_;
  std::atomic<int> signalled_{0};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> cancelled_{false};
};

TEST_F(CliExecTest, PassesOutputAndExitCodeOn) {
  daemon_.execs.on_execute = [&](grpc::ServerContext&,
                                 const v1::ExecuteRequest& first,
                                 ExecServerStream& stream) {
    first_ = first;
    SendExecStarted(stream, "e-1");
    SendExecOutput(stream, v1::OUTPUT_STREAM_STDOUT, 0, "out\x01");
    SendExecOutput(stream, v1::OUTPUT_STREAM_STDERR, 0, "err\n");
    SendExecEnd(stream, ExitedWith(3));
    return grpc::Status::OK;
  };
  const SubprocessResult result = daemon_.RunClient(
      {"session", "exec", "ses-1", "--cwd", "/tmp", "--env", "A=b", "--timeout",
       "5s", "-n", "--merged", "--exec-id", "mine", "--", "ls", "--", "-l"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "out\x01");
  EXPECT_EQ(result.err, "err\n");
  v1::ExecuteRequest expected;
  v1::ExecSpec& spec = *expected.mutable_start()->mutable_spec();
  spec.set_session_id("ses-1");
  spec.set_exec_id("mine");
  spec.add_argv("ls");
  spec.add_argv("--");
  spec.add_argv("-l");
  spec.set_directory("/tmp");
  (*spec.mutable_env())["A"] = "b";
  spec.set_merged_output(true);
  spec.mutable_limits()->mutable_wall_time()->set_seconds(5);
  EXPECT_EQ(first_.Get().DebugString(), expected.DebugString());
}

TEST_F(CliExecTest, PassesStandardInputOn) {
  Shared<std::string> input;
  daemon_.execs.on_execute = [&](grpc::ServerContext&,
                                 const v1::ExecuteRequest& first,
                                 ExecServerStream& stream) {
    EXPECT_TRUE(first.start().spec().open_stdin());
    EXPECT_EQ(first.start().spec().command(), "cat");
    SendExecStarted(stream, "e-1");
    v1::ExecuteRequest request;
    std::string got;
    while (stream.Read(&request) && !request.has_close_stdin()) {
      got += request.stdin();
    }
    input = got;
    SendExecEnd(stream, ExitedWith(0));
    return grpc::Status::OK;
  };
  SubprocessOptions options =
      daemon_.Client({"session", "exec", "s", "-c", "cat"});
  options.stdin_text = std::string(200'000, 'i');
  EXPECT_EQ(RunProcess(options).exit_code, 0);
  EXPECT_EQ(input.Get(), options.stdin_text);
}

TEST_F(CliExecTest, CtrlCInterruptsTheCommand) {
  GoOn([&] { return signalled_ != 0; }, KilledBy(SIGINT));
  Subprocess client(
      daemon_.Client({"session", "exec", "s", "--", "sleep", "9"}));
  ASSERT_TRUE(client.ReadUntil("ready"));
  client.Signal(SIGINT);
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(signalled_, SIGINT);
  EXPECT_FALSE(stopped_);
  EXPECT_FALSE(cancelled_);
}

TEST_F(CliExecTest, CtrlCTwiceKillsTheCommand) {
  GoOn([] { return false; }, ExitedWith(0));
  Subprocess client(
      daemon_.Client({"session", "exec", "s", "--", "sleep", "9"}));
  ASSERT_TRUE(client.ReadUntil("ready"));
  client.Signal(SIGINT);
  ASSERT_TRUE(Eventually([&] { return signalled_ != 0; }));
  client.Signal(SIGINT);
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(stop_.Get().signal(), SIGKILL);
  EXPECT_THAT(result.err, HasSubstr("CANCELLED"));
}

TEST_F(CliExecTest, SigtermStopsTheCommand) {
  GoOn([&] { return stopped_.load(); }, KilledBy(SIGTERM));
  Subprocess client(
      daemon_.Client({"session", "exec", "s", "--", "sleep", "9"}));
  ASSERT_TRUE(client.ReadUntil("ready"));
  client.Signal(SIGTERM);
  EXPECT_EQ(client.Wait().exit_code, 143);
  EXPECT_EQ(stop_.Get().signal(), SIGTERM);
  EXPECT_EQ(stop_.Get().exec_id(), "e-1");
}

TEST_F(CliExecTest, ASignalToTheClientIsItsExitCode) {
  v1::ExecEnd end;
  end.set_outcome(v1::OUTCOME_CANCELLED);
  GoOn([&] { return stopped_.load(); }, end);
  Subprocess client(
      daemon_.Client({"session", "exec", "s", "--", "sleep", "9"}));
  ASSERT_TRUE(client.ReadUntil("ready"));
  client.Signal(SIGHUP);
  EXPECT_EQ(client.Wait().exit_code, 129);
}

TEST_F(CliExecTest, AProgramThatCantBeRunHasTheExitCodeOfShells) {
  for (const auto& [reason, code] :
       std::vector<std::pair<std::string, int>>{{"PROGRAM_NOT_FOUND", 127},
                                                {"PROGRAM_NOT_EXECUTABLE", 126},
                                                {"DIRECTORY_NOT_FOUND", 125}}) {
    google::rpc::ErrorInfo info;
    info.set_reason(reason);
    grpc::Status status =
        RichStatus(grpc::StatusCode::NOT_FOUND, "no", {&info});
    daemon_.execs.on_execute = [=](auto&, const auto&, auto&) {
      return status;
    };
    daemon_.execs.on_start_exec = [=](const auto&, auto&) { return status; };
    EXPECT_EQ(daemon_.RunClient({"session", "exec", "s", "--", "x"}).exit_code,
              code);
    EXPECT_EQ(
        daemon_.RunClient({"session", "exec", "s", "-d", "--", "x"}).exit_code,
        code);
  }
}

TEST_F(CliExecTest, AReaderThatGoesAwayEndsTheCommand) {
  daemon_.execs.on_execute = [&](grpc::ServerContext& context,
                                 const v1::ExecuteRequest&,
                                 ExecServerStream& stream) {
    SendExecStarted(stream, "e-1");
    for (uint64_t at = 0; !context.IsCancelled() && at < 100'000'000;
         at += 10'000) {
      SendExecOutput(stream, v1::OUTPUT_STREAM_STDOUT, at,
                     std::string(10'000, 'y'));
    }
    cancelled_ = context.IsCancelled();
    return grpc::Status::CANCELLED;
  };
  Subprocess client(daemon_.Client({"session", "exec", "s", "--", "yes"}));
  ASSERT_TRUE(client.ReadUntil("y"));
  client.CloseOutput();
  EXPECT_EQ(client.Wait().exit_code, 141);
  EXPECT_TRUE(Eventually([&] { return cancelled_.load(); }));
}

TEST_F(CliExecTest, ALimitIsToldAndHasItsExitCode) {
  v1::ExecEnd end;
  end.set_outcome(v1::OUTCOME_TIMEOUT);
  end.mutable_evidence()->set_explanation("the wall time limit 5 s passed");
  GoOn([] { return true; }, end);
  const SubprocessResult result =
      daemon_.RunClient({"session", "exec", "s", "--", "sleep", "9"});
  EXPECT_EQ(result.exit_code, 124);
  EXPECT_THAT(result.err, HasSubstr("sandglass: TIMEOUT after"));
  EXPECT_THAT(result.err, HasSubstr("the wall time limit 5 s passed"));
}

TEST_F(CliExecTest, HintsAndWhatWasLeftAreToldAsOfARun) {
  v1::ExecEnd end = ExitedWith(1);
  end.mutable_evidence()->set_leftover_processes(2);
  end.add_hints()->set_message("Use the profile \x1bnet.");
  for (const std::vector<std::string>& call :
       {std::vector<std::string>{"session", "exec", "s", "-c", "pip install x"},
        {"session", "attach", "s", "e-1"}}) {
    GoOn([] { return true; }, end);
    const SubprocessResult result = daemon_.RunClient(call);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "ready");
    EXPECT_EQ(result.err,
              "sandglass: 2 processes were left running at the program's end "
              "and killed\nsandglass: hint: Use the profile \\x1bnet.\n");
  }
}

TEST_F(CliExecTest, InTheBackgroundOnlyTheIdIsPrinted) {
  Shared<v1::StartExecRequest> got;
  daemon_.execs.on_start_exec = [&](const v1::StartExecRequest& request,
                                    v1::StartExecResponse& response) {
    got = request;
    response.mutable_snapshot()->mutable_exec()->set_exec_id("e-7");
    return grpc::Status::OK;
  };
  const SubprocessResult result =
      daemon_.RunClient({"session", "exec", "s", "-d", "--", "server"});
  EXPECT_EQ(result.out, "e-7\n");
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(got.Get().spec().background());
  EXPECT_FALSE(got.Get().spec().open_stdin());
  EXPECT_TRUE(got.Get().has_wait());
  EXPECT_EQ(got.Get().wait().seconds(), 0);
}

TEST_F(CliExecTest, CtrlCLeavesWhatOneIsAttachedTo) {
  daemon_.execs.on_list_execs = [](const auto&, auto& response) {
    response.add_execs()->set_exec_id("e-1");
    return grpc::Status::OK;
  };
  daemon_.execs.on_execute = [&](grpc::ServerContext&,
                                 const v1::ExecuteRequest& first,
                                 ExecServerStream& stream) {
    EXPECT_EQ(first.attach().exec_id(), "e-1");
    SendExecStarted(stream, "e-1");
    SendExecOutput(stream, v1::OUTPUT_STREAM_STDOUT, 10, "later");
    v1::ExecuteRequest request;
    EXPECT_TRUE(stream.Read(&request));
    EXPECT_TRUE(request.has_detach());
    v1::ExecuteResponse event;
    event.mutable_yielded()->set_next_sequence(2);
    stream.Write(event);
    return grpc::Status::OK;
  };
  Subprocess client(daemon_.Client({"session", "attach", "s", "e-1"}));
  ASSERT_TRUE(client.ReadUntil("later"));
  client.Signal(SIGINT);
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, HasSubstr("10 bytes of stdout are left out here"));
  EXPECT_THAT(result.err, HasSubstr("sandglass session attach s e-1"));
  EXPECT_EQ(signalled_, 0);
  EXPECT_FALSE(stopped_);
}

TEST_F(CliExecTest, PsListsCommandsAndStopEndsThem) {
  daemon_.execs.on_list_execs = [](const auto& request, auto& response) {
    EXPECT_EQ(request.session_id(), "s");
    v1::ExecInfo& one = *response.add_execs();
    one.set_exec_id("e-2");
    one.set_pid(7);
    one.add_argv("sleep");
    one.add_argv("9\n");
    v1::ExecInfo& two = *response.add_execs();
    two.set_exec_id("e-1");
    two.add_argv("false");
    *two.mutable_end() = ExitedWith(1);
    return grpc::Status::OK;
  };
  const std::string text = daemon_.RunClient({"session", "ps", "s"}).out;
  EXPECT_THAT(text, HasSubstr("e-2      running   7    "));
  EXPECT_THAT(text, HasSubstr("  sleep 9\\x0a\n"));
  EXPECT_THAT(text, HasSubstr("e-1      exited 1  -    "));
  EXPECT_EQ(daemon_
                .RunClient({"session", "stop", "s", "e-2", "-s", "hup",
                            "--grace", "2s"})
                .out,
            "e-2\n");
  EXPECT_EQ(stop_.Get().signal(), SIGHUP);
  EXPECT_EQ(stop_.Get().grace().seconds(), 2);
  EXPECT_THAT(daemon_.RunClient({"session", "stop", "s", "e", "-s", "65"}).err,
              HasSubstr("no signal"));
}

TEST_F(CliExecTest, ForkPrintsTheIds) {
  Shared<v1::ForkSessionRequest> got;
  daemon_.sessions.on_fork_session = [&](const auto& request, auto& response) {
    got = request;
    *response.add_sessions() = SessionWith('1');
    *response.add_sessions() = SessionWith('2');
    return grpc::Status::OK;
  };
  const SubprocessResult result =
      daemon_.RunClient({"session", "fork", "s", "-n", "2", "--label", "a=b",
                         "--memory", "64M", "--max-age", "1h"});
  EXPECT_EQ(result.out, "ses-1111111111111111\nses-2222222222222222\n");
  const v1::ForkSessionRequest two = got.Get();
  ASSERT_EQ(two.children_size(), 2);
  for (const v1::ForkChild& child : two.children()) {
    EXPECT_EQ(child.labels().labels().at("a"), "b");
    EXPECT_EQ(child.limits().memory_bytes(), 64u << 20);
    EXPECT_EQ(child.max_age().seconds(), 3600);
  }
  daemon_.RunClient({"session", "fork", "s"});
  ASSERT_EQ(got.Get().children_size(), 1);
  const v1::ForkSessionRequest one = got.Get();
  EXPECT_FALSE(one.children(0).has_labels());
}

}  // namespace
}  // namespace sandglass::client
