#include "policy/rules/rules.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/profile/profile.h"
#include "policy/profile/profile_words.h"
#include "policy/rules/hidden_text.h"

namespace sandglass::policy {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Facts = absl::StatusOr<std::vector<Fact>>;

Rule MakeRule(const std::string& id, Severity severity, RuleKind kind,
              std::vector<std::string> names = {},
              std::vector<std::string> languages = {}) {
  return {id, severity, "", std::move(languages), kind, std::move(names)};
}

Fact At(FactKind kind, const std::string& name, uint32_t line = 1,
        const std::string& detail = "") {
  return {kind, 0, line, 1, 1, name, detail};
}

Findings Apply(const std::vector<Rule>& rules, const std::vector<Fact>& facts,
               const std::string& text = "x = 1\n") {
  return ApplyRules(rules, "python", {text}, Facts(facts));
}

std::vector<std::string> Subjects(const Findings& findings) {
  std::vector<std::string> subjects;
  for (const Finding& finding : findings.list) {
    subjects.push_back(finding.subject);
  }
  return subjects;
}

TEST(Rules, AModuleStandsForWhatIsBelowItInImportsAndUses) {
  const std::vector<Rule> rules = {
      MakeRule("no-os", Severity::kDeny, RuleKind::kModules, {"os", "net"})};
  EXPECT_THAT(Subjects(Apply(rules, {At(FactKind::kImport, "os")})),
              ElementsAre("os"));
  for (const char* name : {"os.path", "net/http", "os::x"}) {
    EXPECT_THAT(Apply(rules, {At(FactKind::kImport, name)}).list, SizeIs(1))
        << name;
  }
  EXPECT_THAT(Apply(rules, {At(FactKind::kUse, "os.system")}).list, SizeIs(1));
  for (const char* name : {"osx", "ossaudiodev", "posix", "o", "xos.os"}) {
    EXPECT_THAT(Apply(rules, {At(FactKind::kImport, name)}).list, IsEmpty())
        << name;
  }
  // It might be one of them.
  EXPECT_THAT(Apply(rules, {At(FactKind::kImportUnknown, "__import__")}).list,
              SizeIs(1));
  // However often: one finding, at the first place.
  const Findings twice = Apply(rules, {At(FactKind::kImport, "os", 3),
                                       At(FactKind::kUse, "os.system", 4)});
  ASSERT_THAT(twice.list, SizeIs(1));
  EXPECT_EQ(twice.list[0].line, 3u);
  EXPECT_EQ(twice.severest, Severity::kDeny);
}

TEST(Rules, OnlyTheListedModulesPass) {
  const std::vector<Rule> rules = {MakeRule("list", Severity::kDeny,
                                            RuleKind::kOnlyModules,
                                            {"math", "json.*", "encoding/*"})};
  for (const char* name : {"math", "json", "json.decoder", "encoding/json"}) {
    EXPECT_THAT(Apply(rules, {At(FactKind::kImport, name)}).list, IsEmpty())
        << name;
  }
  for (const char* name : {"os", "math.x", "jsonx", "encodingx/json"}) {
    EXPECT_THAT(Subjects(Apply(rules, {At(FactKind::kImport, name)})),
                ElementsAre(name));
  }
  EXPECT_THAT(Apply(rules, {At(FactKind::kImportUnknown, "x")}).list,
              SizeIs(1));
  // What is used of a module is not the question.
  EXPECT_THAT(Apply(rules, {At(FactKind::kUse, "os.system")}).list, IsEmpty());
}

TEST(Rules, CallsMatchByStars) {
  const std::vector<Rule> rules = {
      MakeRule("calls", Severity::kWarn, RuleKind::kCalls,
               {"os.system", "subprocess.*", "*.exec", "a*b*c"})};
  for (const char* name : {"os.system", "subprocess.run", "subprocess.a.b",
                           "?.exec", "x.y.exec", "abc", "aXbXbYc"}) {
    EXPECT_THAT(Apply(rules, {At(FactKind::kUse, name)}).list, SizeIs(1))
        << name;
  }
  for (const char* name : {"os.systemx", "os", "subprocess", "exec", "acb"}) {
    EXPECT_THAT(Apply(rules, {At(FactKind::kUse, name)}).list, IsEmpty())
        << name;
  }
  // Many stars are no search without end.
  const std::vector<Rule> stars = {MakeRule("stars", Severity::kWarn,
                                            RuleKind::kCalls,
                                            {std::string(99, '*') + "b"})};
  EXPECT_THAT(Apply(stars, {At(FactKind::kUse, std::string(200, 'a'))}).list,
              IsEmpty());
}

TEST(Rules, TheOtherKindsFindTheirs) {
  const std::vector<Rule> rules = {
      MakeRule("w", Severity::kNote, RuleKind::kWritesFiles),
      MakeRule("u", Severity::kNote, RuleKind::kUnknownImports),
      MakeRule("l", Severity::kWarn, RuleKind::kEndlessLoops),
      MakeRule("e", Severity::kRequireApproval, RuleKind::kEveryRun)};
  const Findings found = Apply(rules, {At(FactKind::kOpenWrite, "open", 2, "w"),
                                       At(FactKind::kImportUnknown, "f", 1),
                                       At(FactKind::kEndlessLoop, "while 1")});
  ASSERT_THAT(found.list, SizeIs(4));
  EXPECT_EQ(found.list[0].rule, "e");  // the severest first
  EXPECT_EQ(found.list[1].rule, "l");
  EXPECT_EQ(found.list[2].rule, "u");  // then by place
  EXPECT_EQ(found.list[3].rule, "w");
  EXPECT_THAT(found.list[3].message,
              HasSubstr("opens a file for writing, by open (w)"));
  EXPECT_EQ(found.severest, Severity::kRequireApproval);
}

TEST(Rules, ApplyToTheirLanguagesOnly) {
  const std::vector<Rule> rules = {
      MakeRule("l", Severity::kDeny, RuleKind::kEndlessLoops, {}, {"ruby"})};
  EXPECT_THAT(Apply(rules, {At(FactKind::kEndlessLoop, "x")}).list, IsEmpty());
  EXPECT_FALSE(NeedsFacts(rules, "python"));
  EXPECT_TRUE(NeedsFacts(rules, "ruby"));
  EXPECT_EQ(SeverestFor(rules, "python"), Severity::kNote);
  EXPECT_EQ(SeverestFor(rules, "ruby"), Severity::kDeny);
}

TEST(Rules, WhatCouldNotBeLookedAtCountsAsTheSeverest) {
  const std::vector<Rule> rules = {
      MakeRule("l", Severity::kWarn, RuleKind::kEndlessLoops),
      MakeRule("m", Severity::kRequireApproval, RuleKind::kModules, {"os"})};
  const Findings failed = ApplyRules(
      rules, "python", {"x"}, absl::InvalidArgumentError("it is too deep"));
  ASSERT_THAT(failed.list, SizeIs(1));
  EXPECT_EQ(failed.list[0].rule, kAnalysisFailed);
  EXPECT_EQ(failed.list[0].severity, Severity::kRequireApproval);
  EXPECT_THAT(failed.list[0].message, HasSubstr("it is too deep"));
  // Where nothing waits for it, it only warns.
  const std::vector<Rule> notes = {
      MakeRule("l", Severity::kNote, RuleKind::kEndlessLoops)};
  EXPECT_EQ(
      ApplyRules(notes, "python", {"x"}, absl::InternalError("y")).severest,
      Severity::kWarn);
  // And where no rule asks an analyser, nothing is said.
  const std::vector<Rule> text = {
      MakeRule("h", Severity::kDeny, RuleKind::kHiddenText)};
  EXPECT_THAT(ApplyRules(text, "python", {"x"}, absl::InternalError("y")).list,
              IsEmpty());
}

TEST(Rules, ASyntaxErrorIsNoted) {
  const std::vector<Rule> rules = {
      MakeRule("l", Severity::kDeny, RuleKind::kEndlessLoops)};
  const Findings found =
      Apply(rules, {At(FactKind::kSyntaxError, "invalid syntax", 7)});
  EXPECT_TRUE(found.syntax_error);
  ASSERT_THAT(found.list, SizeIs(1));
  EXPECT_EQ(found.list[0].rule, kSyntaxErrorFound);
  EXPECT_EQ(found.list[0].severity, Severity::kNote);
  EXPECT_EQ(found.list[0].line, 7u);
}

TEST(Rules, ManyFindingsAreCountedAndTheSeverestKept) {
  std::vector<Fact> facts;
  facts.reserve(302);
  for (int i = 0; i < 300; ++i) {
    facts.push_back(At(FactKind::kUse, absl::StrCat("os.f", i)));
  }
  facts.push_back(At(FactKind::kEndlessLoop, "while 1", 999));
  const std::vector<Rule> rules = {
      MakeRule("c", Severity::kNote, RuleKind::kCalls, {"os.*"}),
      MakeRule("l", Severity::kDeny, RuleKind::kEndlessLoops)};
  const Findings found = Apply(rules, facts);
  EXPECT_THAT(found.list, SizeIs(kMaxFindings));
  EXPECT_EQ(found.dropped, 201u);
  EXPECT_EQ(found.list[0].rule, "l");
  EXPECT_EQ(found.severest, Severity::kDeny);
}

TEST(HiddenText, FindsWhatPeopleDoNotSee) {
  const auto turned = FindHiddenText("a = 1\nb = '\xe2\x80\xae' # x\n");
  ASSERT_TRUE(turned.has_value());
  EXPECT_EQ(turned->name, "U+202e (direction override)");
  EXPECT_EQ(turned->line, 2u);
  EXPECT_EQ(turned->column, 6u);
  for (const char* text :
       {"\xe2\x80\x8b", "\xe2\x81\xa6", "\xf3\xa0\x81\x81", "x\x08y", "\x7f",
        "a\xef\xbb\xbf", "\xc2\x85", "\xe3\x85\xa4"}) {
    EXPECT_TRUE(FindHiddenText(text).has_value()) << text;
  }
  EXPECT_EQ(FindHiddenText("\xe2\x80\x8b\xe2\x80\x8b")->count, 2u);
  // Ordinary text in all scripts, emoji with joiners, tabs, form feeds, a mark
  // at the start, and bytes that are no UTF-8.
  for (const char* text :
       {"", "x\ty\r\n\x0c", "\xef\xbb\xbfx = 1", "\xe4\xbd\xa0\xe5\xa5\xbd",
        "\xd8\xb3\xd9\x84\xd8\xa7\xd9\x85", "\xf0\x9f\x91\xa8\xe2\x80\x8d",
        "\x80\xff\xfe\xe2\x80", "\xc2"}) {
    EXPECT_FALSE(FindHiddenText(text).has_value()) << text;
  }
}

// ---- as they are read and checked ----

Profile Parsed(const std::string& rules) {
  const auto profile = ParseProfile(
      "p", absl::StrCat("{\"description\": \"d\", \"rules\": ", rules, "}"));
  EXPECT_TRUE(profile.ok()) << profile.status();
  return profile.ok() ? *profile : Profile();
}

TEST(RulesOfAProfile, AreRead) {
  const Profile profile = Parsed(R"([
    {"id": "a", "severity": "deny", "languages": ["python"],
     "message": "no", "modules": ["os"]},
    {"id": "b", "severity": "note", "only_modules": []},
    {"id": "c", "severity": "warn", "calls": ["eval", "os.*"]},
    {"id": "d", "severity": "require_approval", "every_run": true}])");
  ASSERT_THAT(profile.rules, SizeIs(4));
  EXPECT_EQ(profile.rules[0].kind, RuleKind::kModules);
  EXPECT_EQ(profile.rules[0].severity, Severity::kDeny);
  EXPECT_THAT(profile.rules[0].names, ElementsAre("os"));
  EXPECT_THAT(profile.rules[0].languages, ElementsAre("python"));
  EXPECT_EQ(profile.rules[0].message, "no");
  EXPECT_EQ(profile.rules[3].severity, Severity::kRequireApproval);
  EXPECT_FALSE(profile.approval.self_approval);
  EXPECT_EQ(profile.approval.expires_after, absl::Minutes(10));
  EXPECT_THAT(DescribeProfile(profile),
              AllOf(Contains("A program that is to run at all runs only after "
                             "a person's approval (d)."),
                    Contains("No commands can be started in its sessions.")));
}

struct Wrong {
  const char* rules;
  const char* says;
};

TEST(RulesOfAProfile, AreRefusedWithTheirPlace) {
  const Wrong cases[] = {
      {R"({})", "/rules"},
      {R"([1])", "/rules/0"},
      {R"([{"severity": "deny", "every_run": true}])", "/rules/0"},
      {R"([{"id": "", "severity": "deny", "every_run": true}])", "/rules/0"},
      {R"([{"id": "A", "severity": "deny", "every_run": true}])",
       "/rules/0/id"},
      {R"([{"id": 1, "severity": "deny", "every_run": true}])", "/rules/0/id"},
      {R"([{"id": "analysis-failed", "severity": "deny", "every_run": true}])",
       "no rule's"},
      {R"([{"id": "a", "every_run": true}])", "severity"},
      {R"([{"id": "a", "severity": "forbid", "every_run": true}])",
       "/rules/0/severity"},
      {R"([{"id": "a", "severity": "deny"}])", "nothing to look for"},
      {R"([{"id": "a", "severity": "deny", "every_run": false}])",
       "expected true"},
      {R"([{"id": "a", "severity": "deny", "every_run": "yes"}])",
       "/rules/0/every_run"},
      {R"([{"id": "a", "severity": "deny", "module": ["os"]}])", "modules"},
      {R"([{"id": "a", "severity": "deny", "modules": "os"}])",
       "/rules/0/modules"},
      {R"([{"id": "a", "severity": "deny", "modules": []}])", "is empty"},
      {R"([{"id": "a", "severity": "deny", "modules": [""]}])",
       "/rules/0/modules/0"},
      {R"([{"id": "a", "severity": "deny", "modules": ["o s"]}])",
       "without blanks"},
      {R"([{"id": "a", "severity": "deny", "modules": ["os", "os"]}])",
       "given twice"},
      {R"([{"id": "a", "severity": "deny", "modules": ["os.*"]}])",
       "is not for \"modules\""},
      {R"([{"id": "a", "severity": "deny", "only_modules": ["o*"]}])",
       "can only be the end"},
      {R"([{"id": "a", "severity": "deny", "only_modules": ["*"]}])",
       "can only be the end"},
      {R"([{"id": "a", "severity": "deny", "modules": ["os"], "calls": ["x"]}])",
       "looks for one thing"},
      {R"([{"id": "a", "severity": "deny", "languages": [], "every_run": true}])",
       "/rules/0/languages"},
      {R"([{"id": "a", "severity": "deny", "message": "a\nb", "every_run": true}])",
       "/rules/0/message"},
      {R"([{"id": "a", "severity": "deny", "every_run": true, "extra": 1}])",
       "extra"},
  };
  for (const Wrong& wrong : cases) {
    const auto profile = ParseProfile(
        "p",
        absl::StrCat("{\"description\": \"d\", \"rules\": ", wrong.rules, "}"));
    EXPECT_EQ(profile.status().code(), absl::StatusCode::kInvalidArgument)
        << wrong.rules;
    EXPECT_THAT(std::string(profile.status().message()), HasSubstr(wrong.says))
        << wrong.rules;
  }
}

TEST(RulesOfAProfile, NamesAreBoundedInAll) {
  std::string rules;
  for (int rule = 0; rule < 3; ++rule) {
    absl::StrAppend(&rules, rule > 0 ? "," : "", R"({"id": "r)", rule,
                    R"(", "severity": "warn", "modules": [)");
    for (int name = 0; name < 700; ++name) {
      absl::StrAppend(&rules, name > 0 ? "," : "", "\"n", rule, "x", name,
                      "\"");
    }
    absl::StrAppend(&rules, "]}");
  }
  const auto profile = ParseProfile(
      "p", absl::StrCat("{\"description\": \"d\", \"rules\": [", rules, "]}"));
  EXPECT_THAT(std::string(profile.status().message()),
              HasSubstr("have 2100 names together"));
}

TEST(RulesOfAProfile, ApprovalIsReadAndBounded) {
  const auto profile = ParseProfile("p", R"({"description": "d",
                "approval": {"self_approval": true, "expires_after": "1h"}})");
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_TRUE(profile->approval.self_approval);
  EXPECT_EQ(profile->approval.expires_after, absl::Hours(1));
  for (const char* text :
       {R"({"approval": 1})", R"({"approval": {"self": true}})",
        R"({"approval": {"self_approval": "yes"}})",
        R"({"approval": {"expires_after": "0s"}})",
        R"({"approval": {"expires_after": "25h"}})",
        R"({"approval": {"expires_after": 60}})"}) {
    std::string whole(text);
    whole.insert(1, R"("description": "d", )");
    EXPECT_THAT(std::string(ParseProfile("p", whole).status().message()),
                HasSubstr("/approval"))
        << text;
  }
}

RuleLanguages Languages(std::vector<std::string> allowed = {}) {
  return {{"bash", "python", "ruby"}, {"python", "ruby"}, std::move(allowed)};
}

std::string Problem(const std::vector<Rule>& rules,
                    const RuleLanguages& languages) {
  return std::string(CheckRules(rules, languages).message());
}

TEST(CheckRules, KnowsTheLanguages) {
  const auto loops = [](Severity severity, std::vector<std::string> ids) {
    return std::vector<Rule>{
        MakeRule("l", severity, RuleKind::kEndlessLoops, {}, std::move(ids))};
  };
  EXPECT_TRUE(CheckRules({}, Languages()).ok());
  EXPECT_TRUE(CheckRules(loops(Severity::kDeny, {"python"}), Languages()).ok());
  EXPECT_THAT(Problem(loops(Severity::kDeny, {"pascal"}), Languages()),
              HasSubstr("/rules/0/languages: \"pascal\" is not a language's"));
  EXPECT_THAT(Problem(loops(Severity::kNote, {"bash"}), Languages()),
              HasSubstr("\"bash\" has no analyser"));
  EXPECT_THAT(Problem(loops(Severity::kNote, {"ruby"}), Languages({"python"})),
              HasSubstr("would never be applied"));
  // A gate for all languages that some pass by unseen is none.
  EXPECT_THAT(Problem(loops(Severity::kDeny, {}), Languages()),
              HasSubstr("bash has no analyser and would pass"));
  EXPECT_TRUE(
      CheckRules(loops(Severity::kDeny, {}), Languages({"python"})).ok());
  EXPECT_TRUE(CheckRules(loops(Severity::kWarn, {}), Languages()).ok());
  const std::vector<Rule> text = {
      MakeRule("h", Severity::kDeny, RuleKind::kHiddenText, {}, {"bash"})};
  EXPECT_TRUE(CheckRules(text, Languages()).ok());
}

TEST(CheckRules, RefusesContradictions) {
  const Rule allow = MakeRule("allow", Severity::kDeny, RuleKind::kOnlyModules,
                              {"math", "os.path", "json.*"}, {"python"});
  const auto with = [&](Rule other) {
    return Problem({allow, std::move(other)}, Languages());
  };
  EXPECT_THAT(with(MakeRule("m", Severity::kDeny, RuleKind::kModules, {"os"},
                            {"python"})),
              HasSubstr("\"allow\" allows os.path, which \"m\" is against"));
  EXPECT_THAT(with(MakeRule("m", Severity::kDeny, RuleKind::kModules, {"json"},
                            {"python"})),
              HasSubstr("allows json.*"));
  EXPECT_EQ(with(MakeRule("m", Severity::kDeny, RuleKind::kModules, {"os"},
                          {"ruby"})),
            "");
  EXPECT_THAT(with(MakeRule("b", Severity::kDeny, RuleKind::kOnlyModules,
                            {"re"}, {"python"})),
              HasSubstr("both say which modules"));
  EXPECT_THAT(with(MakeRule("allow", Severity::kDeny, RuleKind::kHiddenText)),
              HasSubstr("two rules with the id"));
  const Rule warns =
      MakeRule("a", Severity::kWarn, RuleKind::kCalls, {"eval"}, {"python"});
  const Rule denies = MakeRule("b", Severity::kDeny, RuleKind::kCalls,
                               {"exec", "eval"}, {"python"});
  EXPECT_THAT(Problem({warns, denies}, Languages()),
              HasSubstr("eval is \"warn\" by \"a\" and \"deny\" by \"b\""));
}

}  // namespace
}  // namespace sandglass::policy
