// System call filters as operators change them: additions, canaries, and the
// report of refused calls.

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "policy/architecture/architecture.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kWholeLog = 100'000;

v1::RunCodeRequest Under(const std::string& profile,
                         v1::RunCodeRequest request) {
  request.set_profile(profile);
  return request;
}

// A daemon with files added to the shipped policy.
class SeccompTest : public OwnDaemonTest {
 protected:
  SeccompTest() : policy_(MakeTestDirectory()) {
    std::filesystem::copy(
        std::string(SANDGLASS_SOURCE_DIR) + "/policy/data", policy_,
        std::filesystem::copy_options::recursive |
            std::filesystem::copy_options::overwrite_existing);
  }
  ~SeccompTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(policy_, ignored);
  }
  void Write(const std::string& file, const std::string& text) const {
    std::ofstream(absl::StrCat(policy_, "/", file)) << text;
  }
  void StartHere(DaemonOptions options = {}) {
    options.canaries = true;
    options.extra_arguments.insert(options.extra_arguments.end(),
                                   {"--policy-dir", policy_});
    ASSERT_NO_FATAL_FAILURE(StartDaemon(options));
  }
  // The daemon's line with all of these words; empty: there is none.
  std::string Line(const std::vector<std::string>& words) {
    for (const absl::string_view line :
         absl::StrSplit(daemon_->LogTail(kWholeLog), '\n')) {
      if (std::all_of(words.begin(), words.end(), [&](const auto& word) {
            return absl::StrContains(line, word);
          })) {
        return std::string(line);
      }
    }
    return "";
  }

  const std::string policy_;
};

// ---- additions ----

class SeccompAdditions : public SeccompTest {
 protected:
  void SetUp() override {
    Write("profiles/debug.json",
          R"({"description": "For debuggers",
              "seccomp_add": ["debugging", "personality"]})");
    ASSERT_NO_FATAL_FAILURE(StartHere());
  }
};

constexpr char kDebugger[] = R"(
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
long secret = 42;
int main() {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(errno);
    raise(SIGSTOP);
    _exit(5);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) {
    std::printf("refused with %d\n", WEXITSTATUS(status));
    return 0;
  }
  const long peeked = ptrace(PTRACE_PEEKDATA, child, &secret, 0);
  long read = 0;
  iovec local = {&read, sizeof(read)};
  iovec remote = {&secret, sizeof(secret)};
  process_vm_readv(child, &local, 1, &remote, 1, 0);
  ptrace(PTRACE_CONT, child, 0, 0);
  waitpid(child, &status, 0);
  std::printf("peeked %ld, read %ld, end %d\n", peeked, read,
              WEXITSTATUS(status));
}
)";

TEST_F(SeccompAdditions, ADebuggerWorksWhereTheProfileSaysSo) {
  const RunResult with =
      client().Run(Under("debug", Program("cpp", kDebugger)));
  ASSERT_THAT(with, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(with.response.stdout().data(), "peeked 42, read 42, end 5\n");
  const RunResult without = client().Run(Program("cpp", kDebugger));
  ASSERT_THAT(without, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(without.response.stdout().data(), "refused with 1\n");
  ASSERT_NO_FATAL_FAILURE(StopDaemon());
}

TEST_F(SeccompAdditions, AddressesCanBeFixed) {
  const char* code =
      "setarch -R sh -c 'head -1 /proc/self/maps' | cut -c1-8 || echo no";
  const RunResult with = client().Run(Under("debug", Bash(code)));
  ASSERT_THAT(with, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(with.response.stdout().data(), "55555555\n")
      << with.response.stderr().data();
  const RunResult without = client().Run(Bash(code));
  EXPECT_THAT(without.response.stderr().data(),
              HasSubstr("Operation not permitted"));
}

// Its parent is init, which must not take a stop for an end; the orphan's end
// has init look.
constexpr char kTracedByInit[] = R"(
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main() {
  const pid_t self = getpid();
  if (fork() == 0) {
    if (fork() == 0) {
      for (std::string word; word != "t";) {
        usleep(1000);
        std::ifstream stat("/proc/" + std::to_string(self) + "/stat");
        stat >> word >> word >> word;
      }
    }
    _exit(0);
  }
  wait(nullptr);
  if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) return 1;
  raise(SIGURG);
  std::puts("went on");
  return 7;
}
)";

TEST_F(SeccompAdditions, AProgramThatHasInitTraceItGoesOn) {
  const RunResult result =
      client().Run(Under("debug", Program("cpp", kTracedByInit)));
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(result.response.exit_code(), 7) << result.response.DebugString();
  EXPECT_EQ(result.response.stdout().data(), "went on\n");
}

// A runner's parent is the spawner.
TEST_F(SeccompAdditions, AProgramThatHasTheSpawnerTraceItGoesOn) {
  const v1::RunCodeRequest request = Under("debug", Python(R"(
import ctypes, os, signal
print("ready", flush=True)
assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0
os.kill(os.getpid(), signal.SIGURG)
print("went on")
raise SystemExit(7)
)"));
  StreamCall call(client().stub(), request);
  ASSERT_TRUE(call.ReadUntil("ready"));
  // Their ends have the spawner look.
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(client().Run(Under("debug", Python("print(1)"))),
                OutcomeIs(v1::OUTCOME_OK));
  }
  EXPECT_THAT(call.Finish(), IsOk());
  ASSERT_TRUE(call.result().has_value());
  EXPECT_EQ(call.result()->exit_code(), 7) << call.result()->DebugString();
}

// ---- canaries ----

TEST_F(SeccompTest, AFilterThatBreaksARuntimeShowsAtTheStart) {
  Write("seccomp/additions/no-threads.json",
        R"({"description": "d", "rules": [{
             "calls": ["clone", "fork", "vfork"], "action": "EPERM",
             "reason": "Somebody meant it well."}]})");
  Write("profiles/hard.json",
        R"({"description": "d", "languages": ["python"],
            "seccomp_add": ["no-threads"]})");
  ASSERT_NO_FATAL_FAILURE(
      StartHere({.serving = "sandglass.v1.SandboxService"}));
  EXPECT_FALSE(client().Serving());
  EXPECT_TRUE(client().Serving("sandglass.v1.SandboxService"));

  v1::RunCodeRequest hard = Python("print(1)");
  hard.set_profile("hard");
  const RunResult refused = client().Run(hard);
  EXPECT_THAT(refused, StatusIs(grpc::StatusCode::FAILED_PRECONDITION));
  EXPECT_EQ(DetailsOf(refused.status).reason, "LANGUAGE_UNAVAILABLE");
  const auto says_why =
      AllOf(HasSubstr("Python's canary failed under profile hard, whose system "
                      "call filter is default+no-threads"),
            HasSubstr("can't start new thread"));
  EXPECT_THAT(refused.status.error_message(), says_why);
  // Under the filters that it works with it can be used.
  EXPECT_THAT(client().Run(Python("print(1)")), OutcomeIs(v1::OUTCOME_OK));
  v1::GetServerInfoResponse info;
  ASSERT_THAT(client().Info(&info), IsOk());
  for (const v1::LanguageInfo& language : info.languages()) {
    EXPECT_TRUE(language.available()) << language.id();
  }
  EXPECT_THAT(client().Run(Bash("echo $((6 * 7))")), OutcomeIs(v1::OUTCOME_OK));
  EXPECT_NE(Line({"canary_failed", "lang=python"}), "");
  ASSERT_NO_FATAL_FAILURE(StopDaemon());
}

TEST_F(SeccompTest, ShippedLanguagesPassTheirCanaries) {
  ASSERT_NO_FATAL_FAILURE(StartHere());
  EXPECT_TRUE(client().Serving());
  EXPECT_NE(Line({"canaries_done", "all_work=true"}), "");
  EXPECT_EQ(Line({"canary_not_run"}), "");
  EXPECT_EQ(Line({"canary_failed"}), "");
}

// ---- the report of refused calls ----

class TraceSyscalls : public SeccompTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(
        StartHere({.extra_arguments = {"--trace-syscalls"}}));
  }
  std::string LineOf(const RunResult& result) {
    return Line({" syscalls_denied ", result.response.run_id()});
  }
};

TEST_F(TraceSyscalls, TellsWhatAPythonProgramWasRefused) {
  const RunResult result = client().Run(Python(R"(
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.unshare(0x10000000), ctypes.get_errno())
for _ in range(3):
    print(libc.mount(b"a", b"/tmp", b"tmpfs", 0, 0), ctypes.get_errno())
)"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "-1 1\n-1 1\n-1 1\n-1 1\n");
  EXPECT_THAT(LineOf(result),
              AllOf(HasSubstr("lang=python profile=default"),
                    HasSubstr("unshare(0x10000000, "),
                    ContainsRegex("mount\\([^)]*\\)=EPERM x3")));
}

constexpr char kRefusedInCpp[] = R"(
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
int main() {
  long answer = syscall(SYS_unshare, 0x10000000, 0, 0);
  std::printf("%ld %d\n", answer, errno);
  answer = socket(40, SOCK_STREAM, 0);
  std::printf("%ld %d\n", answer, errno);
  answer = syscall(SYS_io_uring_setup, 1, 0, 0);
  std::printf("%ld %d\n", answer, errno);
#if defined(__x86_64__)
  answer = 20;  // getpid of i386
  asm volatile("int $0x80" : "+a"(answer) : "b"(0), "c"(0), "d"(0) : "memory");
  std::printf("%ld\n", answer);
#endif
  const int file = open("/tmp/x", O_CREAT | O_WRONLY, 0600);
  std::printf("%d\n", fsync(file));
}
)";

TEST_F(TraceSyscalls, AnswersAreThoseOfTheFilter) {
  const RunResult result = client().Run(Program("cpp", kRefusedInCpp));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  const bool has_i386 = policy::kArchitecture == AUDIT_ARCH_X86_64;
  EXPECT_EQ(
      result.response.stdout().data(),
      absl::StrCat("-1 1\n-1 97\n-1 38\n", has_i386 ? "-38\n" : "", "0\n"));
  const std::string line = LineOf(result);
  EXPECT_THAT(line,
              AllOf(HasSubstr("lang=cpp"),
                    HasSubstr("unshare(0x10000000, 0, 0)=EPERM x1"),
                    HasSubstr("socket(0x28, 1, 0)=EAFNOSUPPORT x1"),
                    HasSubstr("io_uring_setup(1, 0, 0)=ENOSYS x1"),
                    HasSubstr(has_i386 ? "i386:20(0, 0, 0)=ENOSYS x1" : ""),
                    Not(HasSubstr("fsync"))));
}

TEST_F(TraceSyscalls, TellsOfChildrenAndOfInterpretersThatWait) {
  const RunResult child =
      client().Run(Bash("for i in 1 2; do unshare -r true; done; true"));
  ASSERT_THAT(child, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(LineOf(child), HasSubstr("unshare("));
  EXPECT_THAT(child.response.stderr().data(),
              HasSubstr("Operation not permitted"));
  const RunResult node =
      client().Run(Program("javascript",
                           "require('child_process')"
                           ".spawnSync('unshare', ['-r', 'true']);"));
  ASSERT_THAT(node, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(LineOf(node),
              AllOf(HasSubstr("lang=javascript"), HasSubstr("unshare(")));
}

TEST_F(TraceSyscalls, NobodyHangsBeyondHisLimits) {
  const char* code = R"(
#include <sys/syscall.h>
#include <unistd.h>
int main() {
  for (int i = 0; i < 3; ++i) {
    if (fork() == 0) break;
  }
  for (;;) syscall(SYS_setns, 3, 0, 0);
}
)";
  const RunResult result =
      client().Run(WithWall(Program("cpp", code), absl::Seconds(1)));
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(result.response.outcome(),
              ::testing::AnyOf(v1::OUTCOME_TIMEOUT, v1::OUTCOME_CPU_LIMIT));
  EXPECT_LT(result.elapsed, absl::Seconds(30));
  EXPECT_THAT(LineOf(result), HasSubstr("setns(3, 0, 0)=EPERM x"));
  // Others are served meanwhile and afterwards.
  EXPECT_THAT(client().Run(Python("print(1)")), OutcomeIs(v1::OUTCOME_OK));
}

TEST_F(TraceSyscalls, ARunWithoutAnySaysSoAndTheEndSumsUp) {
  EXPECT_THAT(LineOf(client().Run(Program("perl", "print 1"))),
              HasSubstr("lang=perl profile=default calls=none"));
  for (int i = 0; i < 2; ++i) {
    client().Run(
        Python("import ctypes; ctypes.CDLL(None).unshare(0x10000000)"));
  }
  daemon().Signal(SIGTERM);
  ASSERT_TRUE(daemon().Wait(absl::Seconds(30)).has_value());
  EXPECT_THAT(
      Line({" syscalls_denied_in_all ", "lang=python"}),
      AllOf(HasSubstr("profile=default runs=2"), HasSubstr("unshare(")));
}

TEST_F(SeccompTest, AFilterThatCannotBeTracedIsRefusedAtTheStart) {
  Write("seccomp/additions/no-messages.json",
        R"({"description": "d", "rules": [{"calls": ["sendmsg"],
             "action": "EPERM", "reason": "Somebody meant it well."}]})");
  Write("profiles/mute.json",
        R"({"description": "d", "seccomp_add": ["no-messages"]})");
  const auto daemon = Daemon::Start(
      {.extra_arguments = {"--trace-syscalls", "--policy-dir", policy_}});
  ASSERT_FALSE(daemon.ok());
  EXPECT_THAT(std::string(daemon.status().message()),
              HasSubstr("policy of profile mute refuses sendmsg"));
}

}  // namespace
}  // namespace sandglass::testing
