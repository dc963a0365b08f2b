// Each limit stops what it is for, and the evidence says so.

#include <functional>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// A limit that acts must do so long before this.
constexpr absl::Duration kSoon = absl::Seconds(25);

class LimitsTest : public DaemonTest {};

void ExpectLimit(const RunResult& result, v1::LimitKind kind,
                 uint64_t configured) {
  const v1::Evidence& evidence = result.response.evidence();
  EXPECT_EQ(v1::LimitKind_Name(evidence.limit().kind()),
            v1::LimitKind_Name(kind));
  EXPECT_EQ(evidence.limit().configured(), configured);
  EXPECT_FALSE(evidence.rule().empty());
  EXPECT_FALSE(evidence.explanation().empty());
}

std::optional<v1::LimitReading> Touched(const RunResult& result,
                                        v1::LimitKind kind) {
  for (const auto& reading : result.response.evidence().limits_touched()) {
    if (reading.kind() == kind) return reading;
  }
  return std::nullopt;
}

TEST_F(LimitsTest, WallTimeStopsASleeper) {
  const RunResult result =
      Run(WithWall(Bash("echo before; sleep 60"), absl::Seconds(1)));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
  ExpectLimit(result, v1::LIMIT_KIND_WALL_TIME, 1'000'000'000);
  const v1::Evidence& evidence = result.response.evidence();
  EXPECT_GE(evidence.limit().measured(), 1'000'000'000U);
  EXPECT_LT(evidence.limit().measured(), 4'000'000'000U);
  EXPECT_EQ(evidence.killed_by(), v1::KILLER_DAEMON);
  EXPECT_GE(ToAbsl(evidence.killed_after()), absl::Seconds(1));
  EXPECT_LT(ToAbsl(evidence.killed_after()), absl::Seconds(4));
  EXPECT_EQ(result.response.stdout().data(), "before\n");
  EXPECT_LT(result.elapsed, absl::Seconds(10));
}

TEST_F(LimitsTest, WallTimeStopsASpinner) {
  const RunResult result =
      Run(WithWall(Python("while True: pass"), absl::Milliseconds(700)));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
  EXPECT_LT(result.elapsed, absl::Seconds(10));
}

TEST_F(LimitsTest, CpuTimeStopsASpinner) {
  v1::RunCodeRequest request = Python("while True: pass");
  SetDuration(request.mutable_limits()->mutable_cpu_time(),
              absl::Milliseconds(500));
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_CPU_LIMIT));
  ExpectLimit(result, v1::LIMIT_KIND_CPU_TIME, 500'000'000);
  EXPECT_GE(result.response.evidence().limit().measured(), 500'000'000U);
  EXPECT_LT(result.response.evidence().limit().measured(), 3'000'000'000U);
  EXPECT_EQ(result.response.evidence().killed_by(), v1::KILLER_DAEMON);
  EXPECT_LT(result.elapsed, kSoon);
}

TEST_F(LimitsTest, CpuTimeCountsAllProcessesTogether) {
  // Each child alone stays below the limit; the parent sleeps.
  v1::RunCodeRequest request = Python(R"(
import os, time
for _ in range(5):
    if os.fork() == 0:
        while time.process_time() < 0.5: pass
        os._exit(0)
time.sleep(25)
)");
  SetDuration(request.mutable_limits()->mutable_cpu_time(), absl::Seconds(1));
  EXPECT_THAT(Run(request), OutcomeIs(v1::OUTCOME_CPU_LIMIT));
}

TEST_F(LimitsTest, SleepingCostsNoCpuTime) {
  v1::RunCodeRequest request = Bash("sleep 2");
  SetDuration(request.mutable_limits()->mutable_cpu_time(), absl::Seconds(1));
  EXPECT_THAT(Run(request), OutcomeIs(v1::OUTCOME_OK));
}

TEST_F(LimitsTest, CpuShareHoldsASpinnerBack) {
  v1::RunCodeRequest request = Python(
      "import time\nend = time.monotonic() + 2\n"
      "while time.monotonic() < end: pass\nprint(time.process_time())");
  request.mutable_limits()->set_cpu_millis(200);
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_LT(std::stod(result.response.stdout().data()), 1.0)
      << "a fifth of a processor for two seconds is 0.4 s";
  EXPECT_GT(result.response.evidence().counters().cpu_throttled_periods(), 0U);
}

TEST_F(LimitsTest, MemoryStopsAnEndlessAllocation) {
  v1::RunCodeRequest request = Python(
      "blocks = []\nwhile True: blocks.append(bytearray(b'x') * (1 << 20))");
  request.mutable_limits()->set_memory_bytes(64 * kMiB);
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_MEMORY_LIMIT));
  ExpectLimit(result, v1::LIMIT_KIND_MEMORY, 64 * kMiB);
  const v1::Evidence& evidence = result.response.evidence();
  EXPECT_EQ(evidence.killed_by(), v1::KILLER_KERNEL_OOM);
  EXPECT_GE(evidence.counters().oom_kills(), 1U);
  EXPECT_GE(evidence.limit().measured(), 60 * kMiB);
  EXPECT_LE(evidence.limit().measured(), 64 * kMiB);
  EXPECT_LT(result.elapsed, kSoon);
}

TEST_F(LimitsTest, MemoryOfAChildEndsTheWholeRun) {
  // The parent would hide the kill and exit with 0.
  v1::RunCodeRequest request = Python(R"(
import subprocess, sys
subprocess.run([sys.executable, '-c',
    'b = []\nwhile True: b.append(bytearray(b"x") * (1 << 20))'])
import time; time.sleep(20)
)");
  request.mutable_limits()->set_memory_bytes(64 * kMiB);
  const RunResult result = Run(request);
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_MEMORY_LIMIT));
  EXPECT_LT(result.elapsed, absl::Seconds(18))
      << "the parent went on after the kill";
}

TEST_F(LimitsTest, MemoryJustBelowTheLimitIsFine) {
  v1::RunCodeRequest request =
      Python("block = bytearray(b'x') * (40 << 20)\nprint(len(block))");
  request.mutable_limits()->set_memory_bytes(96 * kMiB);
  EXPECT_THAT(Run(request), OutcomeIs(v1::OUTCOME_OK));
}

TEST_F(LimitsTest, FilesInTmpfsCountAsMemory) {
  const std::string allocate =
      "block = bytearray(b'x') * (60 << 20)\nprint(len(block))";
  const std::string fill =
      "for place in ('/tmp', '/workspace'):\n"
      "    open(place + '/fill', 'wb').write(b'y' * (22 << 20))\n";
  v1::RunCodeRequest request = Python(allocate);
  request.mutable_limits()->set_memory_bytes(96 * kMiB);
  request.mutable_limits()->set_tmp_bytes(24 * kMiB);
  request.mutable_limits()->set_workspace_bytes(24 * kMiB);
  EXPECT_THAT(Run(request), OutcomeIs(v1::OUTCOME_OK));
  request.set_code(fill + allocate);
  EXPECT_THAT(Run(request), OutcomeIs(v1::OUTCOME_MEMORY_LIMIT));
}

TEST_F(LimitsTest, ProcessesStopAtTheirNumber) {
  v1::RunCodeRequest request = Python(R"(
import os, sys, time
children = 0
try:
    while children < 1000:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        children += 1
except BlockingIOError:
    print(children)
    sys.exit(5)
)");
  request.mutable_limits()->set_max_processes(20);
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_PIDS_LIMIT));
  ExpectLimit(result, v1::LIMIT_KIND_PROCESSES, 20);
  EXPECT_EQ(result.response.exit_code(), 5);
  EXPECT_GE(result.response.evidence().counters().pids_limit_hits(), 1U);
  const int children = std::stoi(result.response.stdout().data());
  EXPECT_GE(children, 15);
  EXPECT_LE(children, 20);
  EXPECT_GE(result.response.evidence().leftover_processes(), 15U);
}

TEST_F(LimitsTest, ThreadsCountAsProcesses) {
  v1::RunCodeRequest request = Python(R"(
import threading, time
for _ in range(200):
    threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
)");
  request.mutable_limits()->set_max_processes(30);
  EXPECT_THAT(Run(request), OutcomeIs(v1::OUTCOME_PIDS_LIMIT));
}

TEST_F(LimitsTest, ATouchedLimitIsEvidenceWhenTheExitIsZero) {
  v1::RunCodeRequest request = Python(R"(
import os, time
try:
    while True:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
except BlockingIOError:
    print('handled')
)");
  request.mutable_limits()->set_max_processes(20);
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_FALSE(result.response.evidence().has_limit());
  const auto touched = Touched(result, v1::LIMIT_KIND_PROCESSES);
  ASSERT_TRUE(touched.has_value());
  EXPECT_EQ(touched->configured(), 20U);
}

TEST_F(LimitsTest, AFullDiskIsNamedWhenTheProgramFails) {
  const std::pair<const char*, v1::LimitKind> places[] = {
      {"/tmp", v1::LIMIT_KIND_TMP_BYTES},
      {"/workspace", v1::LIMIT_KIND_WORKSPACE_BYTES}};
  for (const auto& [place, kind] : places) {
    v1::RunCodeRequest request =
        Bash(absl::StrCat("head -c 1G /dev/zero > ", place, "/fill"));
    request.mutable_limits()->set_tmp_bytes(8 * kMiB);
    request.mutable_limits()->set_workspace_bytes(8 * kMiB);
    const RunResult result = Run(request);
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_DISK_LIMIT)) << place;
    ExpectLimit(result, kind, 8 * kMiB);
    EXPECT_LT(result.elapsed, kSoon);
  }
}

TEST_F(LimitsTest, AFullDiskIsOnlyTouchedWhenTheProgramCopes) {
  v1::RunCodeRequest request =
      Bash("head -c 1G /dev/zero > /tmp/fill 2>/dev/null; exit 0");
  request.mutable_limits()->set_tmp_bytes(8 * kMiB);
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_TRUE(Touched(result, v1::LIMIT_KIND_TMP_BYTES).has_value());
}

TEST_F(LimitsTest, HomeAndSharedMemoryShareTheBytesOfTmp) {
  v1::RunCodeRequest request =
      Bash("head -c 5M /dev/zero > /tmp/a && head -c 5M /dev/zero > ~/b");
  request.mutable_limits()->set_tmp_bytes(8 * kMiB);
  EXPECT_THAT(Run(request), OutcomeIs(v1::OUTCOME_DISK_LIMIT));
  request.set_code(
      "head -c 5M /dev/zero > /tmp/a && head -c 5M /dev/zero > /dev/shm/b");
  EXPECT_THAT(Run(request), OutcomeIs(v1::OUTCOME_DISK_LIMIT));
}

TEST_F(LimitsTest, AMillionFilesAreStopped) {
  for (const char* place : {"/tmp", "/workspace"}) {
    v1::RunCodeRequest request = Python(absl::StrCat(
        "for i in range(1_000_000): open(f'", place, "/f{i}', 'w').close()"));
    request.mutable_limits()->set_max_files(2000);
    const RunResult result = Run(request);
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_DISK_LIMIT)) << place;
    ExpectLimit(result, v1::LIMIT_KIND_FILE_COUNT, 2000);
    EXPECT_LT(result.elapsed, kSoon);
  }
}

TEST_F(LimitsTest, AGigabyteOfOutputIsStopped) {
  const RunResult result = Run(Bash("head -c 1G /dev/zero"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OUTPUT_LIMIT));
  const uint64_t total = result.response.limits().output_total_bytes();
  ExpectLimit(result, v1::LIMIT_KIND_OUTPUT_TOTAL_BYTES, total);
  EXPECT_GE(result.response.evidence().limit().measured(), total);
  EXPECT_EQ(result.response.evidence().killed_by(), v1::KILLER_DAEMON);
  EXPECT_TRUE(result.response.stdout().truncated());
  EXPECT_GE(result.response.stdout().total_bytes(), total);
  EXPECT_LT(result.response.stdout().total_bytes(), uint64_t{1} << 30);
  EXPECT_EQ(result.response.stdout().data().size(), kMiB);
  EXPECT_LT(result.elapsed, kSoon);
}

TEST_F(LimitsTest, BothStreamsCountTowardsTheTotalOfOutput) {
  v1::RunCodeRequest request =
      Bash("head -c 700K /dev/zero; head -c 700K /dev/zero >&2; sleep 20");
  request.mutable_limits()->set_output_total_bytes(kMiB);
  const RunResult result = Run(request);
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OUTPUT_LIMIT));
  EXPECT_LT(result.elapsed, absl::Seconds(15));
}

TEST_F(LimitsTest, OpenFilesStopAtTheirNumber) {
  v1::RunCodeRequest request = Python(R"(
import errno
files = []
try:
    while True:
        files.append(open('/dev/null'))
except OSError as e:
    print(errno.errorcode[e.errno], len(files))
)");
  request.mutable_limits()->set_open_files(32);
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(result.response.stdout().data(),
              ::testing::MatchesRegex("EMFILE (2[0-9]|3[0-2])\n"));
}

TEST_F(LimitsTest, FileSizeEndsTheProgramThatGoesOverIt) {
  v1::RunCodeRequest request = Bash("exec head -c 8M /dev/zero > big");
  request.mutable_limits()->set_file_size_bytes(kMiB);
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_FILE_SIZE_LIMIT));
  ExpectLimit(result, v1::LIMIT_KIND_FILE_SIZE, kMiB);
  EXPECT_EQ(result.response.signal().name(), "SIGXFSZ");
}

TEST_F(LimitsTest, TightenedValuesAreInForceAndInTheAnswer) {
  v1::RunCodeRequest request = Python(R"(
import os, resource
tmp, work = os.statvfs('/tmp'), os.statvfs('/workspace')
print(tmp.f_blocks * tmp.f_frsize, work.f_blocks * work.f_frsize)
print(resource.getrlimit(resource.RLIMIT_NOFILE)[1])
print(resource.getrlimit(resource.RLIMIT_FSIZE)[1])
)");
  v1::Limits* limits = request.mutable_limits();
  SetDuration(limits->mutable_wall_time(), absl::Seconds(7));
  SetDuration(limits->mutable_cpu_time(), absl::Seconds(6));
  limits->set_memory_bytes(80 * kMiB);
  limits->set_max_processes(11);
  limits->set_cpu_millis(900);
  limits->set_tmp_bytes(9 * kMiB);
  limits->set_workspace_bytes(10 * kMiB);
  limits->set_max_files(777);
  limits->set_output_bytes(5000);
  limits->set_output_total_bytes(6000);
  limits->set_open_files(44);
  limits->set_file_size_bytes(3 * kMiB);
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.limits().SerializeAsString(),
            limits->SerializeAsString())
      << result.response.limits().ShortDebugString();
  EXPECT_EQ(result.response.stdout().data(),
            absl::StrCat(9 * kMiB, " ", 10 * kMiB, "\n44\n", 3 * kMiB, "\n"));
}

TEST_F(LimitsTest, AWishAboveTheProfileIsRefusedByName) {
  v1::GetServerInfoResponse info;
  ASSERT_THAT(client().Info(&info), IsOk());
  v1::Limits maximum;
  for (const v1::ProfileInfo& profile : info.profiles()) {
    if (profile.name() == "default") maximum = profile.maximum_limits();
  }
  struct Wish {
    const char* field;
    std::function<void(v1::Limits*)> set;
  };
  const Wish wishes[] = {
      {"wall_time",
       [&](v1::Limits* l) {
         SetDuration(l->mutable_wall_time(),
                     ToAbsl(maximum.wall_time()) + absl::Seconds(1));
       }},
      {"cpu_time",
       [&](v1::Limits* l) {
         SetDuration(l->mutable_cpu_time(),
                     ToAbsl(maximum.cpu_time()) + absl::Seconds(1));
       }},
      {"memory_bytes",
       [&](v1::Limits* l) { l->set_memory_bytes(maximum.memory_bytes() + 1); }},
      {"max_processes",
       [&](v1::Limits* l) {
         l->set_max_processes(maximum.max_processes() + 1);
       }},
      {"cpu_millis",
       [&](v1::Limits* l) { l->set_cpu_millis(maximum.cpu_millis() + 1); }},
      {"tmp_bytes",
       [&](v1::Limits* l) { l->set_tmp_bytes(maximum.tmp_bytes() + 1); }},
      {"workspace_bytes",
       [&](v1::Limits* l) {
         l->set_workspace_bytes(maximum.workspace_bytes() + 1);
       }},
      {"max_files",
       [&](v1::Limits* l) { l->set_max_files(maximum.max_files() + 1); }},
      {"output_bytes",
       [&](v1::Limits* l) { l->set_output_bytes(maximum.output_bytes() + 1); }},
      {"output_total_bytes",
       [&](v1::Limits* l) {
         l->set_output_total_bytes(maximum.output_total_bytes() + 1);
       }},
      {"open_files",
       [&](v1::Limits* l) { l->set_open_files(maximum.open_files() + 1); }},
      {"file_size_bytes",
       [&](v1::Limits* l) {
         l->set_file_size_bytes(maximum.file_size_bytes() + 1);
       }},
  };
  for (const Wish& wish : wishes) {
    v1::RunCodeRequest request = Bash("true");
    wish.set(request.mutable_limits());
    EXPECT_THAT(Run(request),
                RefusesField(absl::StrCat("limits.", wish.field)));
  }
}

TEST_F(LimitsTest, ALimitThatCannotWorkIsRefusedByName) {
  v1::RunCodeRequest zero = Bash("true");
  zero.mutable_limits()->set_memory_bytes(0);
  EXPECT_THAT(Run(zero), RefusesField(std::string("limits.memory_bytes")));
  v1::RunCodeRequest negative = WithWall(Bash("true"), -absl::Seconds(1));
  EXPECT_THAT(Run(negative), RefusesField(std::string("limits.wall_time")));
  v1::RunCodeRequest nothing = WithWall(Bash("true"), absl::ZeroDuration());
  EXPECT_THAT(Run(nothing), RefusesField(std::string("limits.wall_time")));
  v1::RunCodeRequest none = Bash("true");
  none.mutable_limits()->set_max_processes(0);
  EXPECT_THAT(Run(none), RefusesField(std::string("limits.max_processes")));
}

}  // namespace
}  // namespace sandglass::testing
