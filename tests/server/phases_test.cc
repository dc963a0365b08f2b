#include "server/phases.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Job CompiledJob() {
  Job job;
  job.run_id = "run-1";
  job.source_file = "main.toy";
  job.code = "code";
  job.argv = {"/workspace/main"};
  job.files = {{.path = "data", .content = "d"}};
  job.fetch = {"out"};
  job.compile =
      CompileJob{.argv = {"/usr/bin/toyc", "main.toy"}, .artifacts = {"main"}};
  job.compile->limits.wall_time = absl::Seconds(7);
  job.limits.wall_time = absl::Seconds(3);
  return job;
}

// What a compiler that works hands out.
JobResult Compiled(const Job& job) {
  JobResult result = OkResult(job, "");
  result.files.push_back({.path = "main", .content = "#!binary", .mode = 0755});
  return result;
}

JobResult Refused(const Job& job) {
  JobResult result = OkResult(job, "");
  result.facts.phase = job.phase;
  result.facts.wait_status = 1 << 8;
  result.verdict = policy::Decide(result.facts, job.limits);
  result.stderr_result = {.data = "main.toy:1: no", .total_bytes = 14};
  return result;
}

class Phases : public ::testing::Test {
 protected:
  absl::StatusOr<JobResult> Run(
      Job& job, std::optional<MonotonicTime> deadline = std::nullopt) {
    const RunFunction run = [this](const Job& ran, CancelToken&,
                                   JobObserver* observer) {
      ran_.push_back(ran);
      observers_.push_back(observer);
      return absl::StatusOr<JobResult>(ran.phase == policy::Phase::kCompile
                                           ? compiler_(ran)
                                           : OkResult(ran, "out"));
    };
    return RunPhases(run, job, deadline, cancel_, nullptr);
  }

  std::function<JobResult(const Job&)> compiler_ = Compiled;
  std::vector<Job> ran_;
  std::vector<JobObserver*> observers_;
  CancelToken cancel_;
};

TEST_F(Phases, AJobWithoutACompilerJustRuns) {
  Job job = CompiledJob();
  job.compile.reset();
  const auto result = Run(job);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->stdout_result.data, "out");
  EXPECT_EQ(result->compile, nullptr);
  ASSERT_EQ(ran_.size(), 1u);
}

TEST_F(Phases, TheProgramGetsWhatWasCompiled) {
  Job job = CompiledJob();
  const auto result = Run(job);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->verdict.outcome, policy::Outcome::kOk);
  ASSERT_NE(result->compile, nullptr);
  EXPECT_EQ(result->compile->verdict.outcome, policy::Outcome::kOk);
  EXPECT_THAT(result->compile->files, IsEmpty());
  EXPECT_GT(result->timings.compile, absl::ZeroDuration());

  ASSERT_EQ(ran_.size(), 2u);
  EXPECT_THAT(ran_[0].argv, ElementsAre("/usr/bin/toyc", "main.toy"));
  EXPECT_THAT(ran_[0].fetch, ElementsAre("main"));
  EXPECT_EQ(ran_[0].code, "code");
  EXPECT_EQ(ran_[0].limits.wall_time, absl::Seconds(7));
  EXPECT_EQ(ran_[0].stdin_data, "");
  EXPECT_EQ(ran_[0].files.size(), 1u);
  EXPECT_THAT(ran_[1].argv, ElementsAre("/workspace/main"));
  EXPECT_THAT(ran_[1].fetch, ElementsAre("out"));
  EXPECT_EQ(ran_[1].limits.wall_time, absl::Seconds(3));
  ASSERT_EQ(ran_[1].files.size(), 2u);
  EXPECT_EQ(ran_[1].files[1].path, "main");
  EXPECT_EQ(ran_[1].files[1].content, "#!binary");
  EXPECT_TRUE(ran_[1].files[1].executable);
}

TEST_F(Phases, WhatIsRefusedIsNotRun) {
  compiler_ = Refused;
  Job job = CompiledJob();
  const auto result = Run(job);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(ran_.size(), 1u);
  EXPECT_EQ(result->verdict.outcome, policy::Outcome::kCompileError);
  EXPECT_EQ(result->verdict.exit_code, std::nullopt);
  EXPECT_EQ(result->compile->verdict.exit_code, 1);
  EXPECT_EQ(result->facts.phase, policy::Phase::kCompile);
  EXPECT_EQ(result->stderr_result.data, "");
  EXPECT_EQ(result->compile->stderr_result.data, "main.toy:1: no");
  EXPECT_EQ(result->limits.wall_time, absl::Seconds(3));
}

TEST_F(Phases, ACompilerThatLeavesNothingIsAFailure) {
  for (const FileError error : {FileError::kNotFound, FileError::kTooLarge}) {
    compiler_ = [error](const Job& job) {
      JobResult result = Compiled(job);
      result.files[0].error = error;
      return result;
    };
    ran_.clear();
    Job job = CompiledJob();
    const auto result = Run(job);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(ran_.size(), 1u);
    EXPECT_EQ(result->verdict.outcome, policy::Outcome::kCompileError);
    EXPECT_EQ(result->verdict.rule, "compile-artifact");
  }
}

TEST_F(Phases, WhatCannotBeStartedIsAFailureOfTheCompiler) {
  for (const auto& [content, mode] :
       {std::pair("!<arch>", 0755u), std::pair("#!x", 0644u),
        std::pair("", 0755u)}) {
    compiler_ = [text = std::string(content), bits = mode](const Job& job) {
      JobResult result = Compiled(job);
      result.files[0].content = text;
      result.files[0].mode = bits;
      return result;
    };
    ran_.clear();
    Job job = CompiledJob();
    const auto result = Run(job);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(ran_.size(), 1u) << content;
    EXPECT_EQ(result->verdict.rule, "compile-artifact");
  }
  // A jar is for the runtime to judge.
  Job job = CompiledJob();
  job.argv = {"/usr/bin/java", "-jar", "main"};
  ran_.clear();
  EXPECT_TRUE(Run(job).ok());
  EXPECT_EQ(ran_.size(), 2u);
}

TEST_F(Phases, TheCallsDeadlineHoldsForBoth) {
  Job job = CompiledJob();
  const auto result = Run(job, Monotonic::now() + std::chrono::seconds(2));
  ASSERT_TRUE(result.ok());
  for (const Job& ran : ran_) {
    EXPECT_LE(ran.limits.wall_time, absl::Milliseconds(1800));
    EXPECT_GT(ran.limits.wall_time, absl::Milliseconds(1000));
  }
  Job late = CompiledJob();
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      Run(late, Monotonic::now() + std::chrono::milliseconds(50)).status()));
}

TEST(DeadlineMargin, IsATenthWithinBounds) {
  EXPECT_EQ(DeadlineMargin(absl::Milliseconds(500)), absl::Milliseconds(100));
  EXPECT_EQ(DeadlineMargin(absl::Seconds(5)), absl::Milliseconds(500));
  EXPECT_EQ(DeadlineMargin(absl::Minutes(5)), absl::Seconds(1));
}

}  // namespace
}  // namespace sandglass::server
