// Policy directories as a whole: profiles, and the filters that they name.

#include "server/live_policy/policy_set.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;
using testing::WriteFile;
namespace fs = std::filesystem;

class PolicySetFiltersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(SANDGLASS_SOURCE_DIR "/policy/data", directory_.Path("policy"),
             fs::copy_options::recursive);
  }
  void WriteProfile(const std::string& name, const std::string& additions) {
    WriteFile(directory_.Path("policy/profiles/" + name + ".json"),
              R"({"description": "d", "seccomp_add": )" + additions + "}");
  }
  absl::StatusOr<PolicySet> Load() {
    return PolicySet::Load(directory_.Path("policy"));
  }

  const testing::TempDir directory_;
};

const sandbox::JailTemplate& TemplateOf(const PolicySet& set,
                                        const std::string& name) {
  for (const sandbox::JailTemplate& each : set.templates()) {
    if (each.name == set.FindProfile(name)->jail_template) return each;
  }
  ADD_FAILURE() << "no template " << name;
  return set.templates().front();
}

bool SameFilter(const PolicySet& set, const std::string& a,
                const std::string& b) {
  const policy::BpfProgram& first = TemplateOf(set, a).seccomp;
  const policy::BpfProgram& second = TemplateOf(set, b).seccomp;
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    [](const sock_filter& x, const sock_filter& y) {
                      return x.code == y.code && x.jt == y.jt && x.jf == y.jf &&
                             x.k == y.k;
                    });
}

TEST_F(PolicySetFiltersTest, EachProfileHasTheFilterThatItNames) {
  WriteProfile("plain", "[]");
  WriteProfile("one", R"(["debugging", "personality"])");
  WriteProfile("two", R"(["personality", "debugging"])");
  WriteProfile("less", R"(["personality"])");
  const absl::StatusOr<PolicySet> set = Load();
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(SameFilter(*set, "default", "plain"));
  EXPECT_TRUE(SameFilter(*set, "one", "two"));
  EXPECT_FALSE(SameFilter(*set, "default", "one"));
  EXPECT_FALSE(SameFilter(*set, "less", "one"));
  EXPECT_EQ(PolicySet::FilterName(*set->FindProfile("plain")), "default");
  EXPECT_EQ(PolicySet::FilterName(*set->FindProfile("two")),
            "default+debugging+personality");
}

TEST_F(PolicySetFiltersTest, AnUnknownAdditionIsRefusedWithItsProfile) {
  WriteProfile("mine", R"(["debuging"])");
  EXPECT_THAT(
      std::string(Load().status().message()),
      HasSubstr("profile mine: /seccomp_add: there is no addition \"debuging\" "
                "to a system call policy; did you mean \"debugging\"?"));
}

TEST_F(PolicySetFiltersTest, AnAdditionThatLeadsOutOfTheJailIsRefused) {
  WriteFile(directory_.Path("policy/seccomp/additions/mounts.json"),
            R"({"description": "d", "rules": [{"calls": ["mount"],
                "action": "allow", "reason": "I want it."}]})");
  // Nobody names it yet.
  EXPECT_TRUE(Load().ok()) << Load().status();
  WriteProfile("mine", R"(["mounts"])");
  EXPECT_THAT(std::string(Load().status().message()),
              HasSubstr("profile mine: /seccomp_add: addition \"mounts\" "
                        "allows \"mount\" (165), which no addition may"));
}

TEST_F(PolicySetFiltersTest, AFilterUnderWhichNoProgramStartsIsRefused) {
  WriteFile(directory_.Path("policy/seccomp/additions/fewer.json"),
            R"({"description": "d", "rules": [{"calls": ["openat2", "fchdir"],
                "action": "EPERM", "reason": "Nobody needs them."}]})");
  WriteProfile("mine", R"(["fewer"])");
  const absl::Status status = Load().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("profile mine: its filter refuses openat2, fchdir, "
                        "without which no program can be started"));
}

class PolicySetImagesTest : public PolicySetFiltersTest {
 protected:
  // The error of loading a profile with these keys and the image "tiny".
  std::string Error(const std::string& keys,
                    const std::string& profile = "slim") {
    WriteFile(directory_.Path("policy/profiles/" + profile + ".json"),
              R"({"description": "d", )" + keys + "}");
    const auto set =
        PolicySet::Load(directory_.Path("policy"), {{"tiny", "/srv/tiny"}});
    if (set.ok()) image_ = TemplateOf(*set, profile).image;
    return std::string(set.status().message());
  }
  std::string image_;
};

TEST_F(PolicySetImagesTest, AProfileNamesOneThatIsThere) {
  EXPECT_EQ(Error(R"("image": "tiny")"), "");
  EXPECT_EQ(image_, "tiny");
  EXPECT_EQ(Error(R"("image": "host")"), "");
  EXPECT_EQ(image_, "host");
  EXPECT_THAT(Error(R"("image": "tin")"),
              HasSubstr("profile slim: /image: there is no image \"tin\"; "
                        "there are: host, tiny"));
}

TEST_F(PolicySetImagesTest, TheDefaultProfileHasTheHosts) {
  EXPECT_THAT(Error(R"("image": "tiny")", "default"),
              HasSubstr("profile default: /image: "));
}

TEST_F(PolicySetImagesTest, EachHasAnalysers) {
  const std::string rules =
      R"("rules": [{"id": "a", "severity": "deny", "languages": ["python"],
                    "modules": ["os"]}])";
  EXPECT_EQ(Error(rules), "");
  EXPECT_EQ(Error(rules + R"(, "image": "tiny")"), "");
}

TEST_F(PolicySetImagesTest, EachHasJailsForItsLanguagesTools) {
  const auto set =
      PolicySet::Load(directory_.Path("policy"), {{"tiny", "/srv/tiny"}});
  ASSERT_TRUE(set.ok()) << set.status();
  const policy::Language& python = *set->languages().Find("python");
  EXPECT_EQ(set->ToolProfile(python), set->FindProfile(""));
  const policy::SharedProfile tools =
      set->ToolProfile(set->languages().In("tiny", python));
  EXPECT_EQ(tools->image, "tiny");
  EXPECT_EQ(tools->network, nullptr);
  EXPECT_EQ(set->FindByTemplate(tools->jail_template), tools);
  const auto named = [&](const std::string& name) {
    return std::find_if(set->templates().begin(), set->templates().end(),
                        [&](const auto& jail) { return jail.name == name; });
  };
  const auto jail = named(tools->jail_template);
  const auto model = named(set->FindProfile("")->jail_template);
  ASSERT_NE(jail, set->templates().end());
  EXPECT_EQ(jail->image, "tiny");
  EXPECT_EQ(jail->maximum, model->maximum);
  EXPECT_EQ(jail->seccomp.size(), model->seccomp.size());
  // Nobody can ask for them.
  for (const policy::SharedProfile& profile : set->profiles()) {
    EXPECT_NE(profile, tools);
  }
}

class PolicySetNetworkTest : public PolicySetFiltersTest {
 protected:
  PolicySet LoadWith(const std::string& keys) {
    WriteFile(directory_.Path("policy/profiles/mine.json"),
              R"({"description": "d")" + keys + "}");
    absl::StatusOr<PolicySet> set = Load();
    EXPECT_TRUE(set.ok()) << set.status();
    return *std::move(set);
  }
};

// Compilers and analysers have none.
TEST_F(PolicySetNetworkTest, ProgramsHaveJailsOfTheirOwn) {
  const PolicySet set = LoadWith(R"(, "network": {"hosts": ["a.example"]})");
  const policy::SharedProfile mine = set.FindProfile("mine");
  EXPECT_EQ(TemplateOf(set, "mine").network, nullptr);
  EXPECT_EQ(mine->run_template(), mine->jail_template + "+network");
  const auto with = std::find_if(
      set.templates().begin(), set.templates().end(),
      [&](const auto& each) { return each.name == mine->run_template(); });
  ASSERT_NE(with, set.templates().end());
  ASSERT_NE(with->network, nullptr);
  EXPECT_EQ(with->network, mine->network);
  EXPECT_EQ(set.FindByTemplate(with->name), mine);
  EXPECT_EQ(set.FindByTemplate(mine->jail_template), mine);

  const policy::SharedProfile other = set.FindProfile("default");
  EXPECT_EQ(other->run_template(), other->jail_template);
  EXPECT_EQ(TemplateOf(set, "default").network, nullptr);
}

TEST_F(PolicySetNetworkTest, OtherNetworksMakeOtherJails) {
  const auto name = [&](const std::string& keys) {
    return LoadWith(keys).FindProfile("mine")->jail_template;
  };
  const std::string one = name(R"(, "network": {"hosts": ["a.example"]})");
  EXPECT_EQ(one, name(R"(,  "network":  {"hosts": ["a.example"]})"));
  for (const char* keys :
       {"", R"(, "network": "none")",
        R"(, "network": {"hosts": ["b.example"]})",
        R"(, "network": {"hosts": [{"host": "a.example", "inspect": true}]})",
        R"(, "network": {"hosts": ["a.example"], "limits": {"bytes": 9}})"}) {
    EXPECT_NE(one, name(keys)) << keys;
  }
}

}  // namespace
}  // namespace sandglass::server
