// Runs in sessions and runs with results: the binary against a daemon in this
// process.
#include <signal.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::ReadFile;
using testing::WriteFile;

const std::vector<std::string>& kCell =
    *new std::vector<std::string>{"session", "run", "ses-1", "-c", "x"};

std::vector<std::string> CellWith(std::vector<std::string> more) {
  std::vector<std::string> arguments = kCell;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// A cell that prints, shows a figure, has a value and warns.
v1::RunCodeResponse RichResponse() {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data("before\nafter\n");
  response.mutable_stderr()->set_data("warning\n");
  *response.add_results() =
      RichOf(7, 0, {{"text/plain", "<Figure>"}, {"image/png", "\x89PNG"}});
  *response.add_results() = RichOf(13, 8, {{"text/plain", "42"}});
  response.mutable_session()->set_session_id("ses-1");
  return response;
}

void StreamCell(FakeDaemon& daemon, const v1::RunCodeResponse& response) {
  daemon.on_stream = [response](grpc::ServerContext&, const v1::RunCodeRequest&,
                                StreamWriter& writer) {
    SendStarted(writer);
    // The results come by another way and may be early.
    SendRich(writer, response.results(0));
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 0, "before\naf");
    SendRich(writer, response.results(1));
    SendChunk(writer, v1::OUTPUT_STREAM_STDERR, 0, "warning\n");
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 9, "ter\n");
    SendResult(writer, response);
    return grpc::Status::OK;
  };
}

constexpr char kShown[] =
    "before\n<Figure>\n[image/png] sandglass-results/run-1-1.png\nafter\n42\n";

TEST(CliRichTest, StreamsOutputAndResultsInTheirOrder) {
  FakeDaemon daemon;
  StreamCell(daemon, RichResponse());
  const SubprocessResult result = daemon.RunClient(kCell);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, kShown);
  EXPECT_EQ(result.err, "warning\nsandglass: OK after 12.3 ms (run r-1)\n");
  EXPECT_EQ(ReadFile(daemon.directory().Path("sandglass-results/run-1-1.png")),
            "\x89PNG");
}

TEST(CliRichTest, PrintsTheSameAtTheEndWithNoStream) {
  FakeDaemon daemon;
  daemon.Answer(RichResponse());
  EXPECT_EQ(daemon.RunClient(CellWith({"--no-stream"})).out, kShown);
}

TEST(CliRichTest, AStatelessRunHasResultsToo) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = RichResponse();
  response.clear_session();
  StreamCell(daemon, response);
  const SubprocessResult result = daemon.RunClient(
      {"run", "--rich", "-l", "py", "-c", "x", "--results", "figures"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("[image/png] figures/run-1-1.png\n"));
  EXPECT_TRUE(daemon.last_request.Get().rich_results());
  daemon.RunClient({"run", "-l", "py", "-c", "x"});
  EXPECT_FALSE(daemon.last_request.Get().rich_results());
}

TEST(CliRichTest, SendsAllThatTheCommandLineSays) {
  FakeDaemon daemon;
  WriteFile(daemon.directory().Path("in"), "input");
  SubprocessOptions options =
      daemon.Client({"session", "run", "ses-1", "-", "--context", "b",
                     "--stdin", "in", "--timeout", "5s", "--cpu-time", "2s",
                     "--label", "k=v", "--request-id", "i"});
  options.stdin_text = "print(1)";
  EXPECT_EQ(RunProcess(options).exit_code, 0);
  v1::RunCodeRequest expected;
  expected.set_session_id("ses-1");
  expected.set_context("b");
  expected.set_code("print(1)");
  expected.set_stdin("input");
  expected.mutable_limits()->mutable_wall_time()->set_seconds(5);
  expected.mutable_limits()->mutable_cpu_time()->set_seconds(2);
  (*expected.mutable_labels())["k"] = "v";
  expected.set_request_id("i");
  EXPECT_EQ(daemon.last_request.Get().DebugString(), expected.DebugString());
  // The session knows its language.
  EXPECT_EQ(daemon.info_calls, 0);
}

TEST(CliRichTest, PrintsATracebackOnStandardError) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_NONZERO_EXIT);
  response.set_exit_code(1);
  response.mutable_stdout()->set_data("before\n");
  response.mutable_error()->set_name("ZeroDivisionError");
  response.mutable_error()->set_value("division by zero");
  response.mutable_error()->set_traceback(
      "Traceback (most recent call last):\nZeroDivisionError: division by "
      "zero\n");
  daemon.Answer(response);
  const SubprocessResult result = daemon.RunClient(kCell);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "before\n");
  EXPECT_EQ(result.err,
            "Traceback (most recent call last):\nZeroDivisionError: division "
            "by zero\nsandglass: NONZERO_EXIT 1 after 12.3 ms (run r-1)\n");
}

TEST(CliRichTest, SaysWhatIsLostEvenWhenQuiet) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_session()->set_state_lost(
      "The kernel was killed for memory.");
  response.mutable_session()->set_kernel_ended(true);
  response.set_results_dropped(2);
  response.set_results_dropped_bytes(3 << 20);
  daemon.Answer(response);
  EXPECT_EQ(daemon.RunClient(CellWith({"-q"})).err,
            "sandglass: 2 results (3 MiB) had no room in the answer and are "
            "left out\n"
            "sandglass: this run began with an empty state, that of the runs "
            "before it is lost: The kernel was killed for memory\n"
            "sandglass: the kernel ended with this run; the next run begins "
            "with an empty state\n");
}

TEST(CliRichTest, JsonIsTheResponseAndNothingElse) {
  FakeDaemon daemon;
  const v1::RunCodeResponse response = RichResponse();
  daemon.Answer(response);
  const SubprocessResult result = daemon.RunClient(CellWith({"--json"}));
  EXPECT_EQ(result.err, "");
  v1::RunCodeResponse parsed;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(result.out, &parsed).ok())
      << result.out;
  // Beside bytes that are text there is that text.
  v1::RunCodeResponse expected = response;
  const auto add_text = [](auto& bytes) { bytes.set_text(bytes.data()); };
  add_text(*expected.mutable_stdout());
  add_text(*expected.mutable_stderr());
  for (v1::RichResult& shown : *expected.mutable_results()) {
    for (v1::MimeData& data : *shown.mutable_data()) {
      if (data.mime_type() == "text/plain") add_text(data);
    }
  }
  EXPECT_EQ(parsed.DebugString(), expected.DebugString());
  EXPECT_FALSE(
      std::filesystem::exists(daemon.directory().Path("sandglass-results")));
}

TEST(CliRichTest, AResultThatCannotBeSavedSpoilsAGoodRun) {
  FakeDaemon daemon;
  StreamCell(daemon, RichResponse());
  // A link that somebody else made: not followed where nobody named it.
  std::filesystem::create_symlink("/tmp",
                                  daemon.directory().Path("sandglass-results"));
  const SubprocessResult result = daemon.RunClient(kCell);
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_EQ(result.out, "before\n<Figure>\nafter\n42\n");
  EXPECT_THAT(result.err, HasSubstr("a result [image/png] is not saved: "
                                    "cannot open the directory "
                                    "'sandglass-results'"));
}

TEST(CliRichTest, ADirectoryThatCannotBeIsSaidBeforeTheRun) {
  FakeDaemon daemon;
  const SubprocessResult result =
      daemon.RunClient(CellWith({"--results", "no/such"}));
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("cannot make the directory 'no/such'"));
  EXPECT_EQ(daemon.runs, 0);
}

TEST(CliRichTest, NothingOfAResultReachesTheTerminalRaw) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data("cut \xc2");
  *response.add_results() = RichOf(
      5, 0, {{"text/plain", "a\x1b[2Jb\n\xc2\x9b"}, {"x/\x1b[2J", "data"}});
  response.mutable_session()->set_state_lost("\x1b[2J");
  response.mutable_error()->set_traceback("\x1b[2Jtrace\n\x07");
  daemon.Answer(response);
  SubprocessOptions options = daemon.Client(kCell);
  options.terminal = true;
  options.env.push_back("NO_COLOR=1");
  EXPECT_EQ(RunProcess(options).out,
            "cut \\xc2\na\\x1b[2Jb\n\\u009b\n"
            "[x/\\x1b[2J] sandglass-results/run-1-1.bin\n"
            "\\x1b[2Jtrace\n\\x07\n"
            "sandglass: OK after 12.3 ms (run r-1)\n"
            "sandglass: this run began with an empty state, that of the runs "
            "before it is lost: \\x1b[2J\n");
}

TEST(CliRichTest, ATerminalThatCanShowsPicturesAboveTheirNames) {
  FakeDaemon daemon;
  const std::string png(
      "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\1\0\0\0\1\x08\0\0\0\0CRC."
      "\0\0\0\0IENDCRC.",
      45);
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data("text");
  *response.add_results() = RichOf(4, 0, {{"image/png", png}});
  // Says it is a picture.
  *response.add_results() = RichOf(4, 0, {{"image/png", "\x1b[2J"}});
  v1::OutputFile& file = *response.add_files();
  file.set_path("plot.png");
  file.set_content(png);
  daemon.Answer(response);
  SubprocessOptions options =
      daemon.Client({"run", "--rich", "-q", "-l", "py", "-c", "x", "--fetch",
                     "*.png", "--no-stream"});
  options.terminal = true;
  options.env.push_back("KITTY_WINDOW_ID=1");
  const std::string picture = absl::StrCat("\x1b_Ga=T,f=100,q=2,m=0;",
                                           absl::Base64Escape(png), "\x1b\\\n");
  EXPECT_EQ(RunProcess(options).out,
            absl::StrCat("text\n", picture,
                         "[image/png] sandglass-results/run-1-1.png\n"
                         "[image/png] sandglass-results/run-1-2.png\n",
                         picture));
  // Elsewhere, and for whoever doesn't want them, nothing but the names.
  std::filesystem::remove_all(daemon.directory().Path("sandglass-results"));
  std::filesystem::remove(daemon.directory().Path("plot.png"));
  options.env.push_back("SANDGLASS_IMAGES=none");
  EXPECT_EQ(RunProcess(options).out,
            "text\n[image/png] sandglass-results/run-1-1.png\n"
            "[image/png] sandglass-results/run-1-2.png\n");
  std::filesystem::remove_all(daemon.directory().Path("sandglass-results"));
  std::filesystem::remove(daemon.directory().Path("plot.png"));
  options.env.back() = "SANDGLASS_IMAGES=kitty";
  options.terminal = false;
  EXPECT_THAT(RunProcess(options).out, Not(HasSubstr("\x1b_G")));
  options.env.back() = "SANDGLASS_IMAGES=sixel";
  EXPECT_EQ(RunProcess(options).err,
            "sandglass: SANDGLASS_IMAGES 'sixel': write auto, kitty, iterm or "
            "none\n");
}

TEST(CliRichTest, CtrlCCancelsTheCallAndShowsWhatCame) {
  FakeDaemon daemon;
  daemon.on_stream = [&](grpc::ServerContext& context,
                         const v1::RunCodeRequest&, StreamWriter& writer) {
    SendStarted(writer);
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 0, "ready\n");
    // Its output is lost with the call.
    SendRich(writer, RichOf(100, 0, {{"text/plain", "value"}}));
    SendChunk(writer, v1::OUTPUT_STREAM_STDERR, 0, "warning");
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 6, "go");
    return daemon.WaitForCancel(context);
  };
  Subprocess client(daemon.Client(kCell));
  ASSERT_TRUE(client.ReadUntil("go"));
  client.Signal(SIGINT);
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.out, "ready\ngo\nvalue\n");
  EXPECT_THAT(result.err, HasSubstr("\nsandglass: CANCELLED after "));
}

}  // namespace
}  // namespace sandglass::client
