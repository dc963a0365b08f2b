// Jobs in real jails whose refused calls are traced, and under filters with
// additions; without the gRPC front. Needs root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "policy/profile/profile.h"
#include "policy/seccomp/seccomp.h"
#include "sandbox/host/host_probe.h"
#include "sandbox/yard/sandbox.h"
#include "server/job/one_use_job.h"
#include "server/job/refused_calls.h"

namespace sandglass::server {
namespace {

using policy::Outcome;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::unique_ptr<sandbox::Sandbox> g_sandbox;

// Two templates: "default" and "debug", which has all additions.
absl::Status StartSandbox(const char* state_dir) {
  const std::string seccomp = SANDGLASS_SOURCE_DIR "/policy/data/seccomp";
  sandbox::HostReport host = sandbox::ProbeHost();
  if (absl::Status all = sandbox::RequireLayers(host, {}); !all.ok()) {
    return all;
  }
  if (absl::Status can = sandbox::CheckCallTracing(); !can.ok()) return can;
  sandbox::SandboxOptions options;
  options.spawner_path = SANDGLASS_SPAWNER;
  options.state_dir = state_dir;
  options.instance = absl::StrCat("sandglass-trace-test-", ::getpid());
  options.trace_calls = true;
  for (const auto& [name, additions] :
       {std::pair("default", std::vector<std::string>()),
        std::pair("debug",
                  std::vector<std::string>{"debugging", "personality"})}) {
    const auto policy =
        policy::SeccompPolicy::Load(seccomp, "default", additions);
    if (!policy.ok()) return policy.status();
    const auto filter = policy->Compile();
    if (!filter.ok()) return filter.status();
    options.templates.push_back({.name = name, .seccomp = *filter});
  }
  if (absl::Status can = CheckTraceable(options.templates); !can.ok()) {
    return can;
  }
  auto sandbox = sandbox::Sandbox::Start(options, host);
  if (!sandbox.ok()) return sandbox.status();
  g_sandbox = *std::move(sandbox);
  return g_sandbox->StartReader([](const absl::Status& status) {
    ADD_FAILURE() << "the spawner died: " << status;
  });
}

Job Python(std::string code) {
  Job job;
  job.run_id = "test";
  job.template_name = "default";
  job.source_file = "main.py";
  job.code = std::move(code);
  job.argv = {"/usr/bin/python3", "main.py"};
  job.env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
             {"HOME", "/home/sandbox"},
             {"LANG", "C.UTF-8"}};
  return job;
}

Job Bash(std::string code) {
  Job job = Python(std::move(code));
  job.source_file = "main.sh";
  job.argv = {"/bin/bash", "main.sh"};
  return job;
}

Job Under(const std::string& name, Job job) {
  job.template_name = name;
  return job;
}

// Begins a Python program that makes calls by their numbers.
constexpr char kCalls[] = R"(
import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    ctypes.set_errno(0)
    answer = libc.syscall(*[ctypes.c_long(each) for each in arguments])
    return ctypes.get_errno() if answer == -1 else answer
)";

// With the numbers of some.
std::string Calls() {
  return absl::StrCat(kCalls,
                      "UNSHARE, SOCKET, IO_URING_SETUP, SETNS = ", SYS_unshare,
                      ", ", SYS_socket, ", ", SYS_io_uring_setup, ", ",
                      SYS_setns, "\nGETPID, FSYNC, PTRACE = ", SYS_getpid, ", ",
                      SYS_fsync, ", ", SYS_ptrace, "\n");
}

JailPool& NoPool() {
  static auto& pool = *new JailPool(
      {{.floor = 0}},
      [](const JailKey&,
         sandbox::FillFor) -> absl::StatusOr<std::unique_ptr<sandbox::Jail>> {
        return absl::UnimplementedError("there is no zygote");
      },
      [](sandbox::Jail&) { return true; });
  return pool;
}

JobResult RunOk(const Job& job) {
  CancelToken cancel;
  absl::StatusOr<JobResult> result =
      RunJob(*g_sandbox, NoPool(), job, cancel, nullptr);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : JobResult{};
}

// ---- what is told ----

TEST(TracedJob, TellsEachRefusedCallWithTheFiltersAnswer) {
  // unshare, socket(AF_VSOCK), io_uring_setup, a number that no call has.
  const JobResult result = RunOk(Python(absl::StrCat(Calls(), R"(
print(call(UNSHARE, 0x10000000, 0, 0), call(SOCKET, 40, 1, 0), call(IO_URING_SETUP, 1, 0, 0),
      call(500, 1, 2, 3))
for _ in range(3): call(SETNS, 3, 0, 0)
print(call(GETPID) > 0, call(FSYNC, os.open("/tmp/x", os.O_CREAT | os.O_RDWR)))
)")));
  EXPECT_EQ(result.verdict.outcome, Outcome::kOk) << result.stderr_result.data;
  // EPERM, EAFNOSUPPORT, ENOSYS, ENOSYS; getpid works, fsync is ignored.
  EXPECT_EQ(result.stdout_result.data, "1 97 38 38\nTrue 0\n");
  EXPECT_THAT(DescribeCalls(result.refused),
              AllOf(HasSubstr("unshare(0x10000000, 0, 0)=EPERM x1"),
                    HasSubstr("socket(0x28, 1, 0)=EAFNOSUPPORT x1"),
                    HasSubstr("io_uring_setup(1, 0, 0)=ENOSYS x1"),
                    HasSubstr("number-500(1, 2, 3)=ENOSYS x1"),
                    HasSubstr("setns(3, 0, 0)=EPERM x3"),
                    ::testing::Not(HasSubstr("fsync")),
                    ::testing::Not(HasSubstr("getpid"))));
}

TEST(TracedJob, TellsOfChildrenAndThreads) {
  const JobResult result = RunOk(Python(absl::StrCat(Calls(), R"(
import threading
def work(number):
    assert call(UNSHARE, number, 0, 0) == 1
children = []
for number in (1, 2):
    pid = os.fork()
    if pid == 0:
        work(number)
        os._exit(0)
    os.waitpid(pid, 0)
thread = threading.Thread(target=work, args=(3,))
thread.start()
thread.join()
os.execv("/bin/sh", ["sh", "-c", "unshare -r true"])
)")));
  const std::string calls = DescribeCalls(result.refused);
  for (const char* part :
       {"unshare(1, ", "unshare(2, ", "unshare(3, ", "unshare(0x10000000, "}) {
    EXPECT_THAT(calls, HasSubstr(part));
  }
}

TEST(TracedJob, KeepsAFewKindsAndCountsTheRest) {
  const JobResult result = RunOk(Python(absl::StrCat(Calls(), R"(
for number in range(1000): call(UNSHARE, number, 0, 0)
)")));
  EXPECT_EQ(result.verdict.outcome, Outcome::kOk);
  EXPECT_EQ(result.refused.calls.size(), sandbox::kMaxRefusedCalls);
  uint64_t all = result.refused.others;
  for (const sandbox::RefusedCall& call : result.refused.calls) {
    all += call.count;
  }
  EXPECT_GE(all, 1000u);
}

TEST(TracedJob, AnOrdinaryProgramRunsAsEver) {
  const JobResult result =
      RunOk(Bash("for i in 1 2 3; do echo $i | cat; done; exit 3"));
  EXPECT_EQ(result.stdout_result.data, "1\n2\n3\n");
  EXPECT_EQ(result.verdict.exit_code, 3);
  EXPECT_EQ(DescribeCalls(result.refused), "none");
}

// The listener and its socket are not the program's.
TEST(TracedJob, TheProgramHasItsStreamsOnly) {
  EXPECT_EQ(RunOk(Bash("ls /proc/$$/fd > /tmp/fds; tr '\\n' ' ' < /tmp/fds"))
                .stdout_result.data,
            RunOk(Bash("echo 0 1 2 255 | tr '\\n' ' '")).stdout_result.data);
}

// ---- ends ----

TEST(TracedJob, NobodyHangsBeyondHisLimits) {
  Job job = Python(absl::StrCat(Calls(), R"(
for _ in range(3):
    if os.fork() == 0: break
while True: call(SETNS, 3, 0, 0)
)"));
  job.limits.wall_time = absl::Seconds(1);
  const JobResult result = RunOk(job);
  EXPECT_THAT(result.verdict.outcome,
              ::testing::AnyOf(Outcome::kTimeout, Outcome::kCpuLimit));
  EXPECT_THAT(DescribeCalls(result.refused), HasSubstr("setns(3, 0, 0)=EPERM"));
  // The next jail is served.
  EXPECT_EQ(RunOk(Bash("echo on")).stdout_result.data, "on\n");
}

TEST(TracedJob, ASignalDuringACallIsNoHarm) {
  const JobResult result = RunOk(Python(absl::StrCat(Calls(), R"(
hits = 0
def hit(*_):
    global hits
    hits += 1
signal.signal(signal.SIGALRM, hit)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
while hits < 100:
    # EINTR: Python wants calls that wait to be interrupted.
    assert call(SETNS, 3, 0, 0) in (1, 4)
print("done")
)")));
  EXPECT_EQ(result.stdout_result.data, "done\n") << result.stderr_result.data;
}

TEST(TracedJob, ManyJobsAreTracedAtOnce) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      const JobResult result = RunOk(
          Python(absl::StrCat(Calls(), "for _ in range(200): call(UNSHARE, ",
                              20 + i, ", 0, 0)\n")));
      EXPECT_THAT(DescribeCalls(result.refused),
                  HasSubstr(absl::StrCat(", 0, 0)=EPERM x200")));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- additions ----

TEST(Additions, OneProcessTracesAnotherWhereTheFilterLetsIt) {
  // PTRACE_TRACEME, PTRACE_CONT; PEEK by process_vm_readv's cousin: ATTACH.
  const std::string code = absl::StrCat(Calls(), R"(
child = os.fork()
if child == 0:
    refused = call(PTRACE, 0, 0, 0, 0)
    if refused: os._exit(refused)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(5)
_, status = os.waitpid(child, 0)
if os.WIFSTOPPED(status):
    call(PTRACE, 7, child, 0, 0)
    _, status = os.waitpid(child, 0)
print(os.WEXITSTATUS(status))
)");
  EXPECT_EQ(RunOk(Under("debug", Python(code))).stdout_result.data, "5\n");
  const JobResult refused = RunOk(Python(code));
  EXPECT_EQ(refused.stdout_result.data, "1\n");
  EXPECT_THAT(DescribeCalls(refused.refused),
              HasSubstr("ptrace(0, 0, 0)=EPERM x1"));
}

TEST(Additions, AddressesCanBeFixed) {
  const std::string code =
      "for _ in 1 2 3 4; do setarch -R head -1 /proc/self/maps | cut -d- -f1; "
      "done | sort -u | wc -l";
  EXPECT_EQ(RunOk(Under("debug", Bash(code))).stdout_result.data, "1\n");
  EXPECT_THAT(RunOk(Bash(code)).stderr_result.data,
              HasSubstr("Operation not permitted"));
}

// Its parent is init, which must not take a stop for an end; an orphan's end
// has init look.
TEST(Additions, AProgramThatHasInitTraceItGoesOn) {
  const JobResult result = RunOk(Under("debug", Python(absl::StrCat(Calls(), R"(
me = os.getpid()
if os.fork() == 0:
    if os.fork() == 0:
        while " t " not in open(f"/proc/{me}/stat").read(): time.sleep(0.001)
    os._exit(0)
os.wait()
assert call(PTRACE, 0, 0, 0, 0) == 0
os.kill(me, signal.SIGURG)
print("went on", flush=True)
sys.exit(7)
)"))));
  EXPECT_EQ(result.stdout_result.data, "went on\n")
      << result.stderr_result.data;
  EXPECT_EQ(result.verdict.exit_code, 7);
}

}  // namespace
}  // namespace sandglass::server

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  char name[] = "/tmp/sandglass-trace-test-XXXXXX";
  if (::mkdtemp(name) == nullptr) return 1;
  // The sandbox moves its process into groups of its own; the parent stays
  // outside to remove them.
  const pid_t child = ::fork();
  if (child == 0) {
    if (const absl::Status status = sandglass::server::StartSandbox(name);
        !status.ok()) {
      std::fprintf(stderr, "can't start a sandbox: %s\n",
                   status.ToString().c_str());
      return 1;
    }
    const int result = RUN_ALL_TESTS();
    sandglass::server::g_sandbox.reset();
    return result;
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const absl::Status swept = sandglass::sandbox::Sandbox::Sweep(name);
  if (!swept.ok()) std::fprintf(stderr, "%s\n", swept.ToString().c_str());
  std::filesystem::remove_all(name);
  return status != 0 || !swept.ok();
}
