// The binary's `run` against a daemon in this process.
#include <sys/stat.h>

#include <string>
#include <vector>

#include "client/base/exit_codes.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using testing::WriteFile;

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(CliRunTest, StreamsBothOutputsAsTheyComeAndInOrder) {
  FakeDaemon daemon;
  std::atomic<bool> go{false};
  daemon.on_stream = [&](grpc::ServerContext& context,
                         const v1::RunCodeRequest&, StreamWriter& writer) {
    SendStarted(writer);
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 0, "one\n");
    // The rest comes only once the test has seen the first line.
    while (!go && !context.IsCancelled()) {
    }
    SendChunk(writer, v1::OUTPUT_STREAM_STDERR, 0, "warn\n");
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 4, "two\n");
    v1::StreamRunCodeResponse event;
    *event.mutable_result() = ResponseWith(v1::OUTCOME_OK);
    writer.Write(event);
    return grpc::Status::OK;
  };
  Subprocess client(daemon.Client({"run", "-l", "py", "-c", "x"}));
  EXPECT_TRUE(client.ReadUntil("one\n"));
  go = true;
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "one\ntwo\n");
  EXPECT_EQ(result.err, "warn\nsandglass: OK after 12.3 ms (run r-1)\n");
}

TEST(CliRunTest, PassesRawBytesThroughAPipe) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  const std::string raw("\x1b[31m\0\xff\x9b", 8);
  response.mutable_stdout()->set_data(raw);
  response.mutable_stderr()->set_data(raw);
  daemon.Answer(response);
  for (const char* mode : {"--quiet", "--no-stream"}) {
    const SubprocessResult result =
        daemon.RunClient({"run", "-l", "py", "-c", "x", "--quiet", mode});
    EXPECT_EQ(result.out, raw);
    EXPECT_EQ(result.err, raw);
  }
}

class CliOutcomeTest : public ::testing::TestWithParam<OutcomeExit> {};

TEST_P(CliOutcomeTest, SetsTheExitCodeAndTheVerdictLine) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(GetParam().outcome);
  int expected = GetParam().code;
  if (GetParam().code == kExitProgramCode) {
    response.set_exit_code(3);
    expected = 3;
  } else if (GetParam().code == kExitProgramSignal) {
    response.mutable_signal()->set_number(11);
    expected = 139;
  }
  daemon.Answer(response);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", "-l", "py", "-c", "x"},
        std::vector<std::string>{"run", "-l", "py", "-c", "x", "--no-stream"},
        std::vector<std::string>{"run", "-l", "py", "-c", "x", "--json"}}) {
    const SubprocessResult result = daemon.RunClient(arguments);
    EXPECT_EQ(result.exit_code, expected);
    if (arguments.back() == "--json") {
      EXPECT_EQ(result.err, "");
    } else {
      EXPECT_THAT(result.err,
                  StartsWith("sandglass: " + OutcomeName(GetParam().outcome)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CliOutcomeTest,
                         ::testing::ValuesIn(OutcomeExits().begin(),
                                             OutcomeExits().end()),
                         [](const ::testing::TestParamInfo<OutcomeExit>& test) {
                           return OutcomeName(test.param.outcome);
                         });

TEST(CliRunTest, QuietHidesOnlyTheGoodVerdict) {
  FakeDaemon daemon;
  EXPECT_EQ(daemon.RunClient({"run", "-l", "py", "-c", "x", "-q"}).err, "");
  daemon.Answer(ResponseWith(v1::OUTCOME_TIMEOUT));
  EXPECT_THAT(daemon.RunClient({"run", "-l", "py", "-c", "x", "-q"}).err,
              StartsWith("sandglass: TIMEOUT"));
}

TEST(CliRunTest, TellsOfOutputThatWasLeftOutOnlyWhereItWas) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data("output");
  v1::Hint& hint = *response.add_hints();
  hint.set_id("output-truncated");
  hint.set_message("The answer keeps only a part.");
  daemon.Answer(response);
  const std::vector<std::string> arguments = {"run", "-l", "py", "-c", "x"};
  EXPECT_THAT(daemon.RunClient(arguments).err,
              Not(HasSubstr("keeps only a part")));
  std::vector<std::string> late = arguments;
  late.push_back("--no-stream");
  EXPECT_THAT(daemon.RunClient(late).err, HasSubstr("keeps only a part"));
}

TEST(CliRunTest, ShowsTheCompilersOutputWhenItIsTheAnswer) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_COMPILE_ERROR);
  response.mutable_compile()->mutable_stderr()->set_data("main.c:1: error\n");
  daemon.Answer(response);
  const SubprocessResult result =
      daemon.RunClient({"run", "-l", "py", "-c", "x"});
  EXPECT_EQ(result.exit_code, 157);
  EXPECT_EQ(result.err,
            "main.c:1: error\nsandglass: COMPILE_ERROR (run r-1)\n");
}

TEST(CliRunTest, InfersTheLanguageFromTheDaemonsTable) {
  FakeDaemon daemon;
  WriteFile(daemon.directory().Path("a.py"), "print(1)");
  WriteFile(daemon.directory().Path("tool"), "#!/usr/bin/env bash\n");
  EXPECT_EQ(daemon.RunClient({"run", "a.py"}).exit_code, 0);
  EXPECT_EQ(daemon.last_request.Get().language(), "python");
  EXPECT_EQ(daemon.RunClient({"run", "tool"}).exit_code, 0);
  EXPECT_EQ(daemon.last_request.Get().language(), "bash");
  EXPECT_EQ(daemon.info_calls, 2);
  EXPECT_EQ(daemon.RunClient({"run", "a.py", "-l", "zz"}).exit_code, 0);
  EXPECT_EQ(daemon.last_request.Get().language(), "zz");
  EXPECT_EQ(daemon.info_calls, 2);
  const SubprocessResult unknown = daemon.RunClient({"run", "-c", "x"});
  EXPECT_EQ(unknown.exit_code, 125);
  EXPECT_THAT(unknown.err, HasSubstr("give --lang with one of: python, bash"));
  EXPECT_EQ(daemon.runs, 3);
}

TEST(CliRunTest, SendsAllThatTheCommandLineSays) {
  FakeDaemon daemon;
  WriteFile(daemon.directory().Path("in.csv"), "1,2");
  chmod(daemon.directory().Path("in.csv").c_str(), 0755);
  SubprocessOptions options = daemon.Client(
      {"run",        "-",      "-l",           "py", "--file",    "d/x=in.csv",
       "--env",      "A=b",    "--timeout",    "5s", "--memory",  "256M",
       "--cpu-time", "1500ms", "--pids",       "5",  "--profile", "p",
       "--label",    "k=v",    "--request-id", "i",  "--fetch",   "*.png",
       "--batch",    "--arg",  "one",          "--", "two"});
  options.stdin_text = "print(1)";
  EXPECT_EQ(RunProcess(options).exit_code, 0);
  v1::RunCodeRequest expected;
  expected.set_language("py");
  expected.set_code("print(1)");
  expected.add_args("one");
  expected.add_args("two");
  (*expected.mutable_env())["A"] = "b";
  v1::InputFile& file = *expected.add_files();
  file.set_path("d/x");
  file.set_content("1,2");
  file.set_executable(true);
  expected.add_fetch("*.png");
  expected.mutable_limits()->mutable_wall_time()->set_seconds(5);
  expected.mutable_limits()->mutable_cpu_time()->set_seconds(1);
  expected.mutable_limits()->mutable_cpu_time()->set_nanos(500000000);
  expected.mutable_limits()->set_memory_bytes(256 << 20);
  expected.mutable_limits()->set_max_processes(5);
  expected.set_profile("p");
  expected.set_request_id("i");
  expected.set_priority(v1::RUN_PRIORITY_BATCH);
  (*expected.mutable_labels())["k"] = "v";
  EXPECT_EQ(daemon.last_request.Get().DebugString(), expected.DebugString());
}

TEST(CliRunTest, PassesItsOwnStdinOnWhenAsked) {
  FakeDaemon daemon;
  SubprocessOptions options =
      daemon.Client({"run", "-l", "py", "-c", "x", "--stdin", "-"});
  options.stdin_text = std::string("a\0b\xff", 4);
  EXPECT_EQ(RunProcess(options).exit_code, 0);
  EXPECT_EQ(daemon.last_request.Get().stdin(), options.stdin_text);
  options = daemon.Client({"run", "-l", "py", "-c", "x"});
  options.stdin_text = "not asked for";
  EXPECT_EQ(RunProcess(options).exit_code, 0);
  EXPECT_EQ(daemon.last_request.Get().stdin(), "");
}

TEST(CliRunTest, JsonIsTheResponseAndNothingElse) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.set_exit_code(0);
  response.mutable_stdout()->set_data(std::string("\0\x1b\xff", 3));
  response.mutable_timings()->set_warm(true);
  daemon.Answer(response);
  const SubprocessResult result =
      daemon.RunClient({"run", "-l", "py", "-c", "x", "--json"});
  EXPECT_EQ(result.err, "");
  v1::RunCodeResponse parsed;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(result.out, &parsed).ok())
      << result.out;
  EXPECT_EQ(parsed.DebugString(), response.DebugString());
}

TEST(CliRunTest, RepeatsOverOneChannelAndSumsUp) {
  FakeDaemon daemon;
  std::atomic<int> count{0};
  daemon.on_run = [&](const v1::RunCodeRequest&, v1::RunCodeResponse& out) {
    out = ResponseWith(++count == 2 ? v1::OUTCOME_TIMEOUT : v1::OUTCOME_OK);
    out.mutable_stdout()->set_data("not shown");
    return grpc::Status::OK;
  };
  const SubprocessResult result = daemon.RunClient(
      {"run", "-l", "py", "-c", "x", "--repeat", "5", "--json-summary"});
  EXPECT_EQ(result.exit_code, 124);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(daemon.runs, 5);
  const auto json = nlohmann::json::parse(result.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << result.out;
  EXPECT_EQ(json["n"], 5);
  EXPECT_EQ(json["outcomes"]["OK"], 4);
  EXPECT_EQ(json["outcomes"]["TIMEOUT"], 1);
  EXPECT_LE(json["min_ms"], json["p50_ms"]);
  EXPECT_LE(json["p50_ms"], json["p99_ms"]);
  EXPECT_GT(json["runs_per_s"], 0);
  EXPECT_THAT(
      daemon.RunClient({"run", "-l", "py", "-c", "x", "--repeat", "2"}).out,
      StartsWith("2 runs: p50 "));
}

TEST(CliRunTest, PrintsRichErrorsAndExitsWith125) {
  FakeDaemon daemon;
  google::rpc::BadRequest bad;
  auto* violation = bad.add_field_violations();
  violation->set_field("run.language");
  violation->set_description("'zz' is unknown; there are: python, bash");
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(2);
  daemon.FailRuns(RichStatus(grpc::StatusCode::INVALID_ARGUMENT,
                             "the request is not valid", {&bad, &retry}));
  for (const char* mode : {"--quiet", "--no-stream", "--json"}) {
    const SubprocessResult result =
        daemon.RunClient({"run", "-l", "zz", "-c", "x", mode});
    EXPECT_EQ(result.exit_code, 125);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err,
              "sandglass: INVALID_ARGUMENT: the request is not valid\n"
              "  run.language: 'zz' is unknown; there are: python, bash\n"
              "  try again in 2.00 s\n");
  }
  EXPECT_EQ(daemon.RunClient({"run", "-l", "zz", "-c", "x", "--repeat", "3"})
                .exit_code,
            125);
}

// As the daemon has it right after its first start.
TEST(CliRunTest, WaitsForALanguageThatIsBeingPrepared) {
  google::rpc::ErrorInfo why;
  why.set_reason("LANGUAGE_PREPARING");
  grpc::Status preparing =
      RichStatus(grpc::StatusCode::UNAVAILABLE,
                 "Java is being prepared for its first use; try again in a few "
                 "seconds",
                 {&why});
  const std::string line =
      "sandglass: Java is being prepared for its first use; waiting for it, 5m "
      "at most\n";
  FakeDaemon daemon;
  std::atomic<int> tries{0};
  const auto refused = [&] { return tries++ % 3 < 2; };
  daemon.on_stream = [&](grpc::ServerContext&, const v1::RunCodeRequest&,
                         StreamWriter& writer) {
    if (refused()) return preparing;
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 0, "done\n");
    SendResult(writer, ResponseWith(v1::OUTCOME_OK));
    return grpc::Status::OK;
  };
  daemon.on_run = [&](const v1::RunCodeRequest&, v1::RunCodeResponse& answer) {
    if (refused()) return preparing;
    answer = ResponseWith(v1::OUTCOME_OK);
    return grpc::Status::OK;
  };
  daemon.sessions.on_create_session = [&](const auto&, auto& response) {
    if (refused()) return preparing;
    response.mutable_session()->set_session_id("s-1");
    return grpc::Status::OK;
  };
  const SubprocessResult run =
      daemon.RunClient({"run", "-l", "py", "-c", "x", "-q"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, "done\n");
  EXPECT_EQ(run.err, line);  // once
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{
           {"run", "-l", "py", "-c", "x", "--json"},
           {"run", "-l", "py", "-c", "x", "--repeat", "2"},
           {"session", "create", "java"}}) {
    tries = 0;
    const SubprocessResult result = daemon.RunClient(args);
    EXPECT_EQ(result.exit_code, 0) << args.back();
    EXPECT_EQ(result.err, line) << args.back();
  }
}

TEST(CliRunTest, AWaitForALanguageEndsWithCtrlC) {
  google::rpc::ErrorInfo why;
  why.set_reason("LANGUAGE_PREPARING");
  FakeDaemon daemon;
  daemon.FailRuns(RichStatus(grpc::StatusCode::UNAVAILABLE,
                             "Java is being prepared for its first use",
                             {&why}));
  Subprocess client(daemon.Client({"run", "-l", "py", "-c", "x"}));
  EXPECT_TRUE(client.ReadErrorUntil("waiting for it"));
  client.Signal(SIGINT);
  EXPECT_EQ(client.Wait().exit_code, 130);
}

TEST(CliRunTest, TakesAnAnswerOfSixteenMebibytes) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data(std::string(16 << 20, 'x'));
  daemon.Answer(response);
  const SubprocessResult result =
      daemon.RunClient({"run", "-l", "py", "-c", "x", "--no-stream"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out.size(), size_t{16} << 20);
}

TEST(CliRunTest, SaysSoWhenAStreamEndsWithoutAnAnswer) {
  FakeDaemon daemon;
  daemon.on_stream = [](grpc::ServerContext&, const v1::RunCodeRequest&,
                        StreamWriter& writer) {
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 0, "partial");
    return grpc::Status::OK;
  };
  const SubprocessResult result =
      daemon.RunClient({"run", "-l", "py", "-c", "x"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_EQ(result.out, "partial");
  EXPECT_THAT(result.err, HasSubstr("without an answer"));
}

}  // namespace
}  // namespace sandglass::client
