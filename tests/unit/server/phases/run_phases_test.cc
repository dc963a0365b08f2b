#include "server/phases/run_phases.h"

#include <unistd.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/phases/compile_cache.h"
#include "server/run/run_response.h"
#include "tests/unit/server/scripted_runner.h"
#include "tests/unit/server/support.h"

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
  job.compile.emplace();
  job.compile->argv = {"/usr/bin/toyc", "main.toy"};
  job.compile->artifacts = {"main"};
  job.compile->limits.wall_time = absl::Seconds(7);
  job.compile->template_name = "compilers";
  job.template_name = "programs";
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
    ScriptedRunner runner(
        [this](const Job& ran, CancelToken&, RunListener* listener) {
          ran_.push_back(ran);
          listeners_.push_back(listener);
          return absl::StatusOr<JobResult>(ran.phase == policy::Phase::kCompile
                                               ? compiler_(ran)
                                               : OkResult(ran, "out"));
        });
    return RunPhases(runner, job, deadline, cancel_, nullptr, cache_.get());
  }

  std::function<JobResult(const Job&)> compiler_ = Compiled;
  std::vector<Job> ran_;
  std::vector<RunListener*> listeners_;
  CancelToken cancel_;
  std::unique_ptr<CompileCache> cache_;
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
  EXPECT_EQ(ran_[0].template_name, "compilers");
  EXPECT_EQ(ran_[1].template_name, "programs");
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
  EXPECT_EQ(ran_[1].files[1].bytes(), "#!binary");
  EXPECT_TRUE(ran_[1].files[1].executable);
}

TEST_F(Phases, TheCompilerIsRedactedAsTheProgramIs) {
  auto pattern = policy::RedactionPattern::Compile("secret");
  ASSERT_TRUE(pattern.ok());
  auto redactor = policy::Redactor::Create({{"word", *pattern}});
  ASSERT_TRUE(redactor.ok());
  Job job = CompiledJob();
  job.redactor = *redactor;
  ASSERT_TRUE(Run(job).ok());
  ASSERT_EQ(ran_.size(), 2u);
  EXPECT_EQ(ran_[0].redactor, *redactor);
  EXPECT_EQ(ran_[1].redactor, *redactor);
}

TEST_F(Phases, ARefusedProgramIsNotRun) {
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
  for (const auto& [error, why] :
       {std::pair(FileError::kNotFound, "\"main\" is not there."),
        std::pair(FileError::kTooLarge,
                  "\"main\" is too large (47.7 MiB): all that a compiler makes "
                  "may have 32 MiB")}) {
    compiler_ = [error = error](const Job& job) {
      JobResult result = Compiled(job);
      result.files[0].error = error;
      result.files[0].size = 50'000'000;
      return result;
    };
    ran_.clear();
    Job job = CompiledJob();
    const auto result = Run(job);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(ran_.size(), 1u);
    EXPECT_EQ(result->verdict.outcome, policy::Outcome::kCompileError);
    EXPECT_EQ(result->verdict.rule, "compile-artifact");
    EXPECT_THAT(result->verdict.explanation, ::testing::HasSubstr(why));
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
  const auto result = Run(job, Now() + std::chrono::seconds(2));
  ASSERT_TRUE(result.ok());
  for (const Job& ran : ran_) {
    EXPECT_LE(ran.limits.wall_time, absl::Milliseconds(1800));
    EXPECT_GT(ran.limits.wall_time, absl::Milliseconds(1000));
  }
  Job late = CompiledJob();
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      Run(late, Now() + std::chrono::milliseconds(50)).status()));
}

// With a cache, and a toolchain made of files that a test may change.
class CachedPhases : public Phases {
 protected:
  CachedPhases() {
    testing::WriteFile(dir_.Path("status"), "Package: toyc\n");
    testing::WriteFile(dir_.Path("toyc"), "compiler");
    absl::StatusOr<CompileStore> store =
        CompileStore::Open(dir_.Path("compiled"), ::getuid(), ::getgid());
    EXPECT_TRUE(store.ok()) << store.status();
    cache_ = std::make_unique<CompileCache>(
        *std::move(store), "image", CompileCacheOptions(),
        PackageDatabase{.status = dir_.Path("status"),
                        .journal = dir_.Path("updates")});
    cache_->Start();
  }
  // Before its directory goes.
  ~CachedPhases() override { cache_.reset(); }
  Job KeptJob() const {
    Job job = CompiledJob();
    job.compile->caching =
        CompileCaching{.language = "toy",
                       .scope = "shared",
                       .executables = {dir_.Path("toyc")},
                       .rules = {.not_with_text = {"__TIME__"}}};
    return job;
  }
  // Runs the job once more; how many compilers that took.
  int CompilersFor(Job job) {
    ran_.clear();
    EXPECT_TRUE(Run(job).ok());
    return static_cast<int>(std::count_if(
        ran_.begin(), ran_.end(),
        [](const Job& ran) { return ran.phase == policy::Phase::kCompile; }));
  }
  const testing::TempDir dir_;
};

TEST_F(CachedPhases, ASecondRunTakesWhatTheFirstCompiled) {
  compiler_ = [](const Job& job) {
    JobResult result = Compiled(job);
    result.stderr_result = {.data = "warning", .total_bytes = 7};
    result.cpu_user = absl::Seconds(1);
    result.facts.counters.memory_limit_hits = 9;
    return result;
  };
  Job first = KeptJob();
  const auto miss = Run(first);
  ASSERT_TRUE(miss.ok());
  EXPECT_FALSE(miss->compile->cached);
  Job second = KeptJob();
  ran_.clear();
  const auto hit = Run(second);
  ASSERT_TRUE(hit.ok());
  ASSERT_EQ(ran_.size(), 1u);
  EXPECT_EQ(ran_[0].phase, policy::Phase::kRun);
  ASSERT_EQ(ran_[0].files.size(), 2u);
  EXPECT_EQ(ran_[0].files[1].path, "main");
  EXPECT_EQ(ran_[0].files[1].bytes(), "#!binary");
  EXPECT_TRUE(ran_[0].files[1].executable);
  EXPECT_TRUE(hit->compile->cached);

  v1::PhaseResult was = MakePhaseResult(*miss->compile);
  const v1::PhaseResult is = MakePhaseResult(*hit->compile);
  EXPECT_EQ(is.outcome(), was.outcome());
  EXPECT_EQ(is.exit_code(), was.exit_code());
  EXPECT_EQ(is.stderr().data(), "warning");
  EXPECT_EQ(is.stderr().SerializeAsString(), was.stderr().SerializeAsString());
  EXPECT_EQ(is.evidence().rule(), was.evidence().rule());
  // Nothing of the earlier run is passed off as this one's.
  EXPECT_TRUE(is.cached());
  EXPECT_FALSE(was.cached());
  EXPECT_TRUE(was.has_usage());
  EXPECT_FALSE(is.has_usage());
  EXPECT_FALSE(is.has_limits());
  EXPECT_FALSE(is.evidence().has_counters());
  EXPECT_FALSE(is.evidence().has_wait_status());
  EXPECT_EQ(cache_->State().hits, 1u);
  EXPECT_EQ(cache_->State().misses, 1u);
}

TEST_F(CachedPhases, WhatWasKeptIsRedactedForWhoGetsIt) {
  compiler_ = [](const Job& job) {
    JobResult result = Compiled(job);
    result.stdout_result = {.data = "a", .total_bytes = 1, .head_bytes = 1};
    result.stderr_result = {
        .data = "a secret, a secret", .total_bytes = 18, .head_bytes = 18};
    return result;
  };
  EXPECT_EQ(CompilersFor(KeptJob()), 1);
  auto pattern = policy::RedactionPattern::Compile("secret");
  ASSERT_TRUE(pattern.ok());
  auto redactor = policy::Redactor::Create({{"word", *pattern}});
  ASSERT_TRUE(redactor.ok());
  Job job = KeptJob();
  job.redactor = *redactor;
  const auto hit = Run(job);
  ASSERT_TRUE(hit.ok());
  ASSERT_TRUE(hit->compile->cached);
  EXPECT_EQ(hit->compile->stdout_result.data, "a");
  EXPECT_EQ(hit->compile->stderr_result.data,
            "a [redacted:word], a [redacted:word]");
  EXPECT_EQ(hit->compile->redactions, (policy::RedactionCounts{{"word", 2}}));
  // What is kept stays as it was.
  Job plain = KeptJob();
  const auto again = Run(plain);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->compile->stderr_result.data, "a secret, a secret");
}

TEST_F(CachedPhases, OnlySuccessfulCompilesAreKept) {
  const std::vector<std::function<void(JobResult&)>> flaws = {
      [](JobResult& result) { result = Refused(CompiledJob()); },
      [](JobResult& result) {
        result.verdict.outcome = policy::Outcome::kTimeout;
      },
      [](JobResult& result) {
        result.verdict.outcome = policy::Outcome::kCancelled;
      },
      [](JobResult& result) { result.verdict.exit_code.reset(); },
      [](JobResult& result) { result.facts.leftover_processes = 1; },
      [](JobResult& result) { result.files_left_out = true; },
      [](JobResult& result) { result.files[0].error = FileError::kTooLarge; },
      [](JobResult& result) { result.files[0].content = "no program"; },
  };
  for (const auto& flaw : flaws) {
    compiler_ = [&flaw](const Job& job) {
      JobResult result = Compiled(job);
      flaw(result);
      return result;
    };
    EXPECT_EQ(CompilersFor(KeptJob()), 1) << (&flaw - &flaws[0]);
    EXPECT_EQ(CompilersFor(KeptJob()), 1) << (&flaw - &flaws[0]);
  }
  EXPECT_TRUE(cache_->Flush(absl::Seconds(10)));
  EXPECT_EQ(cache_->State().entries, 0u);
  EXPECT_EQ(cache_->State().memory_entries, 0u);
}

TEST_F(CachedPhases, AnErrorOfOursIsNotKept) {
  ScriptedRunner failing([](const Job&, CancelToken&, RunListener*) {
    return absl::CancelledError("gone");
  });
  Job job = KeptJob();
  EXPECT_FALSE(
      RunPhases(failing, job, std::nullopt, cancel_, nullptr, cache_.get())
          .ok());
  EXPECT_EQ(CompilersFor(KeptJob()), 1);
  EXPECT_EQ(CompilersFor(KeptJob()), 0);
}

TEST_F(CachedPhases, WhatMayNotBeKeptIsCompiledEachTime) {
  Job timed = KeptJob();
  timed.files[0].content = "__TIME__";
  Job off = KeptJob();
  off.compile->caching.reset();
  for (const Job& job : {timed, off}) {
    EXPECT_EQ(CompilersFor(job), 1);
    EXPECT_EQ(CompilersFor(job), 1);
  }
  EXPECT_EQ(cache_->State().not_cacheable, 4u);
  EXPECT_EQ(cache_->State().misses, 0u);
  EXPECT_EQ(cache_->State().memory_entries, 0u);
}

TEST_F(CachedPhases, AnotherToolchainCompilesAnew) {
  EXPECT_EQ(CompilersFor(KeptJob()), 1);
  EXPECT_EQ(CompilersFor(KeptJob()), 0);
  testing::WriteFile(dir_.Path("status"), "Package: toyc 2\n");
  EXPECT_EQ(CompilersFor(KeptJob()), 1);
  EXPECT_EQ(CompilersFor(KeptJob()), 0);
  testing::WriteFile(dir_.Path("toyc"), "compiler 2");
  EXPECT_EQ(CompilersFor(KeptJob()), 1);
}

// An upgrade in the middle of a compile: nobody knows which half made it.
TEST_F(CachedPhases, AToolchainThatChangesMeanwhileKeepsNothing) {
  compiler_ = [this](const Job& job) {
    std::filesystem::create_directories(dir_.Path("updates"));
    testing::WriteFile(dir_.Path("updates/0001"), "unpacking");
    return Compiled(job);
  };
  EXPECT_EQ(CompilersFor(KeptJob()), 1);
  EXPECT_EQ(cache_->State().memory_entries, 0u);
  EXPECT_TRUE(cache_->Flush(absl::Seconds(10)));
  EXPECT_EQ(cache_->State().entries, 0u);
}

// The program's own jail sees the artifact before it can be changed there.
TEST_F(CachedPhases, WhatTheRunDoesIsNotKept) {
  Job job = KeptJob();
  ScriptedRunner runner([](const Job& ran, CancelToken&, RunListener*) {
    if (ran.phase == policy::Phase::kCompile) {
      return absl::StatusOr<JobResult>(Compiled(ran));
    }
    JobResult result = OkResult(ran, "out");
    result.files.push_back(
        {.path = "main", .content = "#!changed", .mode = 0755});
    return absl::StatusOr<JobResult>(result);
  });
  ASSERT_TRUE(
      RunPhases(runner, job, std::nullopt, cancel_, nullptr, cache_.get())
          .ok());
  Job again = KeptJob();
  ran_.clear();
  ASSERT_TRUE(Run(again).ok());
  ASSERT_EQ(ran_.size(), 1u);
  EXPECT_EQ(ran_[0].files.back().bytes(), "#!binary");
}

TEST_F(CachedPhases, AListenerHearsOfTheHit) {
  class Listener : public RunListener {
   public:
    void OnCompiled(const JobResult& compile) override {
      cached.push_back(compile.cached);
    }
    std::vector<bool> cached;
  } listener;
  for (int i = 0; i < 2; ++i) {
    Job job = KeptJob();
    ScriptedRunner runner([](const Job& ran, CancelToken&, RunListener*) {
      return absl::StatusOr<JobResult>(ran.phase == policy::Phase::kCompile
                                           ? Compiled(ran)
                                           : OkResult(ran, ""));
    });
    ASSERT_TRUE(
        RunPhases(runner, job, std::nullopt, cancel_, &listener, cache_.get())
            .ok());
  }
  EXPECT_THAT(listener.cached, ElementsAre(false, true));
}

// Large artifacts are sealed once and handed to each jail.
TEST_F(CachedPhases, JailsShareALargeArtifact) {
  compiler_ = [](const Job& job) {
    JobResult result = Compiled(job);
    result.files[0].content += std::string(300'000, 'x');
    return result;
  };
  Job first = KeptJob();
  Job second = KeptJob();
  ASSERT_TRUE(Run(first).ok());
  ASSERT_TRUE(Run(second).ok());
  ASSERT_NE(first.files.back().sealed, nullptr);
  EXPECT_EQ(second.files.back().sealed, first.files.back().sealed);
  EXPECT_EQ(second.files.back().bytes().size(), 300'008u);
  // What the request brought is never shared.
  EXPECT_EQ(first.files.front().sealed, nullptr);
}

// Time that is enough for the program is enough.
TEST_F(CachedPhases, AHitNeedsNoTimeForACompiler) {
  Job first = KeptJob();
  ASSERT_TRUE(Run(first).ok());
  Job second = KeptJob();
  const auto hit = Run(second, Now() + std::chrono::seconds(2));
  ASSERT_TRUE(hit.ok());
  EXPECT_TRUE(hit->compile->cached);
  Job late = KeptJob();
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      Run(late, Now() + std::chrono::milliseconds(50)).status()));
}

TEST(DeadlineMargin, IsATenthWithinBounds) {
  EXPECT_EQ(DeadlineMargin(absl::Milliseconds(500)), absl::Milliseconds(100));
  EXPECT_EQ(DeadlineMargin(absl::Seconds(5)), absl::Milliseconds(500));
  EXPECT_EQ(DeadlineMargin(absl::Minutes(5)), absl::Seconds(1));
}

}  // namespace
}  // namespace sandglass::server
