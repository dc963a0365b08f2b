// Jobs in real jails, without the gRPC front. Needs root.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
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

namespace sandglass::server {
namespace {

using policy::Outcome;

std::unique_ptr<sandbox::Sandbox> g_sandbox;

absl::Status StartSandbox(const char* state_dir) {
  const std::string data = SANDGLASS_SOURCE_DIR "/policy/data";
  const auto profiles = policy::LoadProfiles(data + "/profiles");
  if (!profiles.ok()) return profiles.status();
  const auto seccomp =
      policy::SeccompPolicy::Load(data + "/seccomp", "default");
  if (!seccomp.ok()) return seccomp.status();
  const auto filter = seccomp->Compile();
  if (!filter.ok()) return filter.status();
  sandbox::HostReport host = sandbox::ProbeHost();
  if (auto status = sandbox::RequireLayers(host, {}); !status.ok()) {
    return status;
  }
  sandbox::SandboxOptions options;
  options.spawner_path = SANDGLASS_SPAWNER;
  options.state_dir = state_dir;
  options.instance = absl::StrCat("sandglass-jail-test-", ::getpid());
  for (const policy::Profile& profile : *profiles) {
    options.templates.push_back(
        {.name = profile.name, .maximum = profile.maximum, .seccomp = *filter});
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
             {"LANG", "C.UTF-8"},
             {"PYTHONDONTWRITEBYTECODE", "1"}};
  return job;
}

Job Bash(std::string code) {
  Job job = Python(std::move(code));
  job.source_file = "main.sh";
  job.argv = {"/bin/bash", "main.sh"};
  return job;
}

// Each jail is made for its run.
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

TEST(RunJob, GivesOutputAndExitCode) {
  const JobResult result =
      RunOk(Python("import sys\nprint('hello')\nsys.exit(3)\n"));
  EXPECT_EQ(result.stdout_result.data, "hello\n");
  EXPECT_EQ(result.stderr_result.data, "");
  EXPECT_EQ(result.verdict.outcome, Outcome::kNonzeroExit);
  EXPECT_EQ(result.verdict.exit_code, 3);
  EXPECT_GT(result.timings.run, absl::ZeroDuration());
}

TEST(RunJob, FeedsStdin) {
  Job job = Bash("cat; echo end");
  job.stdin_data = std::string(300'000, 'x');
  const JobResult result = RunOk(job);
  EXPECT_EQ(result.verdict.outcome, Outcome::kOk);
  EXPECT_EQ(result.stdout_result.data, job.stdin_data + "end\n");
}

TEST(RunJob, StopsAtTheWallLimit) {
  Job job = Bash("trap '' TERM; while :; do sleep 1; done");
  job.limits.wall_time = absl::Milliseconds(300);
  const JobResult result = RunOk(job);
  EXPECT_EQ(result.verdict.outcome, Outcome::kTimeout);
  EXPECT_GE(result.facts.wall_time, absl::Milliseconds(300));
  EXPECT_LT(result.facts.wall_time, absl::Seconds(3));
}

TEST(RunJob, StopsAtTheProcessorLimit) {
  Job job = Bash("while :; do :; done");
  job.limits.cpu_time = absl::Milliseconds(300);
  const JobResult result = RunOk(job);
  EXPECT_EQ(result.verdict.outcome, Outcome::kCpuLimit);
  EXPECT_GE(result.facts.cpu_time, absl::Milliseconds(300));
}

TEST(RunJob, SaysMemoryLimitFromTheKernelsCounter) {
  Job job = Python("x = []\nwhile True: x.append(bytearray(1 << 20))\n");
  job.limits.memory_bytes = 64 << 20;
  job.limits.tmp_bytes = job.limits.workspace_bytes = 16 << 20;
  const JobResult result = RunOk(job);
  EXPECT_EQ(result.verdict.outcome, Outcome::kMemoryLimit);
  EXPECT_GT(result.facts.counters.oom_kills, 0u);
}

TEST(RunJob, EndsWithTheMainProcessAndKillsTheRest) {
  const JobResult result =
      RunOk(Bash("setsid sleep 1000 & (setsid sleep 1000 &) ; echo done"));
  EXPECT_EQ(result.verdict.outcome, Outcome::kOk);
  EXPECT_EQ(result.stdout_result.data, "done\n");
  EXPECT_GE(result.facts.leftover_processes, 1u);
  EXPECT_LT(result.timings.drain, absl::Seconds(5));
}

TEST(RunJob, KeepsTheLastBytesBeforeASignal) {
  const JobResult result = RunOk(Python(
      "import os\nos.write(1, b'y' * 60000)\nos.kill(os.getpid(), 9)\n"));
  EXPECT_EQ(result.verdict.outcome, Outcome::kSignaled);
  EXPECT_EQ(result.verdict.signal, 9);
  EXPECT_EQ(result.stdout_result.data.size(), 60000u);
}

TEST(RunJob, BringsFilesBackAndRefusesLinksOut) {
  Job job = Bash(
      "mkdir -p out; echo hi > out/a.txt; ln -s /etc/passwd out/b.txt;"
      "mkfifo out/c.txt; echo no > d.txt; chmod 0 d.txt; ln -s a.txt "
      "out/e.txt");
  job.fetch = {"out/*.txt", "d.txt", "none.txt", "out"};
  const JobResult result = RunOk(job);
  std::vector<std::pair<std::string, FileError>> found;
  for (const FileResult& file : result.files) {
    found.emplace_back(file.path, file.error);
    if (file.error == FileError::kNone) {
      EXPECT_EQ(file.content, "hi\n");
    } else {
      EXPECT_EQ(file.content, "");
    }
  }
  std::sort(found.begin(), found.end());
  const std::vector<std::pair<std::string, FileError>> expected = {
      {"d.txt", FileError::kPermissionDenied},
      {"none.txt", FileError::kNotFound},
      {"out", FileError::kIsDirectory},
      {"out/a.txt", FileError::kNone},
      {"out/b.txt", FileError::kNotRegular},
      {"out/c.txt", FileError::kNotRegular},
      {"out/e.txt", FileError::kNone}};
  EXPECT_EQ(found, expected);
}

TEST(RunJob, AFileIsFetchedByANameThatReadsLikeAPattern) {
  Job job = Bash("touch '[x].txt' x.txt z.txt '*.md' a.md; mkdir '[d]'");
  job.fetch = {"[x].txt", "[z].txt", "[d]", "*.md", "none[1]"};
  const JobResult result = RunOk(job);
  std::map<std::string, FileError> found;
  for (const FileResult& file : result.files) found[file.path] = file.error;
  EXPECT_EQ(found, (std::map<std::string, FileError>{
                       {"[x].txt", FileError::kNone},
                       {"z.txt", FileError::kNone},
                       {"[d]", FileError::kIsDirectory},
                       {"*.md", FileError::kNone},
                       {"a.md", FileError::kNone},
                       {"none[1]", FileError::kNotFound}}));
}

TEST(RunJob, KeepsHeadAndTailOfLongOutput) {
  Job job = Bash("seq 1 200000");
  job.limits.output_bytes = 1000;
  const JobResult result = RunOk(job);
  EXPECT_EQ(result.verdict.outcome, Outcome::kOk);
  EXPECT_TRUE(result.stdout_result.truncated);
  EXPECT_EQ(result.stdout_result.data.size(), 1000u);
  EXPECT_EQ(result.stdout_result.total_bytes, 1288895u);
  EXPECT_EQ(result.stdout_result.data.substr(0, 4), "1\n2\n");
  EXPECT_EQ(result.stdout_result.data.substr(1000 - 7), "200000\n");
}

TEST(RunJob, RedactsWhatIsWrittenInPieces) {
  auto pattern = policy::RedactionPattern::Compile("EMP-[0-9]{6}");
  ASSERT_TRUE(pattern.ok());
  auto redactor = policy::Redactor::Create({{"employee-id", *pattern}});
  ASSERT_TRUE(redactor.ok());
  Job job = Python(
      "import os\n"
      "for piece in (b'id EMP', b'-12', b'3456', b' and EMP-1'):\n"
      "    os.write(1, piece)\n"
      "os.write(2, b'EMP-000000EMP-000001')\n");
  job.redactor = *redactor;
  const JobResult result = RunOk(job);
  EXPECT_EQ(result.verdict.outcome, Outcome::kOk);
  const std::string mark = "[redacted:employee-id]";
  EXPECT_EQ(result.stdout_result.data, "id " + mark + " and EMP-1");
  EXPECT_EQ(result.stdout_result.total_bytes, result.stdout_result.data.size());
  EXPECT_EQ(result.stderr_result.data, mark + mark);
  EXPECT_EQ(result.redactions, (policy::RedactionCounts{{"employee-id", 3}}));
  EXPECT_EQ(result.facts.stdout_bytes, 23u) << "as it was written";
  EXPECT_EQ(result.facts.stderr_bytes, 20u);
}

TEST(RunJob, StopsFloodsOfOutput) {
  const JobResult result = RunOk(Bash("yes"));
  EXPECT_EQ(result.verdict.outcome, Outcome::kOutputLimit);
}

// Cancels what has written something.
class CancelAtOutput : public RunListener {
 public:
  explicit CancelAtOutput(CancelToken* cancel) : cancel_(cancel) {}
  void OnOutput(Stream /*stream*/, std::string_view /*data*/,
                uint64_t /*offset*/, absl::Duration /*since_start*/) override {
    cancel_->Cancel(policy::KillReason::kCancelled);
  }

 private:
  CancelToken* cancel_;
};

TEST(RunJob, CancelEndsTheJob) {
  CancelToken cancel;
  CancelAtOutput listener(&cancel);
  const absl::StatusOr<JobResult> result = RunJob(
      *g_sandbox, NoPool(), Bash("echo up; sleep 100"), cancel, &listener);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->verdict.outcome, Outcome::kCancelled);
}

TEST(RunJob, ForksToTheLimitAreToldApart) {
  Job job = Bash("for i in $(seq 100); do sleep 5 & done; wait; exit 1");
  job.limits.max_processes = 10;
  job.limits.wall_time = absl::Seconds(20);
  const JobResult result = RunOk(job);
  EXPECT_EQ(result.verdict.outcome, Outcome::kPidsLimit);
  EXPECT_GT(result.facts.counters.pids_limit_hits, 0u);
}

TEST(RunJob, NothingIsLeftOfManyAtOnce) {
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 5; ++k) {
        EXPECT_EQ(RunOk(Bash("echo hi")).stdout_result.data, "hi\n");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(g_sandbox->WaitUntilEmpty(absl::Seconds(10)));
}

}  // namespace
}  // namespace sandglass::server

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  char name[] = "/tmp/sandglass-jail-test-XXXXXX";
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
