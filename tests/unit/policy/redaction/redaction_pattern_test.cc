#include "policy/redaction/redaction_pattern.h"

#include <re2/re2.h>

#include <ostream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/redaction/redaction.h"

namespace sandglass::policy {
namespace {

using ::testing::HasSubstr;

// Whether all of `text` becomes one mark.
bool MatchesAll(const RedactionPattern& pattern, const std::string& text) {
  const auto redactor = Redactor::Create({{"x", pattern}});
  EXPECT_TRUE(redactor.ok()) << redactor.status();
  return redactor.ok() && (*redactor)->Redact(text, nullptr) == "[redacted:x]";
}

RE2::Options Latin1() {
  RE2::Options options(RE2::Latin1);
  options.set_longest_match(true);
  options.set_log_errors(false);
  return options;
}

class BytePattern : public ::testing::TestWithParam<const char*> {};

TEST_P(BytePattern, TakesTheBytesThatRe2Takes) {
  const auto pattern = RedactionPattern::Compile(GetParam());
  ASSERT_TRUE(pattern.ok()) << pattern.status();
  const RE2 re2(GetParam(), Latin1());
  ASSERT_TRUE(re2.ok()) << re2.error();
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(MatchesAll(*pattern, text), RE2::FullMatch(text, re2)) << byte;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Redaction, BytePattern,
    ::testing::Values(
        "a", ".", R"(\d)", R"(\w)", R"(\s)", R"(\D)", R"(\W)", R"(\S)", R"(\n)",
        R"(\t)", R"(\r)", R"(\f)", R"(\v)", R"(\x00)", R"(\xfF)", R"(\.)",
        R"(\\)", R"(\-)", R"(\/)", R"(\")", R"(\~)", R"(\@)", "[abc]", "[a-f]",
        "[^a-f]", "[a-]", "[-a]", "[^-a]", R"([\]])", R"([\d_-])", R"([^\s"])",
        R"([\x80-\xff])", R"([\S\n])", R"([a\-z])", "[a^]", "[*]", "[[]", "[.]",
        "[$]", "[!-/]", "(?i)k", "(?i)[f-j]", "(?i)[^b-d]", R"((?i)\x41)",
        "a|b", "(?:a|[x-z])", "(a)", "((a)|(?:(b)))", "a{1}", "a{1,}",
        "(?:a?){1}b|c", "-", "/", "\"", "&", "~", " ", "\n", "a{1,2}|b"));

TEST(RedactionPattern, KeepsItsText) {
  const auto pattern = RedactionPattern::Compile("EMP-[0-9]{6}");
  ASSERT_TRUE(pattern.ok());
  EXPECT_EQ(pattern->text(), "EMP-[0-9]{6}");
  EXPECT_EQ(pattern->nodes().size(), 11u);
}

TEST(RedactionPattern, RepeatsAreCounted) {
  struct {
    const char* pattern;
    std::vector<size_t> match;
    std::vector<size_t> others;
  } const cases[] = {
      {"a{3}", {3}, {1, 2}},         {"a{2,4}", {2, 3, 4}, {1}},
      {"a{3,}", {3, 4, 50}, {1, 2}}, {"(?:aa){2,3}", {4, 5, 6}, {3}},
      {"a{1000}", {1000}, {999}},    {"aa?", {1, 2}, {}},
      {"aa*", {1, 2, 70}, {}},       {"(?:a{2}){3}", {6}, {5}},
      {"(?:a+){2}", {2, 3, 9}, {1}}, {"a{1,1}", {1}, {}},
      {"(?:a*)*aa", {2, 3}, {1}},
  };
  for (const auto& c : cases) {
    const auto pattern = RedactionPattern::Compile(c.pattern);
    ASSERT_TRUE(pattern.ok()) << pattern.status();
    for (const size_t count : c.match) {
      EXPECT_TRUE(MatchesAll(*pattern, std::string(count, 'a')))
          << c.pattern << " " << count;
    }
    for (const size_t count : c.others) {
      EXPECT_FALSE(MatchesAll(*pattern, std::string(count, 'a')))
          << c.pattern << " " << count;
    }
  }
}

TEST(RedactionPattern, CaseIsIgnoredWhereAsked) {
  const auto pattern = RedactionPattern::Compile("(?i)To[k]eN-9_");
  ASSERT_TRUE(pattern.ok());
  EXPECT_TRUE(MatchesAll(*pattern, "tOKEn-9_"));
  const auto exact = RedactionPattern::Compile("Token");
  ASSERT_TRUE(exact.ok());
  EXPECT_FALSE(MatchesAll(*exact, "token"));
}

struct RefusalCase {
  const char* name;
  std::string text;
  const char* message;
};
void PrintTo(const RefusalCase& c, std::ostream* out) { *out << c.name; }

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

class RefusedPattern : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(RefusedPattern, IsReportedWithItsPlace) {
  const auto pattern = RedactionPattern::Compile(GetParam().text);
  ASSERT_FALSE(pattern.ok());
  EXPECT_EQ(pattern.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(pattern.status().message()),
              HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Redaction, RefusedPattern,
    ::testing::Values(
        RefusalCase{"Empty", "", "matches the empty text"},
        RefusalCase{"EmptyGroup", "()", "matches the empty text"},
        RefusalCase{"EmptyChoice", "abc|", "matches the empty text"},
        RefusalCase{"Star", "a*", "matches the empty text"},
        RefusalCase{"Optional", "(?:a|b+)?", "matches the empty text"},
        RefusalCase{"NoTimes", "ba{0}", "at byte 2: what comes no times"},
        RefusalCase{"NoTimesOrNone", "a{0,0}b", "at byte 1: what comes"},
        RefusalCase{"FlagOnly", "(?i)", "matches the empty text"},
        RefusalCase{"AnchorBegin", "a^b", "at byte 1: \"^\" is no anchor"},
        RefusalCase{"AnchorEnd", "ab$", "at byte 2: \"$\" is no anchor"},
        RefusalCase{"WordBoundary", R"(a\bb)", "at byte 1: \"\\b\" is not"},
        RefusalCase{"TextBegin", R"(\Aa)", "at byte 0: \"\\A\" is not"},
        RefusalCase{"TextEnd", R"(a\z)", "at byte 1: \"\\z\" is not"},
        RefusalCase{"BackReference", R"((a)\1)", "at byte 3: \"\\1\" is not"},
        RefusalCase{"Octal", R"(\012)", "at byte 0: \"\\0\" is not"},
        RefusalCase{"Quoting", R"(\Qa\E)", "at byte 0: \"\\Q\" is not"},
        RefusalCase{"UnicodeClass", R"(\pL)", "at byte 0: \"\\p\" is not"},
        RefusalCase{"EscapedSpace", R"(\ a)", "at byte 0: \"\\\" before"},
        RefusalCase{"EscapedUnderscore", R"(\_)", "at byte 0: \"\\_\" is not"},
        RefusalCase{"EscapedHighByte", "\\\xe9", "at byte 0: \"\\\" before"},
        RefusalCase{"LookAhead", "a(?=b)", "at byte 1: of what begins with"},
        RefusalCase{"LookBehind", "(?<!a)b", "at byte 0: of what begins with"},
        RefusalCase{"NamedGroup", "(?P<n>a)", "at byte 0: of what begins"},
        RefusalCase{"FlagInside", "a(?i)b", "at byte 1: of what begins"},
        RefusalCase{"OtherFlag", "(?s).", "at byte 0: of what begins"},
        RefusalCase{"FlagTwice", "(?i)(?i)a", "at byte 4: of what begins"},
        RefusalCase{"FlagGroup", "(?i:a)", "at byte 0: of what begins"},
        RefusalCase{"QuestionAtEnd", "a(?", "at byte 1: of what begins"},
        RefusalCase{"OpenGroup", "ab(cd", "at byte 2: \"(\" without a"},
        RefusalCase{"OpenGroupBare", "(", "at byte 0: \"(\" without a"},
        RefusalCase{"ClosedGroup", "ab)cd", "at byte 2: \")\" without a"},
        RefusalCase{"OpenClass", "a[bc", "at byte 1: \"[\" without a"},
        RefusalCase{"OpenClassBare", "[", "at byte 0: \"[\" without a"},
        RefusalCase{"OpenNegatedClass", "[^", "at byte 0: \"[\" without a"},
        RefusalCase{"OpenRange", "[a-", "at byte 0: \"[\" without a"},
        RefusalCase{"EmptyClass", "[]", "at byte 0: the class has no bytes"},
        RefusalCase{"EmptyNegatedClass", "[^]a]", "at byte 0: the class has"},
        RefusalCase{"FullNegatedClass", R"([^\x00-\xff])",
                    "at byte 0: the class has no bytes"},
        RefusalCase{"EverySpaceOrNot", R"([^\s\S])", "the class has no bytes"},
        RefusalCase{"RangeBackwards", "[z-a]", "at byte 1: the range ends"},
        RefusalCase{"RangeOfClass", R"([\d-z])", "at byte 1: a range is"},
        RefusalCase{"RangeToClass", R"([a-\d])", "at byte 1: a range is"},
        RefusalCase{"DashInside", "[a-f-z]", "at byte 4: \"-\" stands"},
        RefusalCase{"PosixClass", "[[:alpha:]]", "at byte 1: classes with"},
        RefusalCase{"BadEscapeInClass", R"([\b])", "at byte 1: \"\\b\" is"},
        RefusalCase{"ClosedClass", "a]", "at byte 1: for the character"},
        RefusalCase{"ClosedBrace", "a}", "at byte 1: for the character"},
        RefusalCase{"OpenBrace", "{1}", "at byte 0: for the character"},
        RefusalCase{"StarFirst", "*a", "at byte 0: \"*\" has nothing"},
        RefusalCase{"PlusInGroup", "(+a)", "at byte 1: \"+\" has nothing"},
        RefusalCase{"QuestionInChoice", "a|?", "at byte 2: \"?\" has nothing"},
        RefusalCase{"Lazy", "a+?", "at byte 1: lazy repeats"},
        RefusalCase{"LazyCount", "a{2}?", "at byte 1: lazy repeats"},
        RefusalCase{"TwoRepeats", "a**", "at byte 1: two repeats in a row"},
        RefusalCase{"RepeatedCount", "a{2}{3}", "at byte 1: two repeats"},
        RefusalCase{"CountWord", "a{x}", "at byte 1: expected {m}"},
        RefusalCase{"CountFromNothing", "a{,3}", "at byte 1: expected {m}"},
        RefusalCase{"CountOpen", "a{3", "at byte 1: expected {m}"},
        RefusalCase{"CountOpenComma", "a{3,", "at byte 1: expected {m}"},
        RefusalCase{"CountNegative", "a{-1}", "at byte 1: expected {m}"},
        RefusalCase{"CountBackwards", "a{3,2}", "at byte 1: the most is less"},
        RefusalCase{"CountOver", "a{1001}", "at byte 1: at most 1000"},
        RefusalCase{"CountMostOver", "a{1,1001}", "at byte 1: at most 1000"},
        RefusalCase{"CountHuge", "a{99999999999999999999}",
                    "at byte 1: at most 1000"},
        RefusalCase{"BackslashLast", "ab\\", "at byte 2: \"\\\" with nothing"},
        RefusalCase{"HexShort", R"(\x4)", "at byte 0: \"\\x\" takes two"},
        RefusalCase{"HexWord", R"(\xg0)", "at byte 0: \"\\x\" takes two"},
        RefusalCase{"HexBraces", R"(\x{41})", "at byte 0: \"\\x\" takes two"},
        RefusalCase{"HighByte", "caf\xc3\xa9", "at byte 3: write bytes"},
        RefusalCase{"HighByteInClass", "[\xc3]", "at byte 1: write bytes"},
        RefusalCase{"TooLong", std::string(1025, 'a'), "has 1025 bytes"},
        RefusalCase{"TooDeep", Repeated("(", 33) + "a" + Repeated(")", 33),
                    "at byte 32: more than 32 groups"},
        RefusalCase{"TooManySteps", "(?:a{50}){50}", "more than 2048 steps"},
        RefusalCase{"TooManyStepsManyTimesOver",
                    "(((((((a{1000}){1000}){1000}){1000}){1000}){1000}){1000})",
                    "more than 2048 steps"},
        RefusalCase{"TooManyOptionalSteps", "a(?:b{1,40}){1,40}",
                    "more than 2048 steps"}),
    [](const auto& test) { return test.param.name; });

TEST(RedactionPattern, BoundsAreInclusive) {
  EXPECT_TRUE(RedactionPattern::Compile(std::string(1024, 'a')).ok());
  EXPECT_TRUE(
      RedactionPattern::Compile(Repeated("(", 32) + "a" + Repeated(")", 32))
          .ok());
  const auto pattern = RedactionPattern::Compile("a{1000}b{1000}c{47}");
  ASSERT_TRUE(pattern.ok()) << pattern.status();
  EXPECT_EQ(pattern->nodes().size(), RedactionPattern::kMaxNodes);
  EXPECT_FALSE(RedactionPattern::Compile("a{1000}b{1000}c{48}").ok());
}

// Any text is taken or refused; what is taken means the same to RE2.
TEST(RedactionPattern, EveryTextIsTakenOrRefused) {
  const std::string alphabet = R"(ab1-^$.|()[]{}?*+,\dx0 :i)";
  uint32_t random = 1;
  int taken = 0;
  for (int round = 0; round < 40000; ++round) {
    std::string text;
    for (int size = 1 + round % 9; size > 0; --size) {
      random = random * 1664525 + 1013904223;
      text += alphabet[(random >> 16) % alphabet.size()];
    }
    const auto pattern = RedactionPattern::Compile(text);
    if (!pattern.ok()) continue;
    ++taken;
    const RE2 re2(text, Latin1());
    ASSERT_TRUE(re2.ok()) << text << ": " << re2.error();
    for (const char* sample : {"a", "b1", "-", "aa", "a1b", "ab0", "x", "ii"}) {
      if (RE2::FullMatch(sample, re2)) {
        EXPECT_TRUE(MatchesAll(*pattern, sample)) << text << " " << sample;
      } else if (!RE2::PartialMatch(sample, re2)) {
        EXPECT_FALSE(MatchesAll(*pattern, sample)) << text << " " << sample;
      }
    }
  }
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace sandglass::policy
