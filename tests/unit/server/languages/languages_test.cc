#include "server/languages/languages.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/jail/jail.h"
#include "sandbox/os/files.h"
#include "server/base/errors.h"
#include "tests/unit/server/scripted_runner.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

policy::Language Toy() {
  return {.id = "toy",
          .name = "Toy",
          .extensions = {".toy"},
          .source_file = "main.toy",
          .run = {"/bin/sh", "${source}"},
          .version = {"/bin/sh", "--version"},
          .package = "toy-lang"};
}

policy::Language Prepared() {
  policy::Language language = Toy();
  language.prepare = policy::Preparation{.commands = {{"/bin/sh"}, {"/bin/sh"}},
                                         .artifacts = {"*.out"}};
  language.prepared_dir = "/var/cache/sandglass/toy-1";
  return language;
}

TEST(CheckInstalled, NamesThePackageOfWhatIsMissing) {
  EXPECT_TRUE(CheckInstalled(Toy()).ok());
  for (const auto& spoil : std::vector<std::function<void(policy::Language&)>>{
           [](auto& l) { l.run[0] = "/usr/bin/no-such-thing"; },
           [](auto& l) { l.needs = {"/usr/bin/no-such-thing"}; },
           [](auto& l) {
             l.compile = policy::CompilePhase{
                 .command = {"/usr/bin/no-such-thing"}, .artifacts = {"a"}};
           }}) {
    policy::Language language = Toy();
    spoil(language);
    const absl::Status status = CheckInstalled(language);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("there is no /usr/bin/no-such-thing (Debian package "
                          "toy-lang)"));
  }
}

TEST(CheckInstalled, WhatTheCompilerMakesNeedNotBeThere) {
  policy::Language language = Toy();
  language.compile =
      policy::CompilePhase{.command = {"/bin/sh", "."}, .artifacts = {"main"}};
  language.run = {"/workspace/main"};
  EXPECT_TRUE(CheckInstalled(language).ok());
}

// As version managers make them: no jail has what they lead to.
TEST(CheckInstalled, LinksToAHomeAreNotTaken) {
  const testing::TempDir home;
  testing::WriteFile(home.Path("python3"), "#!/bin/sh\n");
  ASSERT_EQ(::chmod(home.Path("python3").c_str(), 0755), 0);
  ASSERT_EQ(::symlink(home.Path("python3").c_str(), home.Path("link").c_str()),
            0);
  policy::Language language = Toy();
  language.run[0] = home.Path("link");
  const absl::Status status = CheckInstalled(language);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("jails have only what is below /usr/"));
}

// Runs that hand out one file per command.
class FakeTools final : public JobRunner {
 public:
  absl::StatusOr<JobResult> Run(const Job& job, CancelToken&,
                                RunListener* listener) override {
    JobResult result = OkResult(job, "Toy 1.0\n");
    if (listener == nullptr) return result;  // a version
    ++prepared_;
    if (fail_) {
      result.facts.wait_status = 1 << 8;
      result.verdict = policy::Decide(result.facts, job.limits);
      return result;
    }
    if (makes_nothing_) {
      listener->OnFile(
          {.path = "*.out", .problem = sandbox::FileProblem::kNotFound});
      return result;
    }
    listener->OnFile({.path = absl::StrCat(prepared_, ".out"),
                      .problem = sandbox::FileProblem::kNone,
                      .file = *os::MakeMemfd("f", "made")});
    return result;
  }

  int prepared_ = 0;
  bool fail_ = false;
  bool makes_nothing_ = false;
};

class Probe : public ::testing::Test {
 protected:
  void Use(const policy::Language& language) {
    auto table = policy::LanguageTable::Create({language});
    ASSERT_TRUE(table.ok()) << table.status();
    table->SetPreparedDirs([&](const auto&) { return language.prepared_dir; });
    auto policy = PolicySet::Create(*std::move(table),
                                    {{.name = "default", .description = "x"}});
    ASSERT_TRUE(policy.ok()) << policy.status();
    policy_.emplace(*std::move(policy));
  }
  const policy::Language& language() {
    return policy_->Get()->languages().languages()[0];
  }
  PreparedStore Store() {
    return *PreparedStore::Open(dir_.Path("prepared"), ::getuid(), ::getgid());
  }
  void Start(bool with_store = true) {
    std::optional<PreparedStore> store;
    if (with_store) store = Store();
    probe_.emplace(*policy_, std::move(store), tools_);
    probe_->Start();
    ASSERT_TRUE(probe_->WaitForVersions(absl::Seconds(10)));
    ASSERT_TRUE(Eventually([this] { return !probe_->Preparing(language()); }));
  }

  const testing::TempDir dir_;
  FakeTools tools_;
  std::optional<LivePolicy> policy_;
  std::optional<LanguageProbe> probe_;
};

TEST_F(Probe, PreparesOnceAndKeepsIt) {
  Use(Prepared());
  Start();
  EXPECT_TRUE(probe_->Available(language()).ok());
  EXPECT_EQ(probe_->Version(language()), "Toy 1.0");
  EXPECT_EQ(tools_.prepared_, 2);
  EXPECT_EQ(testing::ReadFile(dir_.Path("prepared/toy-1/1.out")), "made");
  EXPECT_EQ(testing::ReadFile(dir_.Path("prepared/toy-1/2.out")), "made");
  probe_.reset();
  Start();
  EXPECT_TRUE(probe_->Available(language()).ok());
  EXPECT_EQ(tools_.prepared_, 2);
}

TEST_F(Probe, WhatIsKeptIsThereBeforeTheVersions) {
  Use(Prepared());
  Start();
  absl::Notification asked, go_on;
  ScriptedRunner runner([&](const Job& job, CancelToken&, RunListener*) {
    asked.Notify();
    go_on.WaitForNotification();
    return OkResult(job, "Toy 1.0\n");
  });
  probe_.emplace(*policy_, Store(), runner);
  probe_->Start();
  asked.WaitForNotification();
  EXPECT_EQ(probe_->Available(language()), absl::OkStatus());
  EXPECT_EQ(probe_->Version(language()), "");
  go_on.Notify();
  EXPECT_TRUE(probe_->WaitForVersions(absl::Seconds(10)));
  probe_.reset();  // before the runner
}

// Two at a time, and what is quick before what is slow.
TEST_F(Probe, ASlowPreparationKeepsNoOtherWaiting) {
  std::vector<policy::Language> all;
  for (const char* id : {"aslow", "bother", "cquick", "dfaster"}) {
    policy::Language language = Prepared();
    language.id = id;
    language.extensions = {absl::StrCat(".", id)};
    language.prepare->commands = {{"/bin/sh", id}};
    language.prepare->quick = language.id == "cquick";
    language.prepare->optional = language.id == "dfaster";
    all.push_back(language);
  }
  auto table = policy::LanguageTable::Create(all);
  ASSERT_TRUE(table.ok()) << table.status();
  table->SetPreparedDirs([](const policy::Language& language) {
    return absl::StrCat("/prepared/", language.id, "-1");
  });
  policy_.emplace(*PolicySet::Create(
      *std::move(table), {{.name = "default", .description = "x"}}));
  absl::Mutex mutex;
  std::vector<std::string> began;
  absl::Notification go_on;
  ScriptedRunner runner(
      [&](const Job& job, CancelToken&, RunListener* listener) {
        if (listener == nullptr) return OkResult(job, "Toy 1.0\n");
        {
          absl::MutexLock lock(&mutex);
          began.push_back(job.argv.back());
        }
        if (job.argv.back() == "aslow") go_on.WaitForNotification();
        listener->OnFile({.path = "1.out",
                          .problem = sandbox::FileProblem::kNone,
                          .file = *os::MakeMemfd("f", "made")});
        return OkResult(job, "");
      });
  probe_.emplace(*policy_, Store(), runner);
  probe_->Start();
  const std::vector<policy::Language>& each =
      policy_->Get()->languages().languages();
  EXPECT_TRUE(Eventually([&] { return !probe_->Preparing(each[1]); }));
  EXPECT_TRUE(probe_->Preparing(each[0]));
  // It works without, so it takes no processor from the slow one.
  EXPECT_TRUE(probe_->Preparing(each[3]));
  EXPECT_EQ(probe_->Available(each[1]), absl::OkStatus());
  EXPECT_EQ(probe_->Available(each[2]), absl::OkStatus());
  go_on.Notify();
  EXPECT_TRUE(Eventually([&] { return !probe_->Preparing(each[3]); }));
  probe_.reset();  // before the runner
  EXPECT_THAT(began, ::testing::UnorderedElementsAre("aslow", "bother",
                                                     "cquick", "dfaster"));
  EXPECT_EQ(began.back(), "dfaster");
  EXPECT_NE(began[0], "bother");
}

TEST_F(Probe, ALanguageIsUnavailableUntilItIsPrepared) {
  Use(Prepared());
  probe_.emplace(*policy_, std::nullopt, tools_);
  EXPECT_TRUE(probe_->Preparing(language()));
  const absl::Status status = probe_->Available(language());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("being prepared"));
}

TEST_F(Probe, WhatCouldNotBePreparedSaysWhy) {
  Use(Prepared());
  tools_.fail_ = true;
  Start();
  const absl::Status status = probe_->Available(language());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("could not be prepared: /bin/sh ended with"));
  // The next start tries again.
  tools_.fail_ = false;
  probe_.reset();
  Start();
  EXPECT_TRUE(probe_->Available(language()).ok());
}

TEST_F(Probe, APatternThatNothingMatchesIsAFailure) {
  Use(Prepared());
  tools_.makes_nothing_ = true;
  Start();
  EXPECT_THAT(std::string(probe_->Available(language()).message()),
              HasSubstr("no command made \"*.out\""));
}

TEST_F(Probe, WithoutAStoreOnlyTheOptionalWorks) {
  Use(Prepared());
  Start(/*with_store=*/false);
  EXPECT_THAT(std::string(probe_->Available(language()).message()),
              HasSubstr("cache_dir"));
  policy::Language optional = Prepared();
  optional.prepare->optional = true;
  probe_.reset();
  Use(optional);
  Start(/*with_store=*/false);
  EXPECT_TRUE(probe_->Available(language()).ok());
}

// A language with a canary, which fails under the filters that are named.
class CanaryProbe : public ::testing::Test {
 protected:
  static PolicySet Policy(const std::vector<std::string>& filters) {
    policy::Language toy = Toy();
    toy.canary = policy::Canary{.code = "code", .output = "42\n"};
    auto table = policy::LanguageTable::Create({toy});
    EXPECT_TRUE(table.ok()) << table.status();
    std::vector<policy::Profile> profiles;
    profiles.reserve(filters.size());
    for (const std::string& filter : filters) {
      profiles.push_back(
          {.name = filter, .description = "x", .seccomp = filter});
    }
    return *PolicySet::Create(*std::move(table), std::move(profiles));
  }
  absl::StatusOr<JobResult> RunTool(const Job& job) {
    if (job.code.empty()) return OkResult(job, "Toy 1.0\n");
    absl::MutexLock lock(&mutex_);
    ++canaries_;
    if (!room_) return absl::ResourceExhaustedError("all jails are in use");
    if (broken_ != job.template_name) return OkResult(job, "42\n");
    JobResult result = OkResult(job, "");
    result.facts.wait_status = 31;  // SIGSYS
    result.verdict = policy::Decide(result.facts, job.limits);
    return result;
  }
  void Break(const std::string& filter) {
    absl::MutexLock lock(&mutex_);
    broken_ = filter;
  }
  void HaveRoom(bool room) {
    absl::MutexLock lock(&mutex_);
    room_ = room;
  }
  int canaries() {
    absl::MutexLock lock(&mutex_);
    return canaries_;
  }
  void Note(bool all_work) {
    absl::MutexLock lock(&mutex_);
    heard_.push_back(all_work);
  }
  std::vector<bool> heard() {
    absl::MutexLock lock(&mutex_);
    return heard_;
  }
  void Start(const std::vector<std::string>& filters) {
    policy_.emplace(Policy(filters));
    probe_.emplace(
        *policy_, std::nullopt, tools_, nullptr,
        [this](const absl::Status& all_work) { Note(all_work.ok()); });
    EXPECT_TRUE(probe_->Checking(toy()));
    probe_->Start();
    ASSERT_TRUE(Eventually([&] { return !heard().empty(); }));
    EXPECT_FALSE(probe_->Checking(toy()));
  }
  const policy::Language& toy() {
    return policy_->Get()->languages().languages()[0];
  }
  absl::Status Under(const std::string& profile) {
    return probe_->Available(toy(), *policy_->Get()->FindProfile(profile));
  }

  absl::Mutex mutex_;
  std::string broken_ ABSL_GUARDED_BY(mutex_);
  bool room_ ABSL_GUARDED_BY(mutex_) = true;
  int canaries_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<bool> heard_ ABSL_GUARDED_BY(mutex_);
  ScriptedRunner tools_{[this](const Job& job, CancelToken&, RunListener*) {
    return RunTool(job);
  }};
  std::optional<LivePolicy> policy_;
  std::optional<LanguageProbe> probe_;
};

TEST_F(CanaryProbe, ALanguageWhoseCanaryWorksIsAvailable) {
  Start({"default", "other"});
  EXPECT_TRUE(probe_->Available(toy()).ok());
  EXPECT_EQ(canaries(), 2);
  EXPECT_EQ(heard(), std::vector<bool>{true});
}

TEST_F(CanaryProbe, OneWhoseCanaryFailsUnderAFilterIsNotAvailableUnderIt) {
  Break("other");
  Start({"default", "other"});
  EXPECT_TRUE(probe_->Available(toy()).ok());
  EXPECT_TRUE(Under("default").ok());
  const absl::Status status = Under("other");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("canary failed under profile other"));
  EXPECT_EQ(probe_->Version(toy()), "Toy 1.0");
  EXPECT_EQ(heard(), std::vector<bool>{false});
}

TEST_F(CanaryProbe, OneThatFailsUnderEveryFilterIsNotAvailableAtAll) {
  Break("default");
  Start({"default"});
  EXPECT_EQ(probe_->Available(toy()).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(CanaryProbe, IsAskedAgainAfterAChange) {
  Start({"default"});
  // The probe has the languages of the first policy.
  const std::shared_ptr<const PolicySet> first = policy_->Get();
  policy_->Set(std::make_shared<const PolicySet>(Policy({"default", "other"})));
  Break("other");
  probe_->CheckCanaries();
  EXPECT_FALSE(Under("other").ok());
  Break("");
  probe_->CheckCanaries();
  EXPECT_TRUE(Under("other").ok());
  EXPECT_EQ(heard(), (std::vector<bool>{true, false, true}));
}

TEST_F(CanaryProbe, OnlyThoseThatFailedAreTriedAgainAndNotBelievedUntried) {
  Start({"default", "other"});
  const int good = canaries();
  probe_->CheckCanaries(LanguageProbe::Which::kFailed);
  EXPECT_EQ(canaries(), good);
  Break("other");
  probe_->CheckCanaries();
  EXPECT_FALSE(Under("other").ok());
  // That it can't be tried says nothing of it.
  HaveRoom(false);
  probe_->CheckCanaries(LanguageProbe::Which::kFailed);
  EXPECT_FALSE(Under("other").ok());
  EXPECT_TRUE(Under("default").ok());
  HaveRoom(true);
  Break("");
  probe_->CheckCanaries(LanguageProbe::Which::kFailed);
  EXPECT_TRUE(Under("other").ok());
  EXPECT_EQ(heard(), (std::vector<bool>{true, true, false, false, true}));
}

TEST_F(CanaryProbe, OneThatIsNotInstalledIsNotTried) {
  policy::Language absent = Toy();
  absent.canary = policy::Canary{.code = "code", .output = "42\n"};
  absent.run[0] = "/usr/bin/no-such-thing";
  auto table = policy::LanguageTable::Create({absent});
  ASSERT_TRUE(table.ok()) << table.status();
  auto policy = PolicySet::Create(*std::move(table),
                                  {{.name = "default", .description = "x"}});
  ASSERT_TRUE(policy.ok()) << policy.status();
  policy_.emplace(*std::move(policy));
  probe_.emplace(*policy_, std::nullopt, tools_, nullptr,
                 [this](const absl::Status& all_work) { Note(all_work.ok()); });
  EXPECT_FALSE(probe_->Checking(toy()));
  probe_->CheckCanaries();
  EXPECT_EQ(canaries(), 0);
  // It was not available before, so nothing got worse.
  EXPECT_EQ(heard(), std::vector<bool>{true});
}

}  // namespace
}  // namespace sandglass::server
