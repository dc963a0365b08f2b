// Programs are looked at before they run; here by scripted analysers.

#include "server/job/inspection.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/job/job_builder.h"
#include "server/phases/run_phases.h"
#include "tests/unit/server/scripted_runner.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kNothing[] = "sandglass-facts 1\nend\n";
constexpr char kUsesOs[] = "sandglass-facts 1\nimport\t0\t2\t1\t1\tos\t\nend\n";
constexpr char kNoProgram[] =
    "sandglass-facts 1\nsyntax-error\t0\t1\t1\t1\tbad\t\nend\n";

class InspectionTest : public ::testing::Test {
 protected:
  InspectionTest() {
    language_.id = "toy";
    language_.source_file = "main.toy";
    language_.extensions = {".toy"};
    language_.run = {"/usr/bin/toy", "${source}"};
    language_.analyser = policy::AnalyserRecipe{
        .command = {"/usr/bin/toy-look", "${sources}"}, .opaque = {".bin"}};
    profile_.name = "p";
    AddRule("os", policy::Severity::kDeny, policy::RuleKind::kModules, {"os"});
  }
  void AddRule(const std::string& id, policy::Severity severity,
               policy::RuleKind kind, std::vector<std::string> names = {}) {
    profile_.rules.push_back({id, severity, "", {}, kind, std::move(names)});
  }

  Job MakeJob() const {
    Job job;
    job.source_file = "main.toy";
    job.code = "code";
    job.argv = {"/usr/bin/toy", "main.toy"};
    job.files = {{.path = "lib.toy", .content = "more"},
                 {.path = "data.txt", .content = "d"}};
    job.inspection = MakeInspection(
        std::make_shared<const policy::Profile>(profile_), language_, job);
    return job;
  }

  // What looks says `said` with this exit status; what runs says "out".
  JobResult Run(Job job, CompileCache* cache = nullptr) {
    ScriptedRunner runner([this](const Job& ran, CancelToken&, RunListener*) {
      ran_.push_back(ran);
      if (ran.phase != policy::Phase::kAnalysis) {
        if (!refuse_look_.empty() && ran.inspection != nullptr) {
          JobResult result;
          result.not_looked_at = refuse_look_ == "nobody" ? "" : refuse_look_;
          return absl::StatusOr<JobResult>(std::move(result));
        }
        return absl::StatusOr<JobResult>(OkResult(ran, "out"));
      }
      JobResult result = OkResult(ran, said_);
      result.facts.phase = ran.phase;
      result.facts.wait_status = status_;
      result.verdict = policy::Decide(result.facts, ran.limits);
      result.stderr_result.data = "it fell over\nmore";
      return absl::StatusOr<JobResult>(std::move(result));
    });
    CancelToken cancel;
    absl::StatusOr<JobResult> result =
        RunPhases(runner, job, std::nullopt, cancel, nullptr, cache);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : JobResult();
  }

  policy::Language language_;
  policy::Profile profile_;
  std::string said_ = kNothing;
  int status_ = 0;
  std::string refuse_look_;
  std::vector<Job> ran_;
};

TEST_F(InspectionTest, TheSourcesAloneAreLookedAtInAJailOfTheirOwn) {
  const JobResult result = Run(MakeJob());
  EXPECT_EQ(result.verdict.outcome, policy::Outcome::kOk);
  ASSERT_THAT(ran_, SizeIs(2));
  EXPECT_THAT(ran_[0].argv,
              ElementsAre("/usr/bin/toy-look", "main.toy", "./lib.toy"));
  EXPECT_EQ(ran_[0].code, "code");
  ASSERT_THAT(ran_[0].files, SizeIs(1));
  EXPECT_EQ(ran_[0].files[0].content, "more");
  EXPECT_EQ(ran_[0].inspection, nullptr);
  EXPECT_LE(ran_[0].limits.wall_time, absl::Seconds(10));
  EXPECT_EQ(ran_[1].argv, MakeJob().argv);
  ASSERT_NE(result.inspected, nullptr);
  EXPECT_THAT(result.inspected->findings.list, IsEmpty());
  EXPECT_GT(result.timings.analysis, absl::ZeroDuration());
}

TEST_F(InspectionTest, WhatIsForbiddenDoesNotRun) {
  said_ = kUsesOs;
  const JobResult result = Run(MakeJob());
  EXPECT_THAT(ran_, SizeIs(1));
  EXPECT_EQ(result.verdict.outcome, policy::Outcome::kDenied);
  EXPECT_EQ(result.verdict.rule, "policy-denied");
  EXPECT_THAT(result.verdict.explanation, HasSubstr("rule os"));
  EXPECT_THAT(result.verdict.explanation, HasSubstr("line 2"));
}

TEST_F(InspectionTest, AnAnalyserThatFailsStopsTheRun) {
  for (const auto& [said, status] : std::vector<std::pair<std::string, int>>{
           {"", 0},
           {kNothing, 1 << 8},
           {kNothing, SIGSEGV},
           {"sandglass-facts 1\n", 0},
           {"sandglass-facts 1\noverflow\n", 0},
           {"garbage\n", 0}}) {
    ran_.clear();
    said_ = said;
    status_ = status;
    const JobResult result = Run(MakeJob());
    EXPECT_THAT(ran_, SizeIs(1)) << said;
    EXPECT_EQ(result.verdict.outcome, policy::Outcome::kDenied) << said;
    ASSERT_NE(result.inspected, nullptr);
    ASSERT_THAT(result.inspected->findings.list, SizeIs(1));
    EXPECT_EQ(result.inspected->findings.list[0].rule, "analysis-failed");
  }
  EXPECT_THAT(Run(MakeJob()).verdict.explanation,
              HasSubstr("could not be looked at"));
  status_ = 1 << 8;
  EXPECT_THAT(Run(MakeJob()).verdict.explanation,
              HasSubstr("\"it fell over\""));
}

TEST_F(InspectionTest, ASyntaxErrorPassesNoGateButThatOfTheSameParser) {
  said_ = kNoProgram;
  EXPECT_EQ(Run(MakeJob()).verdict.outcome, policy::Outcome::kDenied);
  language_.analyser->same_parser = true;
  EXPECT_EQ(Run(MakeJob()).verdict.outcome, policy::Outcome::kOk);
  language_.analyser->same_parser = false;
  profile_.rules[0].severity = policy::Severity::kWarn;
  const JobResult warned = Run(MakeJob());
  EXPECT_EQ(warned.verdict.outcome, policy::Outcome::kOk);
  EXPECT_TRUE(warned.inspected->findings.syntax_error);
}

TEST_F(InspectionTest, FilesThatNobodyReadsCountAsNotLookedAt) {
  Job job = MakeJob();
  job.files.push_back({.path = "evil.bin", .content = "\x7f"});
  job.inspection = MakeInspection(
      std::make_shared<const policy::Profile>(profile_), language_, job);
  const JobResult result = Run(std::move(job));
  EXPECT_EQ(result.verdict.outcome, policy::Outcome::kDenied);
  EXPECT_THAT(result.verdict.explanation, HasSubstr("evil.bin"));
}

TEST_F(InspectionTest, WithoutARuleForItNothingIsDone) {
  profile_.rules[0].languages = {"other"};
  EXPECT_EQ(MakeJob().inspection, nullptr);
  profile_.rules.clear();
  EXPECT_EQ(MakeJob().inspection, nullptr);
  EXPECT_EQ(Run(MakeJob()).inspected, nullptr);
  EXPECT_THAT(ran_, SizeIs(1));
}

TEST_F(InspectionTest, RulesAboutTextNeedNoAnalyser) {
  profile_.rules.clear();
  AddRule("h", policy::Severity::kDeny, policy::RuleKind::kHiddenText);
  language_.analyser.reset();
  EXPECT_EQ(Run(MakeJob()).verdict.outcome, policy::Outcome::kOk);
  EXPECT_THAT(ran_, SizeIs(1));
  Job job = MakeJob();
  job.code = "a\xe2\x80\xae";
  EXPECT_EQ(Run(std::move(job)).verdict.outcome, policy::Outcome::kDenied);
  EXPECT_THAT(ran_, SizeIs(1));
}

TEST_F(InspectionTest, ALookThatARunnerDidNotTakeIsTakenApart) {
  language_.analyser->in_runner = true;
  const auto job = [this] {
    Job made = MakeJob();
    made.zygote = "toy-lean";
    return made;
  };
  EXPECT_TRUE(LooksInRunner(job()));
  refuse_look_ = "nobody";
  EXPECT_EQ(Run(job()).verdict.outcome, policy::Outcome::kOk);
  ASSERT_THAT(ran_, SizeIs(3));  // nobody looks, somebody else does, it runs
  EXPECT_EQ(ran_[1].phase, policy::Phase::kAnalysis);
  EXPECT_EQ(ran_[2].inspection, nullptr);
  said_ = kUsesOs;
  ran_.clear();
  EXPECT_EQ(Run(job()).verdict.outcome, policy::Outcome::kDenied);
  EXPECT_THAT(ran_, SizeIs(2));
  // One that tried and failed is not asked again.
  refuse_look_ = "that would take longer than 5s";
  ran_.clear();
  const JobResult failed = Run(job());
  EXPECT_EQ(failed.verdict.outcome, policy::Outcome::kDenied);
  EXPECT_THAT(failed.verdict.explanation, HasSubstr("longer than 5s"));
  EXPECT_THAT(ran_, SizeIs(1));
  profile_.rules[0].severity = policy::Severity::kWarn;
  ran_.clear();
  EXPECT_EQ(Run(job()).verdict.outcome, policy::Outcome::kOk);
  EXPECT_THAT(ran_, SizeIs(2));
}

// Has one approval; counts how often it is asked for it.
class FakeApprover final : public RunApprover {
 public:
  absl::StatusOr<std::optional<ApprovedBy>> Approve(
      const policy::Findings&) override {
    ++asked_;
    if (!answer_.ok()) return answer_;
    return ApprovedBy{"appr-1", "uid:0"};
  }

  int asked_ = 0;
  absl::Status answer_;
};

TEST_F(InspectionTest, AnApprovalIsUsedOnlyWhereARuleAsks) {
  profile_.rules[0].severity = policy::Severity::kRequireApproval;
  const auto approver = std::make_shared<FakeApprover>();
  const auto job = [&] {
    Job made = MakeJob();
    made.inspection->approver = approver;
    return made;
  };
  EXPECT_EQ(Run(job()).verdict.outcome, policy::Outcome::kOk);
  EXPECT_EQ(approver->asked_, 0);
  said_ = kUsesOs;
  EXPECT_EQ(Run(MakeJob()).verdict.outcome, policy::Outcome::kNeedsApproval);
  const JobResult approved = Run(job());
  EXPECT_EQ(approved.verdict.outcome, policy::Outcome::kOk);
  ASSERT_TRUE(approved.inspected->approved.has_value());
  EXPECT_EQ(approved.inspected->approved->approver, "uid:0");
  EXPECT_EQ(approver->asked_, 1);
  approver->answer_ = absl::FailedPreconditionError("somebody was faster");
  const JobResult late = Run(job());
  EXPECT_EQ(late.verdict.outcome, policy::Outcome::kNeedsApproval);
  EXPECT_THAT(late.verdict.explanation, HasSubstr("somebody was faster"));
  // Of a rule that forbids it approves nothing.
  approver->answer_ = absl::OkStatus();
  AddRule("also", policy::Severity::kDeny, policy::RuleKind::kModules, {"os"});
  approver->asked_ = 0;
  EXPECT_EQ(Run(job()).verdict.outcome, policy::Outcome::kDenied);
  EXPECT_EQ(approver->asked_, 0);
}

TEST_F(InspectionTest, ALookAloneRunsNothing) {
  Job job = MakeJob();
  job.target = LookAlone{};
  EXPECT_EQ(Run(std::move(job)).verdict.outcome, policy::Outcome::kOk);
  ASSERT_THAT(ran_, SizeIs(1));
  EXPECT_EQ(ran_[0].phase, policy::Phase::kAnalysis);
  profile_.rules.clear();
  Job plain = MakeJob();
  plain.target = LookAlone{};
  EXPECT_EQ(Run(std::move(plain)).verdict.rule, "policy-passed");
  EXPECT_THAT(ran_, SizeIs(1));
}

}  // namespace
}  // namespace sandglass::server
