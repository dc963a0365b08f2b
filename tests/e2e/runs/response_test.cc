// What an answer says about a program that no limit stopped.

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Property;

class Response : public DaemonTest {};

TEST_F(Response, ExitCodesAreTheProgramsOwn) {
  // 124 and 137 are what other tools use for time-outs and memory kills.
  for (const int code : {0, 1, 2, 3, 124, 125, 126, 127, 137, 143, 255}) {
    const RunResult result = Run(Bash(absl::StrCat("exit ", code)));
    EXPECT_THAT(result, OutcomeIs(code == 0 ? v1::OUTCOME_OK
                                            : v1::OUTCOME_NONZERO_EXIT))
        << "for exit " << code;
    EXPECT_TRUE(result.response.has_exit_code());
    EXPECT_EQ(result.response.exit_code(), code);
    EXPECT_FALSE(result.response.has_signal());
    EXPECT_EQ(result.response.evidence().killed_by(), v1::KILLER_NONE);
    EXPECT_FALSE(result.response.evidence().has_limit());
    EXPECT_EQ(result.response.evidence().wait_status(), code << 8);
  }
}

TEST_F(Response, SignalsAreNamed) {
  const std::pair<int, std::string> signals[] = {
      {1, "SIGHUP"},   {3, "SIGQUIT"},  {4, "SIGILL"},   {6, "SIGABRT"},
      {7, "SIGBUS"},   {8, "SIGFPE"},   {9, "SIGKILL"},  {10, "SIGUSR1"},
      {11, "SIGSEGV"}, {14, "SIGALRM"}, {15, "SIGTERM"}, {31, "SIGSYS"}};
  for (const auto& [number, name] : signals) {
    const RunResult result = Run(Python(absl::StrCat(
        "import os, signal\nsignal.signal(", number, ", signal.SIG_DFL) if ",
        number, " != 9 else None\nos.kill(os.getpid(), ", number, ")")));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_SIGNALED)) << "for " << name;
    EXPECT_EQ(result.response.signal().number(), number);
    EXPECT_EQ(result.response.signal().name(), name);
    EXPECT_FALSE(result.response.has_exit_code());
    EXPECT_EQ(result.response.evidence().killed_by(),
              v1::KILLER_PROGRAM_SIGNAL);
  }
}

TEST_F(Response, StdinReachesTheProgramByteForByte) {
  v1::RunCodeRequest request = Bash("cat");
  std::string bytes;
  for (int i = 0; i < 256 * 1000; ++i) bytes.push_back(static_cast<char>(i));
  request.set_stdin(bytes);
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), bytes);
}

TEST_F(Response, EmptyStdinIsEndOfFileAtOnce) {
  const RunResult result = Run(Bash("wc -c"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "0\n");
}

TEST_F(Response, LargeStdinIsReadWhole) {
  v1::RunCodeRequest request = Bash("sleep 0.2; wc -c");
  request.set_stdin(std::string(8 << 20, 'x'));
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), absl::StrCat(8 << 20, "\n"));
}

TEST_F(Response, AProgramNeedNotReadItsStdin) {
  v1::RunCodeRequest request = Bash("exec <&-; echo done");
  request.set_stdin(std::string(4 << 20, 'x'));
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "done\n");
}

TEST_F(Response, ArgumentsArriveAsTheyWereSent) {
  v1::RunCodeRequest request =
      Python("import sys\nfor a in sys.argv[1:]: print(repr(a))");
  for (const char* argument :
       {"plain", "two words", "", "--flag=1", "-c", "$HOME `id`", "ünï 漢字 🐍",
        "new\nline", "'\"\\"}) {
    request.add_args(argument);
  }
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(),
            "'plain'\n'two words'\n''\n'--flag=1'\n'-c'\n'$HOME `id`'\n"
            "'ünï 漢字 🐍'\n'new\\nline'\n'\\'\"\\\\'\n");
}

TEST_F(Response, EnvironmentIsTheRequestsAndNothingOfOurs) {
  v1::RunCodeRequest request = Python(
      "import os\nprint(os.environ['GREETING'])\n"
      "print(sorted(os.environ))\nprint(os.environ.get('HOME'))");
  (*request.mutable_env())["GREETING"] = "grüß dich = 1";
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const std::string& out = result.response.stdout().data();
  EXPECT_THAT(out, ::testing::StartsWith("grüß dich = 1\n"));
  EXPECT_THAT(out, HasSubstr("'PATH'"));
  EXPECT_THAT(out, Not(HasSubstr("SANDGLASS")));
}

TEST_F(Response, HomeIsWritableAndTheLocaleIsUtf8) {
  const RunResult result = Run(
      Python("import os, sys, locale\n"
             "open(os.path.expanduser('~/note'), 'w').write('x')\n"
             "open('/tmp/note', 'w').write('x')\nopen('note', 'w').write('x')\n"
             "print(os.getcwd(), sys.stdout.encoding, "
             "locale.getpreferredencoding(False))"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "/workspace utf-8 UTF-8\n");
}

TEST_F(Response, UnicodeOutputIsKept) {
  const RunResult result = Run(Python("print('ünïcödé 漢字 🐍 \\u200b')"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "ünïcödé 漢字 🐍 \u200b\n");
}

TEST_F(Response, OutputNeedNotBeText) {
  const RunResult result =
      Run(Python("import sys\nsys.stdout.buffer.write(bytes(range(256)))"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  EXPECT_EQ(result.response.stdout().data(), bytes);
}

TEST_F(Response, StdoutAndStderrAreKeptApart) {
  const RunResult result =
      Run(Bash("echo out1; echo err1 >&2; echo out2; echo err2 >&2"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "out1\nout2\n");
  EXPECT_EQ(result.response.stderr().data(), "err1\nerr2\n");
}

TEST_F(Response, HeadAndTailOfALongOutputAreKeptAndTotalsAreTrue) {
  std::string whole;
  for (int i = 0; i < 50000; ++i) absl::StrAppend(&whole, "line ", i, "\n");
  v1::RunCodeRequest request = Python(
      "import sys\n"
      "text = ''.join(f'line {i}\\n' for i in range(50000))\n"
      "sys.stdout.write(text)\nsys.stderr.write('short')");
  request.mutable_limits()->set_output_bytes(4096);
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const v1::Output& out = result.response.stdout();
  EXPECT_TRUE(out.truncated());
  EXPECT_EQ(out.total_bytes(), whole.size());
  ASSERT_EQ(out.data().size(), 4096U);
  ASSERT_GT(out.head_bytes(), 0U);
  ASSERT_LT(out.head_bytes(), 4096U);
  const size_t tail = 4096 - out.head_bytes();
  EXPECT_EQ(out.data().substr(0, out.head_bytes()),
            whole.substr(0, out.head_bytes()));
  EXPECT_EQ(out.data().substr(out.head_bytes()),
            whole.substr(whole.size() - tail));
  EXPECT_FALSE(result.response.stderr().truncated());
  EXPECT_EQ(result.response.stderr().data(), "short");
}

TEST_F(Response, OutputOfExactlyTheCapIsNotTruncated) {
  for (const int size : {4095, 4096, 4097}) {
    v1::RunCodeRequest request =
        Bash(absl::StrCat("head -c ", size, " /dev/zero"));
    request.mutable_limits()->set_output_bytes(4096);
    const RunResult result = Run(request);
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(result.response.stdout().truncated(), size > 4096);
    EXPECT_EQ(result.response.stdout().total_bytes(),
              static_cast<uint64_t>(size));
  }
}

TEST_F(Response, LastBytesBeforeADeathAreKept) {
  const std::string write =
      "import os, signal\n"
      "os.write(1, b'x' * 60000 + b'END-OUT')\n"
      "os.write(2, b'y' * 60000 + b'END-ERR')\n";
  for (int i = 0; i < 10; ++i) {
    for (const char* death : {"os._exit(7)", "os.kill(os.getpid(), 9)"}) {
      const RunResult result = Run(Python(absl::StrCat(write, death)));
      ASSERT_THAT(result, IsOk());
      EXPECT_EQ(result.response.stdout().data(),
                std::string(60000, 'x') + "END-OUT")
          << death;
      EXPECT_EQ(result.response.stderr().data(),
                std::string(60000, 'y') + "END-ERR")
          << death;
    }
  }
}

TEST_F(Response, TimingsAddUpToTheTotal) {
  const RunResult result = Run(Python("import time\ntime.sleep(0.3)"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const v1::PhaseTimings& timings = result.response.timings();
  const absl::Duration sum =
      ToAbsl(timings.queue()) + ToAbsl(timings.acquire()) +
      ToAbsl(timings.stage_in()) + ToAbsl(timings.compile()) +
      ToAbsl(timings.run()) + ToAbsl(timings.drain()) +
      ToAbsl(timings.stage_out());
  const absl::Duration total = ToAbsl(timings.total());
  EXPECT_GE(ToAbsl(timings.run()), absl::Milliseconds(300));
  EXPECT_GT(ToAbsl(timings.acquire()), absl::ZeroDuration());
  EXPECT_LE(sum, total + absl::Milliseconds(1));
  EXPECT_LE(total - sum, absl::Milliseconds(250));
  EXPECT_LE(total, result.elapsed + absl::Milliseconds(1));
  EXPECT_FALSE(timings.setup_steps().empty());
  for (const v1::StepTiming& step : timings.setup_steps()) {
    EXPECT_FALSE(step.step().empty());
  }
  EXPECT_GE(ToAbsl(result.response.usage().wall_time()),
            absl::Milliseconds(300));
  EXPECT_LE(ToAbsl(result.response.usage().wall_time()), total);
}

TEST_F(Response, UsageMatchesWhatTheProgramDid) {
  const RunResult result = Run(Python(R"(
import subprocess, time
block = bytearray(b'x') * (40 << 20)
open('/tmp/shared', 'wb').write(b'y' * (20 << 20))
children = [subprocess.Popen(['/bin/sleep', '0.5']) for _ in range(4)]
end = time.process_time() + 0.4
while time.process_time() < end:
    pass
for child in children:
    child.wait()
)"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const v1::Usage& usage = result.response.usage();
  EXPECT_GE(ToAbsl(usage.cpu_user_time()) + ToAbsl(usage.cpu_system_time()),
            absl::Milliseconds(350));
  EXPECT_LE(ToAbsl(usage.cpu_user_time()) + ToAbsl(usage.cpu_system_time()),
            absl::Seconds(10));
  EXPECT_GE(usage.peak_memory_bytes(), uint64_t{60} << 20);
  EXPECT_LE(usage.peak_memory_bytes(), uint64_t{256} << 20);
  EXPECT_GE(usage.peak_anonymous_bytes(), uint64_t{40} << 20);
  EXPECT_LE(usage.peak_anonymous_bytes(), uint64_t{200} << 20);
  EXPECT_GE(usage.peak_shared_bytes(), uint64_t{20} << 20);
  EXPECT_GE(usage.peak_processes(), 5U);
  EXPECT_LE(usage.peak_processes(), 64U);
}

TEST_F(Response, AnswersTellWhatWasInForce) {
  v1::RunCodeRequest request = Program("PY", "print(1)");
  const absl::Time before = absl::Now();
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const v1::RunCodeResponse& response = result.response;
  EXPECT_FALSE(response.run_id().empty());
  EXPECT_EQ(response.language(), "python");
  EXPECT_EQ(response.profile(), "default");
  EXPECT_FALSE(response.replayed());
  EXPECT_FALSE(response.has_compile());
  EXPECT_FALSE(response.evidence().rule().empty());
  EXPECT_FALSE(response.evidence().explanation().empty());
  const absl::Time start =
      absl::FromUnixSeconds(response.start_time().seconds()) +
      absl::Nanoseconds(response.start_time().nanos());
  EXPECT_GE(start, before - absl::Seconds(1));
  EXPECT_LE(start, absl::Now() + absl::Seconds(1));
  const v1::Limits& limits = response.limits();
  EXPECT_EQ(ToAbsl(limits.wall_time()), absl::Seconds(30));
  EXPECT_TRUE(limits.has_cpu_time());
  EXPECT_EQ(limits.memory_bytes(), uint64_t{256} << 20);
  EXPECT_EQ(limits.max_processes(), 64U);
  EXPECT_EQ(limits.cpu_millis(), 1000U);
  EXPECT_EQ(limits.tmp_bytes(), uint64_t{64} << 20);
  EXPECT_LE(limits.tmp_bytes() + limits.workspace_bytes(),
            limits.memory_bytes() / 2);
  EXPECT_GT(limits.max_files(), 0U);
  EXPECT_EQ(limits.output_bytes(), uint64_t{1} << 20);
  EXPECT_GT(limits.output_total_bytes(), 0U);
  EXPECT_GT(limits.open_files(), 0U);
  EXPECT_GT(limits.file_size_bytes(), 0U);
}

TEST_F(Response, RunIdsAreUnique) {
  const RunResult first = Run(Bash("true"));
  const RunResult second = Run(Bash("true"));
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  EXPECT_NE(first.response.run_id(), second.response.run_id());
}

TEST_F(Response, AProgramThatNeedsTheNetworkGetsAHint) {
  const RunResult result =
      Run(Python("import urllib.request\n"
                 "urllib.request.urlopen('http://192.0.2.1/', timeout=5)"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_THAT(result.response.hints(),
              Contains(Property(&v1::Hint::id, "network-off")));
  EXPECT_LT(result.elapsed, absl::Seconds(15)) << "it should fail at once";
}

TEST_F(Response, AProgramThatWritesToTheRootGetsAHint) {
  const RunResult result = Run(Python("open('/usr/file', 'w')"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_THAT(result.response.hints(),
              Contains(Property(&v1::Hint::message, HasSubstr("/workspace"))));
}

TEST_F(Response, AGoodProgramGetsNoHint) {
  const RunResult result = Run(Python("print('fine')"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_TRUE(result.response.hints().empty())
      << result.response.hints(0).message();
}

}  // namespace
}  // namespace sandglass::testing
