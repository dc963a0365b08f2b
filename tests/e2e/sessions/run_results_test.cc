// Runs with the results, errors and files that sessions give, with and without
// a session.

#include <string>

#include "absl/time/time.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::IsEmpty;

class RunResults : public DaemonTest {};

TEST_F(RunResults, AStatelessRunHasResultsOnRequest) {
  v1::RunCodeRequest request = Python("print('out')\n6 * 7");
  request.set_rich_results(true);
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(result.response), "42");
  EXPECT_EQ(result.response.stdout().data(), "out\n");
  EXPECT_FALSE(result.response.has_session());
  request.set_code("raise ValueError('no')");
  EXPECT_EQ(Run(request).response.error().name(), "ValueError");
  request.set_language("perl");
  EXPECT_THAT(Run(request), RefusesField("rich_results"));
}

// What came back under a path; its error's name where it didn't.
std::string Fetched(const v1::RunCodeResponse& response,
                    const std::string& path) {
  for (const v1::OutputFile& file : response.files()) {
    if (file.path() != path) continue;
    return file.error() == v1::FILE_ERROR_UNSPECIFIED
               ? file.content()
               : v1::FileError_Name(file.error());
  }
  return "nothing";
}

void BringFile(v1::RunCodeRequest& request, const std::string& path,
               const std::string& content) {
  v1::InputFile& file = *request.add_files();
  file.set_path(path);
  file.set_content(content);
}

TEST_F(RunResults, AStatelessRunHasResultsBesideFilesAndArguments) {
  v1::RunCodeRequest request = Python(
      "import os, sys\nos.makedirs('out/deep')\n"
      "open('/tmp/c.txt', 'w').write('tmp')\n"
      "open('out/deep/b.txt', 'w').write(open('in/a.txt').read())\n"
      "open('{,}.csv', 'w').write('braces')\n"
      "open('[x].txt', 'w').write(sys.argv[1])\nprint('out')\n6 * 7");
  request.set_rich_results(true);
  BringFile(request, "in/a.txt", "brought");
  request.add_args("an argument");
  for (const char* pattern :
       {"out/**/*.txt", "/tmp/*.txt", "[x].txt", "out", "[{]*}.c?v", "none.txt",
        "*.none", "/proc/version"}) {
    request.add_fetch(pattern);
  }
  RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(result.response), "42");
  EXPECT_EQ(result.response.stdout().data(), "out\n");
  EXPECT_EQ(Fetched(result.response, "out/deep/b.txt"), "brought");
  EXPECT_EQ(Fetched(result.response, "/tmp/c.txt"), "tmp");
  EXPECT_EQ(Fetched(result.response, "[x].txt"), "an argument");
  EXPECT_EQ(Fetched(result.response, "{,}.csv"), "braces");
  EXPECT_EQ(Fetched(result.response, "out"), "FILE_ERROR_IS_DIRECTORY");
  for (const char* missing : {"none.txt", "*.none"}) {
    EXPECT_EQ(Fetched(result.response, missing), "FILE_ERROR_NOT_FOUND");
  }
  // Only what the jail's own disks hold is handed out.
  EXPECT_EQ(Fetched(result.response, "/proc/version"),
            "FILE_ERROR_NOT_REGULAR");
  // Whatever becomes of the program.
  request.set_code("open('late.txt', 'w').write('x')\nwhile True: pass");
  request.clear_fetch();
  request.add_fetch("late.txt");
  result = Run(WithWall(request, absl::Seconds(1)));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
  EXPECT_EQ(Fetched(result.response, "late.txt"), "x");
}

TEST_F(RunResults, ARunBringsAndFetchesFiles) {
  TestSession session(client());
  v1::RunCodeRequest cell =
      session.Cell("x = open('a.txt').read()\nopen('b.txt', 'w').write(x * 2)");
  BringFile(cell, "a.txt", "one");
  cell.add_fetch("b.txt");
  RunResult result = Run(cell);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(Fetched(result.response, "b.txt"), "oneone");
  // In place of the one that is there, and where a program runs in the session.
  cell.mutable_files(0)->set_content("two");
  cell.set_language("perl");
  cell.set_code("open F, 'a.txt'; print <F>; print $ARGV[0]");
  cell.add_args("!");
  result = Run(cell);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "two!");
  EXPECT_EQ(Fetched(result.response, "b.txt"), "oneone");
  // A file that can't be written is the call's error, and the kernel goes on.
  cell = session.Cell("x");
  BringFile(cell, "a.txt/below", "no");
  EXPECT_FALSE(Run(cell).status.ok());
  EXPECT_EQ(ValueOf(session.Run("x").response), "'one'");
}

TEST_F(RunResults, AStatelessRunWithResultsEndsAsAProgram) {
  const struct {
    const char* language;
    const char* code;
    const char* out;
    int exit_code;
    const char* error;
  } runs[] = {
      {"python",
       "import threading, time, atexit\natexit.register(print, 'bye')\n"
       "threading.Thread(target=lambda: (time.sleep(.2), "
       "print('worker'))).start("
       ")\nprint('main')\n1 / 0",
       "main\nworker\nbye\n", 1, "ZeroDivisionError"},
      // By a process of its own in place of a zygote's child.
      {"python",
       "import atexit, os\natexit.register(print, "
       "os.environ['PYTHONHASHSEED'])\n"
       "raise SystemExit(3)",
       "7\n", 3, ""},
      {"javascript",
       "setTimeout(() => { console.log('late'); process.exitCode = 4 }, 50); 0",
       "late\n", 4, ""},
      {"ruby", "at_exit { puts 'bye'; exit 5 }\nnil", "bye\n", 5, ""},
      {"bash", "trap 'echo bye' EXIT; (exit 6)", "bye\n", 6, ""},
  };
  for (const auto& run : runs) {
    v1::RunCodeRequest request = Python(run.code);
    request.set_language(run.language);
    request.set_rich_results(true);
    if (run.exit_code == 3) (*request.mutable_env())["PYTHONHASHSEED"] = "7";
    const RunResult result = Run(request);
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT)) << run.code;
    EXPECT_EQ(result.response.stdout().data(), run.out);
    EXPECT_EQ(result.response.exit_code(), run.exit_code) << run.code;
    EXPECT_EQ(result.response.error().name(), run.error) << run.code;
    EXPECT_THAT(result.response.stderr().data(), IsEmpty());
  }
}

TEST_F(RunResults, AStatelessRunWithResultsEndsWithItsProcess) {
  v1::RunCodeRequest request = Python(
      "import subprocess\n"
      "subprocess.Popen(['sh', '-c', 'echo child; exec sleep 600'], "
      "stdout=2, start_new_session=True).pid > 0");
  request.set_rich_results(true);
  request.add_fetch("none");  // by a process that isn't the program's
  const RunResult left = Run(request);
  ASSERT_THAT(left, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(left.response), "True");
  EXPECT_EQ(left.response.evidence().leftover_processes(), 1u);
  EXPECT_GT(left.response.usage().peak_memory_bytes(), 1u << 20);
  request.set_code(
      "import "
      "threading\nthreading.Thread(target=threading.Event().wait).start()"
      "\n'value'");
  request.mutable_limits()->mutable_wall_time()->set_seconds(1);
  const RunResult endless = Run(request);
  ASSERT_THAT(endless, OutcomeIs(v1::OUTCOME_TIMEOUT));
  EXPECT_EQ(ValueOf(endless.response), "'value'");
  // Killed at its limit, as without results, and not interrupted.
  request.set_code("print('out')\nwhile True: pass");
  const RunResult busy = Run(request);
  ASSERT_THAT(busy, OutcomeIs(v1::OUTCOME_TIMEOUT));
  EXPECT_EQ(busy.response.stdout().data(), "out\n");
  EXPECT_EQ(busy.response.stderr().data(), "");
  EXPECT_FALSE(busy.response.has_error());
}

}  // namespace
}  // namespace sandglass::testing
