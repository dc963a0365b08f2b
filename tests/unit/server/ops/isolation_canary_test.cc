// Whether jails hold: what a program found that tried to get out, and what is
// made of it.

#include "server/ops/isolation_canary.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/live_policy/live_policy.h"
#include "server/ops/operated_daemon.h"
#include "server/ops/readiness.h"
#include "server/ops/readiness_watch.h"
#include "tests/unit/server/scripted_runner.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// What the script prints in a jail that holds.
constexpr char kGoodJail[] =
    "Uid: 1000 1000 1000 1000\nGid: 1000 1000 1000 1000\nGroups: \n"
    "CapInh: 0000000000000000\nCapPrm: 0000000000000000\n"
    "CapEff: 0000000000000000\nCapBnd: 0000000000000000\n"
    "CapAmb: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\nnet: lo\n"
    "process: 2\nend: of the script\n";

TEST(IsolationCanary, AJailThatHoldsPasses) {
  EXPECT_EQ(JudgeIsolation(kGoodJail), absl::OkStatus());
}

TEST(IsolationCanary, EachBreachIsReported) {
  const std::pair<const char*, const char*> breaches[] = {
      {"NoNewPrivs: 1", "NoNewPrivs: 0"},
      {"Seccomp: 2", "Seccomp: 0"},
      {"CapEff: 0000000000000000", "CapEff: 0000000000200000"},
      {"CapBnd: 0000000000000000\n", ""},
      {"Uid: 1000 1000 1000 1000", "Uid: 0 0 0 0"},
      {"Gid: 1000 1000", "Gid: 1000 0"},
      {"net: lo", "net: lo\nnet: eth0"},
      {"process: 2", "process: 2\nreads: /etc/shadow"},
      {"process: 2", "process: 2\nwrites: /usr/x"},
      {"process: 2", "process: 2\ndoes: mount"},
      {"process: 2",
       "process: 1\nprocess: 2\nprocess: 3\nprocess: 4\nprocess: 5\n"
       "process: 6\nprocess: 7\nprocess: 8\nprocess: 9"}};
  for (const auto& [good, bad] : breaches) {
    const std::string output = absl::StrReplaceAll(kGoodJail, {{good, bad}});
    EXPECT_TRUE(absl::IsFailedPrecondition(JudgeIsolation(output))) << output;
  }
}

TEST(IsolationCanary, AScriptThatDidNotEndSaysNothing) {
  EXPECT_TRUE(absl::IsUnknown(JudgeIsolation("")));
  EXPECT_TRUE(absl::IsUnknown(JudgeIsolation("NoNewPrivs: 0\n")));
}

// Runs the script as a user without rights who sees `shadow` as /etc/shadow.
std::string OutputWithShadow(const std::string& shadow) {
  const TempDir dir;
  std::ofstream(dir.Path("script")) << kIsolationScript;
  std::ofstream(dir.Path("shadow")) << shadow;
  FILE* pipe = ::popen(
      absl::StrCat("unshare --mount sh -c 'mount --bind ", dir.Path("shadow"),
                   " /etc/shadow && exec setpriv --reuid 65534 --regid 65534 "
                   "--clear-groups --inh-caps=-all sh' <",
                   dir.Path("script"))
          .c_str(),
      "r");
  std::string output;
  std::array<char, 4096> buffer;
  while (const size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), got);
  }
  EXPECT_EQ(::pclose(pipe), 0);
  return output;
}

// Jails have an empty file over what kernels tell in /proc.
TEST(IsolationCanary, AFileThatIsReadIsOneWithSomethingInIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string covered = OutputWithShadow("");
  EXPECT_THAT(covered, HasSubstr("end: of the script"));
  EXPECT_THAT(covered, Not(HasSubstr("reads: /etc/shadow")));
  for (const char* shadow : {"root:x:1\n", "no newline", "\n"}) {
    EXPECT_THAT(OutputWithShadow(shadow), HasSubstr("reads: /etc/shadow"));
  }
}

// A daemon in which every language can be used.
class FakeDaemon final : public OperatedDaemon {
 public:
  std::vector<PoolKeyState> PoolStates() const override { return {}; }
  std::vector<sandbox::YardStock> YardStocks() const override { return {}; }
  size_t Sessions() const override { return 0; }
  uint32_t Commands() const override { return 0; }
  PolicyReload::State PolicyState() const override { return {}; }
  absl::Status Usable(const policy::Language&) const override {
    return absl::OkStatus();
  }
  void TryFailedLanguages() override {
    if (try_languages) try_languages();
  }

  std::function<void()> try_languages;  // may be empty
};

// An audit log whose disk answers only when it is told to.
class HangingAudit final : public AuditHealth {
 public:
  explicit HangingAudit(absl::Notification& go) : go_(go) {}
  absl::Status Healthy() override {
    go_.WaitForNotification();
    return absl::OkStatus();
  }

 private:
  absl::Notification& go_;
};

// Jails by template, as the canary's jobs name them, and what its script prints
// there; it can't be tried in others.
class IsolationOfJails : public ::testing::Test {
 protected:
  IsolationOfJails() {
    policy::Language toy{.id = "toy",
                         .name = "Toy",
                         .extensions = {".toy"},
                         .source_file = "main.toy",
                         .run = {"/bin/sh", "${source}"},
                         .version = {"/bin/sh", "--version"}};
    toy.zygote = policy::ZygoteRecipe{.command = {"/bin/sh"},
                                      .library = "x.so",
                                      .script = "x",
                                      .kinds = {{.name = "lean"}}};
    toy.canary = policy::Canary{
        .code = "echo 42", .output = "42\n", .shell = "become a shell"};
    auto table = policy::LanguageTable::Create({toy});
    EXPECT_TRUE(table.ok()) << table.status();
    table_ = *std::move(table);
    UseProfiles({"default", "net"});
  }

  void UseProfiles(const std::vector<std::string>& names) {
    std::vector<policy::Profile> profiles;
    for (const std::string& name : names) {
      profiles.push_back({.name = name, .jail_template = name});
      if (name == "net") {
        profiles.back().network = std::make_shared<policy::NetworkPolicy>();
        profiles.back().network_template = "net+network";
      }
    }
    auto set = PolicySet::Create(table_, std::move(profiles));
    EXPECT_TRUE(set.ok()) << set.status();
    policy_.emplace(*std::move(set));
  }

  // Of a watch over these jails; both outlive it.
  ReadinessWatchParts Parts(Readiness& readiness, const LivePolicy& policy) {
    return {.readiness = &readiness,
            .policy = &policy,
            .runner = &runner_,
            .daemon = &daemon_};
  }

  IsolationCanary::Found Check() {
    tried_.clear();
    return canary_.Check(
        *policy_, [this](const policy::Language&) { return usable_; }, runner_,
        cancel_,
        [this](const absl::Status& escaped) { heard_.push_back(escaped); });
  }

  absl::StatusOr<JobResult> RunScript(const Job& job) {
    const std::string place =
        job.template_name + (job.zygote.empty() ? "" : " by zygote");
    tried_.push_back(place);
    std::vector<std::string>& prints = prints_[place];
    if (prints.empty()) return absl::UnavailableError("no jail");
    JobResult result;
    result.timings.kind =
        job.zygote.empty() || falls_back_ ? "exec" : job.zygote;
    result.stdout_result.data = prints.front();
    if (prints.size() > 1) prints.erase(prints.begin());
    return result;
  }

  policy::LanguageTable table_;
  std::optional<PolicySet> policy_;
  FakeDaemon daemon_;
  IsolationCanary canary_;
  CancelToken cancel_;
  // The last goes on; none: it can't be tried.
  std::map<std::string, std::vector<std::string>> prints_;
  std::vector<std::string> tried_;
  bool falls_back_ = false;  // no zygote serves
  absl::Status usable_;
  std::vector<absl::Status> heard_;
  ScriptedRunner runner_{[this](const Job& job, CancelToken&, RunListener*) {
    return RunScript(job);
  }};
};

std::string BadJail() {
  return absl::StrReplaceAll(kGoodJail,
                             {{"process: 2", "process: 2\ndoes: mount"}});
}

TEST_F(IsolationOfJails, IsTriedInEachKindThatProgramsGet) {
  for (const char* place : {"default", "default by zygote", "net",
                            "net+network", "net+network by zygote"}) {
    prints_[place] = {kGoodJail};
  }
  const IsolationCanary::Found found = Check();
  EXPECT_EQ(found.status, absl::OkStatus());
  EXPECT_EQ(found.held, 5u);
  EXPECT_EQ(found.not_tried, 0u);
  EXPECT_THAT(tried_,
              UnorderedElementsAre("default", "default by zygote", "net",
                                   "net+network", "net+network by zygote"));
}

TEST_F(IsolationOfJails, IsUnknownWhereItCanNotBeTried) {
  IsolationCanary::Found found = Check();
  EXPECT_TRUE(absl::IsUnavailable(found.status));
  EXPECT_EQ(found.not_tried, 5u);
  prints_["default"] = {kGoodJail};
  found = Check();
  EXPECT_EQ(found.status, absl::OkStatus());
  EXPECT_EQ(found.not_tried, 4u);
  EXPECT_THAT(found.why, HasSubstr("no jail"));
}

TEST_F(IsolationOfJails, OfALanguageThatCanNotBeRunIsNotTried) {
  UseProfiles({"default"});
  prints_["default"] = {kGoodJail};
  prints_["default by zygote"] = {BadJail()};
  usable_ = absl::UnavailableError("it is being prepared");
  IsolationCanary::Found found = Check();
  EXPECT_EQ(found.status, absl::OkStatus());
  EXPECT_EQ(found.not_tried, 1u);
  EXPECT_THAT(found.why, HasSubstr("it is being prepared"));
  usable_ = absl::FailedPreconditionError("it is not installed");
  found = Check();
  EXPECT_EQ(found.held, 1u);
  EXPECT_EQ(found.not_tried, 0u);
  EXPECT_THAT(tried_, ElementsAre("default"));
}

TEST_F(IsolationOfJails, IsBrokenByASecondEscapeOnly) {
  UseProfiles({"default"});
  prints_["default by zygote"] = {kGoodJail};
  prints_["default"] = {BadJail(), kGoodJail};
  EXPECT_EQ(Check().status, absl::OkStatus());
  prints_["default"] = {"nonsense", BadJail(), kGoodJail};
  EXPECT_EQ(Check().status, absl::OkStatus());
  prints_["default"] = {"nonsense", BadJail(), BadJail()};
  EXPECT_TRUE(absl::IsFailedPrecondition(Check().status));
  // Nor does one that never held, and was got out of.
  prints_["default"] = {BadJail(), "nonsense"};
  EXPECT_TRUE(absl::IsFailedPrecondition(Check().status));
}

TEST_F(IsolationOfJails, OfAnotherKindSaysNothing) {
  UseProfiles({"default"});
  prints_["default"] = prints_["default by zygote"] = {kGoodJail};
  falls_back_ = true;
  IsolationCanary::Found found = Check();
  EXPECT_EQ(found.held, 1u);
  EXPECT_EQ(found.not_tried, 1u);
  EXPECT_THAT(found.why, HasSubstr("no jail of kind toy-lean, only exec"));
  falls_back_ = false;
  prints_["default by zygote"] = {BadJail()};
  EXPECT_TRUE(absl::IsFailedPrecondition(Check().status));
  prints_["default by zygote"] = {kGoodJail};
  falls_back_ = true;
  EXPECT_TRUE(absl::IsFailedPrecondition(Check().status));
  falls_back_ = false;
  EXPECT_EQ(Check().status, absl::OkStatus());
  // An escape is one, wherever it was.
  falls_back_ = true;
  prints_["default by zygote"] = {BadJail()};
  EXPECT_TRUE(absl::IsFailedPrecondition(Check().status));
}

TEST_F(IsolationOfJails, StaysBrokenUntilItHeldOrLeftThePolicy) {
  prints_["default"] = {kGoodJail};
  prints_["net+network by zygote"] = {BadJail()};
  IsolationCanary::Found found = Check();
  EXPECT_TRUE(absl::IsFailedPrecondition(found.status));
  EXPECT_THAT(found.status.message(),
              AllOf(HasSubstr("in a jail for Toy of profile net"),
                    HasSubstr("it does mount")));
  ASSERT_THAT(heard_, SizeIs(1));
  EXPECT_EQ(heard_[0], found.status);
  EXPECT_THAT(canary_.EscapedTemplates(), ElementsAre("net+network"));
  // It can't be tried, others hold.
  prints_.erase("net+network by zygote");
  EXPECT_TRUE(absl::IsFailedPrecondition(Check().status));
  prints_["net+network by zygote"] = {kGoodJail};
  EXPECT_EQ(Check().status, absl::OkStatus());
  EXPECT_THAT(canary_.EscapedTemplates(), IsEmpty());
  prints_["net+network by zygote"] = {BadJail()};
  EXPECT_TRUE(absl::IsFailedPrecondition(Check().status));
  // Sessions may live on in such jails.
  UseProfiles({"default"});
  EXPECT_EQ(Check().status, absl::OkStatus());
  EXPECT_THAT(canary_.EscapedTemplates(), ElementsAre("net+network"));
  UseProfiles({"default", "net"});
  prints_.erase("net+network by zygote");
  EXPECT_TRUE(absl::IsFailedPrecondition(Check().status));
  prints_["net+network by zygote"] = {kGoodJail};
  EXPECT_EQ(Check().status, absl::OkStatus());
  EXPECT_THAT(canary_.EscapedTemplates(), IsEmpty());
}

TEST_F(IsolationOfJails, SessionsOfAReplacedProfileMayBeTold) {
  prints_["default"] = {kGoodJail};
  prints_["net"] = {BadJail()};
  Readiness readiness;
  LivePolicy policy(*std::move(policy_));
  const policy::SharedProfile net = policy.Get()->FindProfile("net");
  const policy::SharedProfile good = policy.Get()->FindProfile("");
  ReadinessWatch watch(Parts(readiness, policy));
  watch.Start();
  ASSERT_TRUE(watch.WaitForFirst(absl::Seconds(30)));
  EXPECT_TRUE(absl::IsFailedPrecondition(readiness.Get(ReadyWhen::kIsolation)));
  UseProfiles({"default"});
  policy.Set(std::make_shared<const PolicySet>(*std::move(policy_)));
  watch.Recheck();
  EXPECT_TRUE(
      Eventually([&] { return readiness.Get(ReadyWhen::kIsolation).ok(); }));
  EXPECT_TRUE(watch.EscapedFrom(*net));
  EXPECT_FALSE(watch.EscapedFrom(*good));
  watch.Stop();
}

TEST_F(IsolationOfJails, AnAuditLogWhoseDiskHangsIsToldMeanwhile) {
  Readiness readiness;
  const LivePolicy policy(*std::move(policy_));
  absl::Notification go;
  ReadinessWatchParts parts = Parts(readiness, policy);
  HangingAudit hanging(go);
  parts.audit = &hanging;
  parts.audit_patience = absl::Milliseconds(50);
  ReadinessWatch watch(std::move(parts));
  absl::Cleanup let_go = [&go] { go.Notify(); };
  watch.Start();
  const auto audit = [&] { return readiness.Get(ReadyWhen::kAudit); };
  ASSERT_TRUE(Eventually([&] { return !audit().ok(); }));
  EXPECT_THAT(std::string(audit().message()), HasSubstr("has not answered"));
  std::move(let_go).Invoke();
  EXPECT_TRUE(Eventually([&] { return audit().ok(); }));
  watch.Stop();
}

TEST_F(IsolationOfJails, LanguagesThatDoNotWorkAreTriedAgain) {
  for (const char* place : {"default", "default by zygote", "net",
                            "net+network", "net+network by zygote"}) {
    prints_[place] = {kGoodJail};
  }
  Readiness readiness;
  readiness.Start([](const std::string&, bool) {});
  readiness.Set(ReadyWhen::kLanguages, absl::InternalError("it was too slow"));
  const LivePolicy policy(*std::move(policy_));
  std::atomic<int> times = 0;
  ReadinessWatchParts parts = Parts(readiness, policy);
  daemon_.try_languages = [&] {
    if (++times == 2) {
      readiness.Set(ReadyWhen::kLanguages, absl::OkStatus());
    }
  };
  parts.try_every = absl::Milliseconds(1);
  ReadinessWatch watch(std::move(parts));
  watch.Start();
  ASSERT_TRUE(watch.WaitForFirst(absl::Seconds(30)));
  EXPECT_TRUE(Eventually([&] { return readiness.Ready(); }));
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_EQ(times, 2);
  watch.Stop();
}

}  // namespace
}  // namespace sandglass::server
