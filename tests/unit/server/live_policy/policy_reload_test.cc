// What the policy directory says comes into force, or not at all.
#include "server/live_policy/policy_reload.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/errors.h"
#include "server/live_policy/tenant_rules.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PolicyFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(SANDGLASS_SOURCE_DIR "/policy/data", policy(),
             fs::copy_options::recursive);
  }
  std::string policy() const { return directory_.Path("policy"); }
  void WriteProfile(const std::string& name, const std::string& rest) {
    testing::WriteFile(absl::StrCat(policy(), "/profiles/", name, ".json"),
                       absl::StrCat(R"({"description": "d")", rest, "}"));
  }
  PolicySet Load() {
    absl::StatusOr<PolicySet> set = PolicySet::Load(policy());
    EXPECT_TRUE(set.ok()) << set.status();
    return *std::move(set);
  }

  const testing::TempDir directory_;
};

TEST_F(PolicyFiles, EqualProfilesHaveEqualTemplateNames) {
  const PolicySet before = Load();
  WriteProfile("mine", R"(, "env": {"A": "1"})");
  const PolicySet added = Load();
  EXPECT_EQ(before.FindProfile("")->jail_template,
            added.FindProfile("")->jail_template);
  EXPECT_NE(before.digest(), added.digest());
  WriteProfile("mine", R"(,   "env": {"A": "1"} // as before
                       )");
  const PolicySet same = Load();
  EXPECT_EQ(added.FindProfile("mine")->jail_template,
            same.FindProfile("mine")->jail_template);
  EXPECT_EQ(added.digest(), same.digest());
  // An interpreter that waits has the profile's environment.
  WriteProfile("mine", R"(, "env": {"A": "2"})");
  const PolicySet changed = Load();
  EXPECT_NE(same.FindProfile("mine")->jail_template,
            changed.FindProfile("mine")->jail_template);
  EXPECT_EQ(changed.FindByTemplate(changed.FindProfile("mine")->jail_template),
            changed.FindProfile("mine"));
  EXPECT_EQ(changed.FindByTemplate("mine"), nullptr);
}

TEST_F(PolicyFiles, DifferencesAreListed) {
  WriteProfile("goes", "");
  WriteProfile("changes", "");
  const PolicySet before = Load();
  fs::remove(policy() + "/profiles/goes.json");
  WriteProfile("changes", R"(, "compile_cache": "off")");
  WriteProfile("comes", "");
  const PolicySet after = Load();
  const PolicyChanges changes = CompareProfiles(before, after);
  EXPECT_THAT(changes.added, ElementsAre("comes"));
  EXPECT_THAT(changes.changed, ElementsAre("changes"));
  EXPECT_THAT(changes.removed, ElementsAre("goes"));
  EXPECT_TRUE(changes.any);
  EXPECT_FALSE(CompareProfiles(after, after).any);
  WriteProfile("comes", R"(, "network": {"hosts": ["a.example"]})");
  const PolicySet reaching = Load();
  EXPECT_THAT(CompareProfiles(after, reaching).changed, ElementsAre("comes"));
  WriteProfile("comes",
               R"(, "network": {"hosts": ["a.example", "b.example"]})");
  EXPECT_THAT(CompareProfiles(reaching, Load()).changed, ElementsAre("comes"));
}

TEST_F(PolicyFiles, ReloadedOnesHaveTheLanguagesOfTheFirst) {
  const PolicySet first = Load();
  fs::remove_all(policy() + "/languages");
  const absl::StatusOr<PolicySet> second = PolicySet::Reload(policy(), first);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->languages().Find("python"),
            first.languages().Find("python"));
}

Identity Of(const std::string& tenant) {
  return OwnerNamed(NameOf(tenant, "ci"));
}

TEST_F(PolicyFiles, TenantsAreReadAgainWithTheRest) {
  const testing::TempDir tenants;
  const auto write = [&](const std::string& text) {
    testing::WriteFile(tenants.Path("team-a.json"), text);
  };
  WriteProfile("mine", "");
  PolicySet first = Load();
  EXPECT_EQ(first.LoadTenants(tenants.path()).code(),
            absl::StatusCode::kNotFound);
  write(R"({"weight": 2, "profiles": ["mine"], "default_profile": "mine"})");
  ASSERT_TRUE(first.LoadTenants(tenants.path()).ok());
  EXPECT_EQ(first.tenants()->Get("team-a").weight, 2u);
  EXPECT_EQ(ProfileFor(first, Of("team-a"), ""), "mine");
  EXPECT_EQ(ProfileFor(first, Of("team-a"), "default"), "default");
  EXPECT_EQ(ProfileFor(first, Of("team-b"), ""), "");
  // A token that is for one profile names it by itself, and no other.
  Identity narrow = Of("team-b");
  narrow.profiles = {"strict", "mine"};
  EXPECT_EQ(ProfileFor(first, narrow, ""), "strict");
  EXPECT_TRUE(MayUseProfile(first, narrow, "strict").ok());
  EXPECT_EQ(ErrorReason(MayUseProfile(first, narrow, "default")),
            "PROFILE_DENIED");
  EXPECT_EQ(ErrorReason(MayUseProfile(first, Of("team-a"), "default")),
            "PROFILE_DENIED");
  EXPECT_TRUE(MayUseProfile(first, Of("team-a"), "mine").ok());
  EXPECT_TRUE(MayUseProfile(first, Of("team-b"), "default").ok());

  const absl::StatusOr<PolicySet> same = PolicySet::Reload(policy(), first);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_FALSE(CompareProfiles(first, *same).any);
  write(R"({"weight": 3})");
  const absl::StatusOr<PolicySet> heavier = PolicySet::Reload(policy(), *same);
  ASSERT_TRUE(heavier.ok()) << heavier.status();
  EXPECT_EQ(heavier->tenants()->Get("team-a").weight, 3u);
  EXPECT_TRUE(CompareProfiles(first, *heavier).any);
  // Nothing of it is taken.
  write(R"({"weight": 0})");
  WriteProfile("more", "");
  const absl::StatusOr<PolicySet> broken =
      PolicySet::Reload(policy(), *heavier);
  EXPECT_THAT(std::string(broken.status().message()),
              HasSubstr("team-a.json: /weight"));
  write(R"({"profiles": ["mine", "gone"], "default_profile": "mine"})");
  EXPECT_THAT(
      std::string(PolicySet::Reload(policy(), first).status().message()),
      HasSubstr("/profiles/1: there is no profile \"gone\""));
}

class PolicyReloadTest : public PolicyFiles, public PolicyReloadHooks {
 protected:
  void Start() {
    live_ = std::make_unique<LivePolicy>(Load());
    reload_ = std::make_unique<PolicyReload>(policy(), *live_, *this);
    reload_->Start();
  }
  absl::StatusOr<std::vector<std::string>> MakeTemplates() override {
    if (!read_.ok()) return read_;
    return made_.empty() ? TemplatesNow() : made_;
  }
  absl::Status CheckPolicy(const PolicySet&) override { return check_; }
  absl::Status RecordPolicy(const PolicySet&,
                            const PolicyChanges& changes) override {
    recorded_.push_back(changes);
    return record_;
  }
  void RecordRefusedPolicy(const absl::Status&) override {}
  void FollowPolicy(bool changed) override { ++(changed ? after_ : the_same_); }
  void WatchHelpers() override {}
  std::vector<std::string> TemplatesNow() {
    std::vector<std::string> names;
    const absl::StatusOr<PolicySet> now =
        PolicySet::Reload(policy(), *live_->Get());
    if (!now.ok()) return {"none"};
    for (const sandbox::JailTemplate& each : now->templates()) {
      names.push_back(each.name);
    }
    return names;
  }
  // Asks, and waits until it is over; what was wrong.
  std::string Reload() {
    const PolicyReload::State before = reload_->state();
    reload_->Ask();
    EXPECT_TRUE(Eventually([&] {
      const PolicyReload::State now = reload_->state();
      return now.reloads != before.reloads ||
             now.last_error != before.last_error;
    }));
    return reload_->state().last_error;
  }

  absl::Status read_;
  std::vector<std::string> made_;  // empty: what there is
  absl::Status check_;
  absl::Status record_;
  std::vector<PolicyChanges> recorded_;
  int after_ = 0;
  int the_same_ = 0;
  std::unique_ptr<LivePolicy> live_;
  std::unique_ptr<PolicyReload> reload_;
};

TEST_F(PolicyReloadTest, ANewPolicyComesIntoForceAndTheOldOneIsKeptByItsUsers) {
  Start();
  const policy::SharedProfile old = live_->Get()->FindProfile("");
  WriteProfile("default", R"(, "env": {"NEW": "1"})");
  EXPECT_EQ(Reload(), "");
  EXPECT_EQ(live_->Get()->FindProfile("")->env.size(), 1u);
  EXPECT_THAT(old->env, IsEmpty());
  reload_->Stop();
  ASSERT_EQ(recorded_.size(), 1u);
  EXPECT_THAT(recorded_[0].changed, ElementsAre("default"));
  EXPECT_EQ(after_, 1);
}

TEST_F(PolicyReloadTest, AnUnchangedPolicyDisturbsNobody) {
  Start();
  EXPECT_EQ(Reload(), "");
  reload_->Stop();
  EXPECT_THAT(recorded_, IsEmpty());
  EXPECT_EQ(after_, 0);
  EXPECT_EQ(the_same_, 1);
}

TEST_F(PolicyReloadTest, AnInvalidPolicyKeepsTheOldOne) {
  Start();
  const std::shared_ptr<const PolicySet> old = live_->Get();
  WriteProfile("default", R"(, "env": {"NEW": "1"})");
  read_ = absl::InvalidArgumentError("default.json: /x: unknown key");
  EXPECT_THAT(Reload(), HasSubstr("unknown key"));
  read_ = absl::OkStatus();
  made_ = {"default@0123456789abcdef"};
  EXPECT_THAT(Reload(), HasSubstr("changed while they were read"));
  made_.clear();
  check_ = absl::InvalidArgumentError("no place for durable sessions");
  EXPECT_THAT(Reload(), HasSubstr("no place"));
  check_ = absl::OkStatus();
  record_ = absl::UnavailableError("the audit log is full");
  EXPECT_THAT(Reload(), HasSubstr("is full"));
  EXPECT_EQ(live_->Get(), old);
  record_ = absl::OkStatus();
  EXPECT_EQ(Reload(), "");
  EXPECT_NE(live_->Get(), old);
  reload_->Stop();
  EXPECT_EQ(after_, 1);
}

}  // namespace
}  // namespace sandglass::server
