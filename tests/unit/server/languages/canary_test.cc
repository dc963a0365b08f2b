// Canaries: which runs they are, and what is made of how they end.

#include "server/languages/canary.h"

#include <cerrno>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/yard/spawner_event.h"
#include "server/base/errors.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

policy::Language Toy() {
  policy::Language toy{.id = "toy",
                       .name = "Toy",
                       .extensions = {".toy"},
                       .source_file = "main.toy",
                       .run = {"/bin/sh", "${source}"},
                       .version = {"/bin/sh", "--version"}};
  toy.canary = policy::Canary{.code = "echo 42", .output = "42\n"};
  return toy;
}

PolicySet Policy(policy::Language language,
                 std::vector<policy::Profile> profiles) {
  auto table = policy::LanguageTable::Create({std::move(language)});
  EXPECT_TRUE(table.ok()) << table.status();
  auto set = PolicySet::Create(*std::move(table), std::move(profiles));
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

policy::Profile Named(const std::string& name, uint64_t mebibytes = 256) {
  policy::Profile profile{.name = name};
  profile.limits.memory_bytes = profile.maximum.memory_bytes = mebibytes << 20;
  return profile;
}

std::vector<std::string> Plan(const PolicySet& policy) {
  std::vector<std::string> plan;
  for (const CanaryRun& run :
       PlanCanaries(policy, policy.languages().languages()[0])) {
    plan.push_back(
        absl::StrCat(run.profile->name, run.fresh ? "" : " started"));
  }
  return plan;
}

TEST(PlanCanaries, OneForEachFilterUnderTheDefaultOrTheLargestProfile) {
  policy::Profile debug = Named("debug");
  debug.seccomp_add = {"debugging"};
  policy::Profile large_debug = Named("more", 1024);
  large_debug.seccomp_add = {"debugging"};
  policy::Profile other = Named("other");
  other.seccomp = "strict";
  const PolicySet policy =
      Policy(Toy(), {Named("big", 2048), Named("default"), Named("large", 512),
                     debug, large_debug, other});
  EXPECT_THAT(Plan(policy), ElementsAre("default", "more", "other"));
}

TEST(PlanCanaries, AProfileWithoutTheLanguageDoesNotCount) {
  policy::Language second = Toy();
  second.id = "second";
  second.name = "Second";
  second.extensions = {".second"};
  policy::Profile other = Named("other");
  other.seccomp = "strict";
  other.languages = {"second"};
  auto table = policy::LanguageTable::Create({Toy(), second});
  ASSERT_TRUE(table.ok()) << table.status();
  auto policy = PolicySet::Create(*table, {Named("default"), other});
  ASSERT_TRUE(policy.ok()) << policy.status();
  const auto& languages = policy->languages().languages();
  EXPECT_EQ(PlanCanaries(*policy, languages[0]).size(), 1u);
  EXPECT_EQ(PlanCanaries(*policy, languages[1]).size(), 2u);
}

TEST(PlanCanaries, AnImageHasItsOwn) {
  policy::Profile tiny = Named("tiny");
  tiny.image = "tiny";
  auto table = policy::LanguageTable::Create({Toy()});
  ASSERT_TRUE(table.ok()) << table.status();
  table->AddImage({"tiny", "/srv/tiny"});
  auto policy = PolicySet::Create(*table, {Named("default"), tiny});
  ASSERT_TRUE(policy.ok()) << policy.status();
  for (const char* image : {"host", "tiny"}) {
    const auto runs =
        PlanCanaries(*policy, policy->languages().LanguagesIn(image)->front());
    ASSERT_EQ(runs.size(), 1u) << image;
    EXPECT_EQ(runs[0].profile->image, image);
  }
}

TEST(PlanCanaries, WithoutACanaryThereIsNone) {
  policy::Language toy = Toy();
  toy.canary.reset();
  EXPECT_THAT(Plan(Policy(toy, {Named("default")})), IsEmpty());
}

TEST(PlanCanaries, WhatCanBeStartedAheadIsTriedInBothWays) {
  policy::Language toy = Toy();
  toy.prestart = policy::PrestartRecipe{.command = {"/bin/sh", "wait"},
                                        .idle_bytes = 1,
                                        .floor = 1,
                                        .ceiling = 1};
  EXPECT_THAT(Plan(Policy(toy, {Named("default")})),
              ElementsAre("default", "default started"));
}

// Runs that end as they are told, the last way again and again.
struct Script final : JobRunner {
  std::vector<std::function<absl::StatusOr<JobResult>(const Job&)>> ends;
  std::vector<Job> jobs;
  absl::StatusOr<JobResult> Run(const Job& job, CancelToken&,
                                RunListener*) override {
    jobs.push_back(job);
    return ends[std::min(jobs.size(), ends.size()) - 1](job);
  }
};

auto Prints(const std::string& text, int exit_code = 0) {
  return [=](const Job& job) -> absl::StatusOr<JobResult> {
    JobResult result = OkResult(job, text);
    result.facts.wait_status = exit_code << 8;
    result.verdict = policy::Decide(result.facts, job.limits);
    if (exit_code != 0) result.stderr_result.data = "Bad system call\x1b[2J";
    return result;
  };
}

auto Fails(const absl::Status& status) {
  return [=](const Job&) -> absl::StatusOr<JobResult> { return status; };
}

class RunCanaryTest : public ::testing::Test {
 protected:
  absl::Status Run() {
    return RunCanary(PlanCanaries(policy_, language())[0], script_, cancel_);
  }
  const policy::Language& language() {
    return policy_.languages().languages()[0];
  }

  PolicySet policy_ = Policy(Toy(), {Named("default", 512)});
  Script script_;
  CancelToken cancel_;
};

TEST_F(RunCanaryTest, WorksWhenItPrintsWhatItShould) {
  script_.ends = {Prints("42\n")};
  EXPECT_TRUE(Run().ok());
  ASSERT_EQ(script_.jobs.size(), 1u);
  const Job& job = script_.jobs[0];
  EXPECT_EQ(job.code, "echo 42");
  EXPECT_EQ(job.template_name, "default");
  EXPECT_THAT(job.argv, ElementsAre("/bin/sh", "main.toy"));
  EXPECT_EQ(job.limits.memory_bytes, uint64_t{512} << 20);
  EXPECT_GE(job.limits.wall_time, absl::Minutes(1));
  EXPECT_FALSE(job.run_id.empty());
}

TEST_F(RunCanaryTest, FailsWhenItFailsTwice) {
  script_.ends = {Prints("", 1)};
  const absl::Status status = Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("Toy's canary failed under profile default, "
                              "whose system call filter is default"),
                    HasSubstr("expected stdout \"42\\n\""),
                    HasSubstr("stderr: \"Bad system call\\x1b[2J\"")));
  EXPECT_EQ(script_.jobs.size(), 2u);
}

TEST_F(RunCanaryTest, ALongErrorIsShownByItsEnds) {
  script_.ends = {[](const Job& job) {
    absl::StatusOr<JobResult> result = Prints("", 1)(job);
    result->stderr_result.data = "first" + std::string(2000, 'x') + "last";
    return result;
  }};
  EXPECT_THAT(std::string(Run().message()),
              AllOf(HasSubstr("stderr: \"first"), HasSubstr("last\"")));
}

TEST_F(RunCanaryTest, AWrongWordIsAFailure) {
  for (const std::string output : {"", "42", "42\n\n", "43\n"}) {
    script_.ends = {Prints(output)};
    EXPECT_TRUE(absl::IsFailedPrecondition(Run())) << output;
  }
}

TEST_F(RunCanaryTest, OnceIsNoFailure) {
  script_.ends = {Prints("", 1), Prints("42\n")};
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(script_.jobs.size(), 2u);
}

TEST_F(RunCanaryTest, AJailThatCannotBeSetUpIsAFailure) {
  script_.ends = {Fails(absl::InternalError("jail set-up failed at exec"))};
  EXPECT_THAT(std::string(Run().message()),
              HasSubstr("jail set-up failed at exec"));
}

TEST_F(RunCanaryTest, NoRoomSaysNothingOfTheLanguage) {
  script_.ends = {Fails(absl::ResourceExhaustedError("all jails in use"))};
  EXPECT_TRUE(absl::IsResourceExhausted(Run()));
  script_.ends = {Fails(absl::UnavailableError("the spawner is gone"))};
  EXPECT_TRUE(absl::IsUnavailable(Run()));
  script_.ends = {Prints("", 1)};
  cancel_.Cancel(policy::KillReason::kShutdown);
  EXPECT_TRUE(absl::IsCancelled(Run()));
}

// What a profile's own memory_bytes leaves no room for; nobody says whose it
// was.
TEST_F(RunCanaryTest, AJailThatNeverFindsMemoryIsAFailure) {
  const absl::Status want = sandbox::SetupFailure(0, ENOMEM);
  ASSERT_TRUE(absl::IsResourceExhausted(want));
  script_.ends = {Fails(want)};
  const absl::Status status = Run();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("limits.memory_bytes"));
  EXPECT_EQ(script_.jobs.size(), 3u);
}

TEST_F(RunCanaryTest, AJailThatFindsMemoryInTheEndIsNone) {
  const absl::Status want = sandbox::SetupFailure(0, ENOMEM);
  script_.ends = {Fails(want), Fails(want), Prints("42\n")};
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(script_.jobs.size(), 3u);
  // A wrong answer in between is one, and still the only one.
  script_ = Script();
  script_.ends = {Fails(want), Fails(want), Prints("", 1), Fails(want),
                  Prints("42\n")};
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(script_.jobs.size(), 5u);
}

TEST_F(RunCanaryTest, OtherShortagesAreTheMachines) {
  const absl::Status want = sandbox::SetupFailure(0, ENOMEM);
  script_.ends = {Fails(sandbox::SetupFailure(0, EAGAIN))};
  EXPECT_TRUE(absl::IsResourceExhausted(Run()));
  EXPECT_EQ(script_.jobs.size(), 1u);
  // Nor does a full pool in between say anything.
  script_ = Script();
  script_.ends = {Fails(want), Fails(want),
                  Fails(absl::ResourceExhaustedError("no slot is free"))};
  EXPECT_TRUE(absl::IsResourceExhausted(Run()));
  script_ = Script();
  script_.ends = {Fails(want)};
  cancel_.Cancel(policy::KillReason::kShutdown);
  EXPECT_TRUE(absl::IsCancelled(Run()));
  EXPECT_EQ(script_.jobs.size(), 1u);
}

TEST(Canary, ACompilerThatFailsIsNamed) {
  policy::Language toy = Toy();
  toy.compile =
      policy::CompilePhase{.command = {"/bin/sh", "."}, .artifacts = {"main"}};
  toy.run = {"/workspace/main"};
  const PolicySet policy = Policy(toy, {Named("default")});
  Script script;
  script.ends = {Prints("", 1)};
  CancelToken cancel;
  const absl::Status status =
      RunCanary(PlanCanaries(policy, policy.languages().languages()[0])[0],
                script, cancel);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("got its compiler "));
}

TEST(ShippedLanguages, EachHasACanary) {
  const absl::StatusOr<PolicySet> policy =
      PolicySet::Load(SANDGLASS_SOURCE_DIR "/policy/data");
  ASSERT_TRUE(policy.ok()) << policy.status();
  for (const policy::Language& language : policy->languages().languages()) {
    ASSERT_TRUE(language.canary.has_value()) << language.id;
    EXPECT_THAT(language.canary->output, HasSubstr("42")) << language.id;
  }
}

}  // namespace
}  // namespace sandglass::server
