// What those who run the daemon see of it: readiness, counts, metrics, traces.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/architecture/architecture.h"
#include "server/base/errors.h"
#include "server/base/proto_time.h"
#include "server/edge/trace_context.h"
#include "server/metrics/metrics_config.h"
#include "server/ops/metrics.h"
#include "server/ops/readiness.h"
#include "server/ops/readiness_watch.h"
#include "server/ops/status.h"
#include "server/ops/usage_counter.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kTrace[] = "0af7651916cd43dd8448eb211c80319c";

TEST(TraceContext, TakesTheTraceIdOfAWellFormedHeader) {
  EXPECT_EQ(
      ParseTraceparent(absl::StrCat("00-", kTrace, "-b7ad6b7169203331-01")),
      kTrace);
  // A later version may have more behind it.
  EXPECT_EQ(
      ParseTraceparent(absl::StrCat("01-", kTrace, "-b7ad6b7169203331-01-x")),
      kTrace);
}

TEST(TraceContext, WhatIsNotWellFormedIsNoTrace) {
  const std::string good = absl::StrCat("00-", kTrace, "-b7ad6b7169203331-01");
  for (const std::string& bad :
       {std::string(), good.substr(1), good.substr(0, good.size() - 1),
        good + "-x", absl::StrCat("ff", good.substr(2)),
        absl::StrCat("0x", good.substr(2)),
        absl::StrReplaceAll(good, {{"a", "A"}}),
        absl::StrReplaceAll(good, {{kTrace, std::string(32, '0')}}),
        absl::StrReplaceAll(good, {{"b7ad6b7169203331", "0000000000000000"}}),
        absl::StrReplaceAll(good, {{"-", "_"}}), std::string(1 << 20, '0')}) {
    EXPECT_EQ(ParseTraceparent(bad), "") << bad.substr(0, 80);
  }
}

class ReadinessTest : public ::testing::Test {
 protected:
  void Start() {
    readiness_.Start([this](const std::string& service, bool serving) {
      told_.push_back(absl::StrCat(service, serving ? " yes" : " no"));
    });
  }
  Readiness readiness_;
  std::vector<std::string> told_;
};

TEST_F(ReadinessTest, IsNotReadyUntilItsJailsWereTried) {
  Start();
  EXPECT_FALSE(readiness_.Ready());
  EXPECT_THAT(told_, AllOf(SizeIs(10), Contains(" no"),
                           Contains("sandglass.v1.SandboxService no"),
                           Contains("sandglass.v1.OperatorService yes")));
  told_.clear();
  readiness_.Set(ReadyWhen::kIsolation, absl::OkStatus(), "it held");
  EXPECT_TRUE(readiness_.Ready());
  EXPECT_EQ(told_.back(), " yes");
  EXPECT_THAT(told_, AllOf(Contains("sandglass.v1.SandboxService yes"),
                           Not(Contains("sandglass.v1.OperatorService yes"))));
}

TEST_F(ReadinessTest, AConditionTakesAwayOnlyTheServicesThatNeedIt) {
  readiness_.Set(ReadyWhen::kIsolation, absl::OkStatus());
  Start();
  told_.clear();
  readiness_.Set(ReadyWhen::kLanguages, absl::InternalError("ruby is broken"));
  EXPECT_THAT(told_, ElementsAre(" no"));
  readiness_.Set(ReadyWhen::kAudit, absl::InternalError("disk full"));
  EXPECT_THAT(told_, AllOf(Contains("sandglass.v1.SandboxService no"),
                           Contains("sandglass.v1.ExecService no"),
                           Not(Contains("sandglass.v1.PolicyService no"))));
  const auto conditions = readiness_.Conditions();
  ASSERT_THAT(conditions, SizeIs(kReadyConditions));
  EXPECT_TRUE(conditions[0].holds());
  EXPECT_FALSE(conditions[1].holds());
  EXPECT_EQ(conditions[1].detail(), "ruby is broken");
}

TEST_F(ReadinessTest, IsReadyWithWhatOnlyTheOperatorNeedsToKnow) {
  readiness_.Set(ReadyWhen::kIsolation, absl::OkStatus());
  Start();
  told_.clear();
  readiness_.Set(ReadyWhen::kPolicy, absl::InternalError("bad.json"));
  readiness_.Set(ReadyWhen::kWarm, absl::InternalError("no python"));
  EXPECT_TRUE(readiness_.Ready());
  EXPECT_THAT(told_, IsEmpty());
  const auto conditions = readiness_.Conditions();
  EXPECT_EQ(conditions[static_cast<int>(ReadyWhen::kPolicy)].name(), "policy");
  EXPECT_FALSE(conditions[static_cast<int>(ReadyWhen::kPolicy)].holds());
  EXPECT_FALSE(conditions[static_cast<int>(ReadyWhen::kWarm)].holds());
}

TEST_F(ReadinessTest, NothingIsServedAfterItsEnd) {
  readiness_.Set(ReadyWhen::kIsolation, absl::OkStatus());
  Start();
  told_.clear();
  readiness_.Stop();
  EXPECT_THAT(told_, SizeIs(10));
  EXPECT_FALSE(readiness_.Ready());
  readiness_.Set(ReadyWhen::kDisk, absl::InternalError("full"));
  EXPECT_THAT(told_, SizeIs(10));
}

PoolKeyState StateOf(uint32_t idle, uint64_t filled, uint64_t failures) {
  PoolKeyState state{};
  state.key.kind = "exec";
  state.key.profile = "default";
  state.idle = idle;
  state.target = 2;
  state.filled = filled;
  state.fill_failures = failures;
  return state;
}

TEST(PoolWatch, FailsWhileNoJailCanBeMade) {
  PoolWatch watch;
  EXPECT_EQ(watch.Check({StateOf(0, 0, 0)}).jails, absl::OkStatus());
  EXPECT_THAT(std::string(watch.Check({StateOf(0, 0, 3)}).jails.message()),
              HasSubstr("no jails can be made: for profile default"));
  // Nobody has tried since.
  EXPECT_FALSE(watch.Check({StateOf(0, 0, 3)}).jails.ok());
  EXPECT_EQ(watch.Check({StateOf(1, 1, 3)}).jails, absl::OkStatus());
  // Another failure beside jails that wait is none.
  EXPECT_EQ(watch.Check({StateOf(1, 1, 4)}).jails, absl::OkStatus());
  // Without an interpreter that waits runs start one.
  PoolKeyState python = StateOf(0, 0, 29);
  python.key.kind = "python-lean";
  const PoolWatch::Found found = watch.Check({StateOf(1, 1, 4), python});
  EXPECT_EQ(found.jails, absl::OkStatus());
  EXPECT_THAT(std::string(found.warm.message()),
              HasSubstr("python-lean for profile default (29 failures)"));
  python.idle = 1;
  python.filled = 1;
  EXPECT_EQ(watch.Check({StateOf(1, 1, 4), python}).warm, absl::OkStatus());
}

TEST(YardConditions, HoldsWhileAYardMakesWhatJailsAreMadeOf) {
  EXPECT_EQ(JudgeYards({}), absl::OkStatus());
  sandbox::YardStock exec;
  exec.kind = sandbox::kExecKind;
  exec.setup_failures = 3;
  EXPECT_EQ(JudgeYards({exec}), absl::OkStatus());
  exec.failing = "mkdir: no space";
  EXPECT_EQ(JudgeYards({exec}).message(),
            "no more jails can be made than are left: mkdir: no space (3 "
            "failures)");
  // Without those that an interpreter waits in runs are only slower.
  exec.kind = "python-lean";
  EXPECT_EQ(JudgeYards({exec}), absl::OkStatus());
}

TEST(CheckRoom, NamesADirectoryWithoutRoom) {
  EXPECT_EQ(CheckRoom({"/no/such/directory"}), absl::OkStatus());
  EXPECT_EQ(CheckRoom({"/"}), absl::OkStatus());
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const auto room = [](uint64_t mib, uint64_t free_bytes, uint64_t files,
                       uint64_t free_files) {
    return JudgeRoom("/x", {mib << 20, free_bytes, files, free_files});
  };
  EXPECT_EQ(room(1000, 16 * kMiB, 10000, 100), absl::OkStatus());
  EXPECT_THAT(room(1000, 16 * kMiB - 1, 10000, 100).message(),
              HasSubstr("/x has only 16777215 bytes left"));
  EXPECT_THAT(room(1000, 16 * kMiB, 10000, 99).message(),
              HasSubstr("/x has room for only 99 more files"));
  // A file system that doesn't count files.
  EXPECT_EQ(room(1000, 16 * kMiB, 0, 0), absl::OkStatus());
  // A small one.
  EXPECT_EQ(room(1, kMiB / 20, 40, 2), absl::OkStatus());
  EXPECT_FALSE(room(1, kMiB / 20 - 1, 40, 2).ok());
  EXPECT_FALSE(room(1, kMiB, 40, 1).ok());
}

v1::RunCodeResponse ResponseOf(const std::string& language,
                               v1::Outcome outcome) {
  v1::RunCodeResponse response;
  response.set_language(language);
  response.set_outcome(outcome);
  v1::Usage& usage = *response.mutable_usage();
  *usage.mutable_wall_time() = ToProto(absl::Seconds(2));
  *usage.mutable_cpu_user_time() = ToProto(absl::Milliseconds(1500));
  usage.set_peak_memory_bytes(1000);
  response.mutable_timings()->set_warm(true);
  *response.mutable_timings()->mutable_run() = ToProto(absl::Seconds(2));
  *response.mutable_timings()->mutable_total() = ToProto(absl::Seconds(3));
  return response;
}

TEST(UsageCounter, CountsByCallerAndLanguage) {
  UsageCounter usage_counter(absl::UnixEpoch());
  usage_counter.RecordRun(User(1), ResponseOf("python", v1::OUTCOME_OK));
  usage_counter.RecordRun(User(1), ResponseOf("python", v1::OUTCOME_TIMEOUT));
  usage_counter.RecordRun(User(2), ResponseOf("bash", v1::OUTCOME_OK));
  usage_counter.RecordError(User(2), "bash", QueueFull(3, absl::Seconds(1)));
  const v1::GetUsageResponse all =
      usage_counter.Usage(std::nullopt, absl::FromUnixSeconds(60));
  ASSERT_EQ(all.totals_size(), 2);
  EXPECT_EQ(all.totals(0).caller(), User(1).name);
  EXPECT_EQ(all.totals(0).runs(), 2u);
  EXPECT_EQ(FromProto(all.totals(0).cpu_time()), absl::Seconds(3));
  EXPECT_DOUBLE_EQ(all.totals(0).memory_byte_seconds(), 4000);
  EXPECT_EQ(all.totals(1).refused(), 1u);
  EXPECT_EQ(usage_counter.Usage(User(2).name, absl::Now()).totals_size(), 1);
  ASSERT_THAT(usage_counter.Errors(), SizeIs(1));
  EXPECT_EQ(usage_counter.Errors()[0].reason(), "QUEUE_FULL");
  EXPECT_THAT(usage_counter.Runs(), SizeIs(3));
}

TEST(UsageCounter, WhatWasNotLetRunIsNoRunAndCompilersCount) {
  UsageCounter usage_counter(absl::UnixEpoch());
  usage_counter.RecordRun(User(1), ResponseOf("cpp", v1::OUTCOME_DENIED));
  v1::RunCodeResponse failed;
  failed.set_language("cpp");
  failed.set_outcome(v1::OUTCOME_COMPILE_ERROR);
  failed.mutable_evidence()->set_phase(v1::PHASE_COMPILE);
  *failed.mutable_compile()->mutable_usage() =
      ResponseOf("cpp", v1::OUTCOME_OK).usage();
  usage_counter.RecordRun(User(1), failed);
  const v1::GetUsageResponse usage =
      usage_counter.Usage(std::nullopt, absl::Now());
  ASSERT_EQ(usage.totals_size(), 1);
  EXPECT_EQ(usage.totals(0).runs(), 1u);
  EXPECT_EQ(usage.totals(0).refused(), 1u);
  EXPECT_EQ(FromProto(usage.totals(0).cpu_time()), absl::Seconds(3));
}

TEST(UsageCounter, CallersBeyondTheLimitAreCountedTogether) {
  UsageCounter usage_counter(absl::UnixEpoch());
  for (uid_t uid = 1; uid <= UsageCounter::kMaxCallers + 5; ++uid) {
    usage_counter.RecordRun(User(uid), ResponseOf("bash", v1::OUTCOME_OK));
  }
  const v1::GetUsageResponse usage =
      usage_counter.Usage(UsageCounter::kOthers, absl::Now());
  EXPECT_TRUE(usage.others());
  ASSERT_EQ(usage.totals_size(), 1);
  EXPECT_EQ(usage.totals(0).runs(), 5u);
  // One that was there before still has its own.
  usage_counter.RecordRun(User(1), ResponseOf("bash", v1::OUTCOME_OK));
  EXPECT_EQ(usage_counter.Usage(User(1).name, absl::Now()).totals(0).runs(),
            2u);
}

TEST(Metrics, TellOfRunsInPrometheussOwnForm) {
  Metrics metrics;
  metrics.RecordRun(ResponseOf("python", v1::OUTCOME_OK));
  metrics.RecordRun(ResponseOf("python", v1::OUTCOME_MEMORY_LIMIT));
  metrics.RecordCall("/sandglass.v1.SandboxService/RunCode", 8,
                     absl::Milliseconds(3));
  Metrics::State state;
  state.status.set_version("1.2.3");
  state.status.set_ready(true);
  v1::PoolKind& kind = *state.status.add_pool();
  kind.set_kind("exec");
  kind.set_profile("default");
  kind.set_idle(3);
  const std::string text = metrics.Text(state);
  for (const char* line :
       {"sandglass_runs_total{language=\"python\",outcome=\"OK\","
        "warm=\"true\"} 1\n",
        "sandglass_limit_hits_total{language=\"python\",limit=\"memory\"} 1\n",
        "sandglass_run_duration_seconds_count{language=\"python\","
        "warm=\"true\"} 2\n",
        "sandglass_run_cpu_seconds_total{language=\"python\"} 3\n",
        "grpc_server_handled_total{grpc_code=\"RESOURCE_EXHAUSTED\","
        "grpc_method=\"RunCode\",grpc_service=\"sandglass.v1.SandboxService\"}"
        " 1\n",
        "sandglass_build_info{version=\"1.2.3\"} 1\n", "sandglass_ready 1\n",
        "sandglass_pool_ready{kind=\"exec\",profile=\"default\"} 3\n",
        "# TYPE sandglass_run_duration_seconds histogram\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(Metrics, TellOfRefusedCallsByNamesThatProgramsCanNotMakeUp) {
  constexpr uint32_t kI386 = 0x40000003;
  Metrics metrics;
  metrics.RecordRefusedCalls(
      "python", {.calls = {{.architecture = policy::kArchitecture,
                            .number = SYS_unshare,
                            .count = 2},
                           {.architecture = policy::kArchitecture,
                            .number = 9999,
                            .count = 4},
                           {.architecture = kI386, .number = 102, .count = 8}},
                 .others = 16});
  const std::string text = metrics.Text({});
  EXPECT_THAT(text,
              HasSubstr("sandglass_seccomp_denials_total{call=\"unshare\","
                        "language=\"python\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("sandglass_seccomp_denials_total{call=\"other\","
                              "language=\"python\"} 28\n"));
}

TEST(MetricsConfig, TakesNumericAddressesOnly) {
  for (const char* good : {"", "127.0.0.1:9464", "[::1]:0", "0.0.0.0:80"}) {
    EXPECT_THAT(MetricsAddress(good).value_or("none"), good);
  }
  EXPECT_EQ(MetricsAddress("9464").value_or("none"), "127.0.0.1:9464");
  for (const char* bad : {"94640", ":9464", "localhost:9464", "127.0.0.1",
                          "127.0.0.1:", "127.0.0.1:65536", "::1:9464", "-1",
                          "127.0.0.1:9464,127.0.0.1:80", "[127.0.0.1]:80"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(MetricsAddress(bad).status())) << bad;
  }
  EXPECT_FALSE(IsOpenToOthers("127.0.0.1:9464"));
  EXPECT_FALSE(IsOpenToOthers("[::1]:9464"));
  EXPECT_TRUE(IsOpenToOthers("0.0.0.0:9464"));
}

TEST(FillProcess, SeesThisProcess) {
  v1::GetStatusResponse state;
  FillProcess(state);
  EXPECT_GT(state.resident_bytes(), 1u << 20);
  EXPECT_GE(state.threads(), 1u);
  EXPECT_GE(state.open_fds(), 3u);
  EXPECT_GE(state.max_open_fds(), state.open_fds());
}

}  // namespace
}  // namespace sandglass::server
