#include "policy/text/paths.h"

#include <ostream>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::policy {
namespace {

using ::testing::HasSubstr;

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

std::string Repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(ValidateRelativePath, AcceptsWhatNamesSomethingBelow) {
  const std::string paths[] = {
      "a",
      "data/in put.csv",
      ".env",
      "...",
      "a/..b",
      "-rf",
      "ünïcode/文.txt",
      "a\nb",
      "a\\b",
      std::string(255, 'n'),
      Repeat("d/", 31) + "f",
      std::string(255, 'a') + "/" + std::string(255, 'b')};
  for (const std::string& path : paths) {
    EXPECT_TRUE(ValidateRelativePath(path).ok()) << path;
  }
}

struct BadPath {
  const char* name;
  std::string path;
  const char* message;
};
void PrintTo(const BadPath& c, std::ostream* out) { *out << c.name; }

class RefusedPath : public ::testing::TestWithParam<BadPath> {};

TEST_P(RefusedPath, IsReportedWithTheCause) {
  const absl::Status status = ValidateRelativePath(GetParam().path);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr(GetParam().message));
  EXPECT_FALSE(ValidateGlob(GetParam().path).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Paths, RefusedPath,
    ::testing::Values(
        BadPath{"Empty", "", "is empty"},
        BadPath{"Absolute", "/etc/passwd", "is absolute"},
        BadPath{"OnlySlash", "/", "is absolute"},
        BadPath{"DotDot", "..", "\"..\" segment"},
        BadPath{"DotDotFirst", "../x", "\"..\" segment"},
        BadPath{"DotDotInside", "a/../../x", "\"..\" segment"},
        BadPath{"DotDotLast", "a/..", "\"..\" segment"},
        BadPath{"Dot", ".", "\".\" segment"},
        BadPath{"DotInside", "a/./b", "\".\" segment"},
        BadPath{"DoubleSlash", "a//b", "empty segment"},
        BadPath{"SlashAtEnd", "a/", "empty segment"},
        BadPath{"Nul", std::string("a\0b", 3), "NUL byte"},
        BadPath{"NulHidesDotDot", std::string("..\0", 3), "NUL byte"},
        BadPath{"LongName", std::string(256, 'n'), "a name of 256 bytes"},
        BadPath{"LongPath", Repeat("abcdefg/", 64) + "x",
                "has 513 bytes; at most 512"},
        BadPath{"Deep", Repeat("d/", 32) + "f", "more than 32 segments"}),
    [](const auto& test) { return test.param.name; });

TEST(ValidateRelativePath, MessageShowsControlCharactersEscaped) {
  EXPECT_THAT(Message(ValidateRelativePath("/\x1b[2J")),
              HasSubstr("\"/\\033[2J\""));
}

TEST(ValidateGlob, RefusesAnOpenBracket) {
  for (const char* pattern :
       {"[", "a[b", "[]", "[!]", "[^]", "[a/b]", "x/[a"}) {
    EXPECT_THAT(Message(ValidateGlob(pattern)), HasSubstr("without its \"]\""))
        << pattern;
  }
}

TEST(ValidateGlob, AcceptsEveryElement) {
  for (const char* pattern : {"*", "**", "**/*.csv", "a?[a-z][!0-9]", "[]]",
                              "]", "[[]", "a**b", "out/**"}) {
    EXPECT_TRUE(ValidateGlob(pattern).ok()) << pattern;
  }
}

TEST(IsGlob, TellsPatternsFromPaths) {
  EXPECT_FALSE(IsGlob("plain/name-1.txt"));
  EXPECT_TRUE(IsGlob("*.txt"));
  EXPECT_TRUE(IsGlob("a?"));
  EXPECT_TRUE(IsGlob("[ab]"));
}

struct GlobCase {
  const char* pattern;
  std::string path;
  bool matches;
};

TEST(GlobMatch, FollowsItsRules) {
  const GlobCase cases[] = {
      {"a", "a", true},
      {"a", "b", false},
      {"a", "a/b", false},
      {"a/b", "a/b", true},
      {"a/b", "a", false},
      {"*", "a", true},
      {"*", ".hidden", true},
      {"*", "a/b", false},
      {"*.csv", "x.csv", true},
      {"*.csv", ".csv", true},
      {"*.csv", "x.csv2", false},
      {"*.csv", "d/x.csv", false},
      {"*/*", "a/b", true},
      {"*/*", "a", false},
      {"a*b*c", "aXbYbZc", true},
      {"a*b*c", "aXbYbZ", false},
      {"**", "a", true},
      {"**", "a/b/c", true},
      {"**/*.csv", "x.csv", true},
      {"**/*.csv", "a/b/x.csv", true},
      {"a/**", "a/b", true},
      {"a/**", "a/b/c", true},
      {"a/**", "b/c", false},
      {"a/**/z", "a/z", true},
      {"a/**/z", "a/b/c/z", true},
      {"a/**/z", "a/b/c/y", false},
      {"**/a/**/b", "x/a/y/a/z/b", true},
      {"**/a/**/b", "x/y/z/b", false},
      {"a**b", "aXXb", true},
      {"a**b", "aX/Xb", false},
      {"?", "a", true},
      {"?", "", false},
      {"?", "ab", false},
      {"?", "é", true},
      {"?", "文", true},
      {"??", "\xff\xfe", true},
      {"?", "\xff\xfe", false},
      {"a?b", "a/b", false},
      {"[abc]", "b", true},
      {"[abc]", "d", false},
      {"[a-c]x", "bx", true},
      {"[!a-c]", "d", true},
      {"[!a-c]", "b", false},
      {"[^a-c]", "d", true},
      {"[]]", "]", true},
      {"[!]]", "]", false},
      {"[a-]", "-", true},
      {"[-a]", "-", true},
      {"[*]", "*", true},
      {"[*]", "x", false},
      {"[à-é]", "ç", true},
      {"[à-é]", "z", false},
      {"a[!x]b", "a/b", false},
      {"\\*", "\\x", true},
      {"\\a", "a", false},
      {"é", "\xe0\x83\xa9", false},  // the same letter, encoded too long
      {"A", "a", false},
      {"[", "[", false},
      {"../*", "../a", false},
      {"/*", "/a", false},
      {"*", "a/", false},
      {"**", "/a", false},
      {"**", "", false},
  };
  for (const GlobCase& c : cases) {
    EXPECT_EQ(GlobMatch(c.pattern, c.path), c.matches)
        << c.pattern << " against " << c.path;
  }
}

TEST(GlobMatchVisible, LeavesDotFilesToPatternsWithADot) {
  for (const char* pattern : {"*", "?x", "[.]x", "**", "**/*"}) {
    EXPECT_FALSE(GlobMatchVisible(pattern, ".x")) << pattern;
    EXPECT_TRUE(GlobMatch(pattern, ".x")) << pattern;
  }
  EXPECT_TRUE(GlobMatchVisible(".*", ".x"));
  EXPECT_TRUE(GlobMatchVisible("**/.x", "a/b/.x"));
  EXPECT_TRUE(GlobMatchVisible("**/*.y", "a/b/x.y"));
  EXPECT_FALSE(GlobMatchVisible("**/*.y", "a/.b/x.y"));
  EXPECT_FALSE(GlobMatchVisible("**/*.y", "a/b/.x.y"));
  EXPECT_FALSE(GlobMatchVisible("*/x", ".a/x"));
  EXPECT_TRUE(GlobMatchVisible(".a/**/x", ".a/b/x"));
  EXPECT_FALSE(GlobMatchVisible(".a/**/x", ".a/.b/x"));
}

TEST(GlobMatch, NastyPatternsTakeBoundedTime) {
  const absl::Time start = absl::Now();
  // Each of these takes longer than the universe by naive backtracking.
  EXPECT_FALSE(GlobMatch(Repeat("*a", 127) + "b", std::string(255, 'a')));
  EXPECT_FALSE(GlobMatch(Repeat("**/a/", 15) + "b", Repeat("a/", 2000) + "a"));
  EXPECT_FALSE(GlobMatch(Repeat("**/*a*/", 15) + "b",
                         Repeat(std::string(200, 'a') + "/", 20) + "a"));
  EXPECT_FALSE(GlobMatch(Repeat("*[!b]", 50) + "b", std::string(4000, 'a')));
  EXPECT_TRUE(GlobMatch(Repeat("**/", 31) + "a", Repeat("x/", 2000) + "a"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST(GlobMatch, OverlongTextMatchesNothing) {
  EXPECT_TRUE(GlobMatch("**", std::string(4096, 'a')));
  EXPECT_FALSE(GlobMatch("**", std::string(4097, 'a')));
  EXPECT_FALSE(GlobMatch(std::string(513, '*'), "a"));
}

}  // namespace
}  // namespace sandglass::policy
