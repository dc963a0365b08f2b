#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "policy/libraries/library_profile.h"

namespace sandglass::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using enum Ecosystem;

// What reading {"libraries": `text`} gives, or what is wrong with it.
absl::StatusOr<LibraryPolicy> Read(const std::string& text) {
  absl::StatusOr<JsonDocument> document =
      JsonDocument::Parse("{\"libraries\": " + text + "}", "p.json");
  if (!document.ok()) return document.status();
  JsonObject root = document->root();
  LibraryPolicy policy = ReadLibraries(root, "p");
  if (absl::Status finished = document->Finish(); !finished.ok()) {
    return finished;
  }
  return policy;
}

LibraryPolicy Policy(const std::string& text) {
  const auto policy = Read(text);
  EXPECT_TRUE(policy.ok()) << policy.status();
  return policy.value_or(LibraryPolicy());
}

LibraryDecision Ask(const LibraryPolicy& policy, Ecosystem ecosystem,
                    const std::vector<std::string>& texts) {
  const auto set = LibrarySet::Parse(ecosystem, texts);
  EXPECT_TRUE(set.ok()) << set.status();
  LibraryDecision decision = Decide(policy, *set);
  EXPECT_EQ(decision.allowed, decision.reason.empty());
  EXPECT_EQ(decision.allowed, decision.libraries.has_value());
  return decision;
}

TEST(LibraryProfile, WithoutTheKeyOrWithNoneTakesNone) {
  absl::StatusOr<JsonDocument> empty = JsonDocument::Parse("{}", "p.json");
  ASSERT_TRUE(empty.ok());
  JsonObject root = empty->root();
  for (const LibraryPolicy& policy :
       {ReadLibraries(root, "p"), Policy("\"none\""), Policy("{}"),
        Policy(R"({"go": {}})")}) {
    EXPECT_EQ(Ask(policy, kPython, {"six"}).reason,
              "profile \"p\" takes no libraries for python; its operator "
              "allows them with \"libraries\": {\"python\": {\"allow\": "
              "[...]}} in the profile");
    EXPECT_TRUE(Ask(policy, kPython, {}).allowed);
  }
}

TEST(LibraryProfile, WithoutAListAllowsAll) {
  const LibraryPolicy policy = Policy(R"({"python": {"deny": ["torch"]}})");
  const LibraryDecision decision = Ask(policy, kPython, {"six==1.16.0", "a"});
  ASSERT_TRUE(decision.allowed);
  EXPECT_THAT(decision.libraries->ToArguments(),
              ElementsAre("a", "six==1.16.0"));
  EXPECT_FALSE(decision.offline);
  EXPECT_EQ(Ask(policy, kPython, {"a", "Torch==2"}).reason,
            "library \"torch\" is refused by \"torch\" in profile \"p\"'s "
            "\"deny\" list for python");
  EXPECT_FALSE(Ask(policy, Ecosystem::kGo, {"a.b/c"}).allowed);
}

TEST(LibraryProfile, AllowsWhatItsListHas) {
  const LibraryPolicy policy = Policy(
      R"({"python": {"allow": ["NumPy", "typing_extensions", "types-*"],
                     "deny": ["types-evil"]},
          "javascript": {"allow": ["@types/*", "lodash"]},
          "go": {"allow": ["github.com/acme/*", "golang.org/x/text"]},
          "java": {"allow": ["org.apache.*", "junit:junit"]},
          "ruby": {"allow": ["rack"]}})");
  const struct {
    const char* text;
    Ecosystem ecosystem;
    bool allowed;
  } cases[] = {
      {"numpy==1.*", kPython, true},
      {"Typing.Extensions", kPython, true},
      {"types-requests", kPython, true},
      {"types-evil", kPython, false},
      {"types", kPython, false},
      {"numpyy", kPython, false},
      {"num", kPython, false},
      {"@types/node@18", Ecosystem::kNode, true},
      {"@typesx/node", Ecosystem::kNode, false},
      {"lodash", Ecosystem::kNode, true},
      {"Lodash", Ecosystem::kNode, false},
      {"github.com/acme/a/b", Ecosystem::kGo, true},
      {"github.com/acme", Ecosystem::kGo, false},
      {"golang.org/x/text@v0.3.7", Ecosystem::kGo, true},
      {"golang.org/x/text/v2", Ecosystem::kGo, false},
      {"org.apache.commons:commons-lang3:3.12.0", Ecosystem::kJava, true},
      {"org.apachex:a:1", Ecosystem::kJava, false},
      {"junit:junit:4.13.2", Ecosystem::kJava, true},
      {"rack:~> 2.2", Ecosystem::kRuby, true},
      {"rack-test", Ecosystem::kRuby, false}};
  for (const auto& each : cases) {
    EXPECT_EQ(Ask(policy, each.ecosystem, {each.text}).allowed, each.allowed)
        << each.text;
  }
  EXPECT_EQ(Ask(policy, kPython, {"numpy", "x"}).reason,
            "library \"x\" isn't in profile \"p\"'s list for python; it has 3 "
            "names");
  EXPECT_THAT(Ask(policy, Ecosystem::kRuby, {"x"}).reason,
              HasSubstr("it has 1 name"));
}

TEST(LibraryProfile, JoinsItsVersionsWithTheRequests) {
  const LibraryPolicy policy = Policy(
      R"({"python": {"allow": ["requests>=2"]},
          "javascript": {"allow": ["lodash@^4"]},
          "go": {"allow": ["a.b/c@v1.2.3"]},
          "java": {"allow": ["a:b:1"]}})");
  const auto argument = [&](Ecosystem ecosystem, const std::string& text) {
    const LibraryDecision decision = Ask(policy, ecosystem, {text});
    return decision.allowed ? decision.libraries->Canonical()
                            : "refused: " + decision.reason;
  };
  EXPECT_EQ(argument(kPython, "requests"), "requests>=2");
  EXPECT_EQ(argument(kPython, "requests[socks]<3,>=2"),
            "requests[socks]<3,>=2");
  // No version is both; pip will say so.
  EXPECT_EQ(argument(kPython, "requests==1.0"), "requests==1.0,>=2");
  EXPECT_EQ(argument(Ecosystem::kNode, "lodash"), "lodash@^4");
  EXPECT_EQ(argument(Ecosystem::kNode, "lodash@^4"), "lodash@^4");
  EXPECT_EQ(argument(Ecosystem::kNode, "lodash@3"),
            "refused: \"lodash@3\" isn't what profile \"p\"'s list for "
            "javascript has, which is \"lodash@^4\"; ask for that, or for the "
            "name alone");
  EXPECT_EQ(argument(Ecosystem::kGo, "a.b/c"), "a.b/c@v1.2.3");
  EXPECT_THAT(argument(Ecosystem::kGo, "a.b/c@v1.2.4"), HasSubstr("refused"));
  EXPECT_EQ(argument(Ecosystem::kJava, "a:b:1"), "a:b:1");
  EXPECT_THAT(argument(Ecosystem::kJava, "a:b:2"), HasSubstr("refused"));
}

TEST(LibraryProfile, AnOfflineProfileSaysSo) {
  const LibraryPolicy policy = Policy(R"({"python": {"offline": true}})");
  EXPECT_TRUE(Ask(policy, kPython, {"six"}).offline);
}

TEST(LibraryProfile, RefusesWhatCantBeMeant) {
  const struct {
    const char* text;
    const char* words;
  } cases[] = {
      {"\"all\"", "p.json: /libraries: expected \"none\""},
      {"[]", "/libraries: expected"},
      {"null", "/libraries: expected"},
      {"true", "/libraries: expected"},
      {R"({"python": []})", "/libraries/python: expected"},
      {R"({"python": "none"})", "/libraries/python: expected"},
      {R"({"pyhton": {}})", "pyhton"},
      {R"({"bash": {}})", "bash"},
      {R"({"allow": ["six"]})", "allow"},
      {R"({"python": {"offline": "yes"}})", "/libraries/python/offline"},
      {R"({"python": {"allowed": []}})", "allowed"},
      {R"({"python": {"allow": []}})", "/libraries/python/allow: is empty"},
      {R"({"python": {"allow": "six"}})", "/libraries/python/allow"},
      {R"({"python": {"allow": [1]}})", "/libraries/python/allow/0"},
      {R"({"python": {"allow": ["a", "*"]}})",
       "/libraries/python/allow/1: \"*\" is for all libraries"},
      {R"({"python": {"allow": ["num*"]}})", "after a letter or digit"},
      {R"({"python": {"allow": ["n*-x"]}})", "before its end"},
      {R"({"python": {"allow": ["-*"]}})", "no beginning of a name"},
      {R"({"python": {"allow": ["../*"]}})", "no beginning of a name"},
      {R"({"python": {"allow": ["-e x"]}})", "is an option"},
      {R"({"python": {"allow": ["https://x/"]}})", "is an address"},
      {R"({"python": {"allow": ["six[a]"]}})", "has extras"},
      {R"({"python": {"allow": ["six", "SIX==1"]}})",
       "/libraries/python/allow/1: \"SIX==1\" has a name that is there"},
      {R"({"python": {"deny": ["six==1"]}})", "write \"six\""},
      {R"({"javascript": {"allow": ["@types*"]}})", "after a letter"},
      {R"({"javascript": {"allow": ["@*"]}})", "after a letter"},
      {R"({"javascript": {"allow": ["@types-*"]}})", "ends in a scope"},
      {R"({"java": {"allow": ["org/*"]}})", "no beginning of a group"},
      {R"({"go": {"allow": ["fmt"]}})", "has no host"},
      {R"({"go": {"allow": ["encoding/*"]}})", "no beginning of a name"},
  };
  for (const auto& each : cases) {
    const auto policy = Read(each.text);
    ASSERT_FALSE(policy.ok()) << each.text;
    EXPECT_THAT(std::string(policy.status().message()), HasSubstr(each.words))
        << each.text;
  }
}

TEST(LibraryProfile, BoundsItsLists) {
  std::string list = "\"p0\"";
  for (int i = 1; i <= 1000; ++i) list += ", \"p" + std::to_string(i) + "\"";
  const auto policy = Read("{\"python\": {\"allow\": [" + list + "]}}");
  ASSERT_FALSE(policy.ok());
  EXPECT_THAT(std::string(policy.status().message()),
              HasSubstr("has 1001 entries; at most 1000"));
}

}  // namespace
}  // namespace sandglass::policy
