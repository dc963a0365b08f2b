#include "server/base/strings.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/base/log.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Utf8, TakesWellFormedText) {
  for (const char* text :
       {"", "plain", "naïve", "日本", "\xf0\x9f\x92\xa9", "\xed\x9f\xbf",
        "\xee\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsValidUtf8(text)) << text;
  }
}

TEST(Utf8, RefusesOverlongSurrogatesAndCutSequences) {
  for (const char* text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
        "\xe2\x82", "a\xc3"}) {
    EXPECT_FALSE(IsValidUtf8(text)) << Quoted(text);
  }
}

TEST(Log, TextKeepsPlainValuesPlainAndEscapesTheRest) {
  EXPECT_EQ(
      FormatLogLine(LogFormat::kText, "", LogLevel::kInfo, "run_end",
                    {{"run_id", std::string("run-1")},
                     {"wall_ms", int64_t{12}},
                     {"abandoned", false},
                     {"label", std::string("a b\n\x1b]0;x\x07 c=\"d\"")}}),
      "info run_end run_id=run-1 wall_ms=12 abandoned=false "
      R"(label="a b\n\x1b]0;x\x07 c=\"d\"")");
}

TEST(Log, AValueCannotForgeAnotherField) {
  const std::string line =
      FormatLogLine(LogFormat::kText, "", LogLevel::kInfo, "e",
                    {{"name", std::string("x outcome=OK")}});
  EXPECT_EQ(line, R"(info e name="x outcome=OK")");
}

TEST(Log, JsonLinesParseWhateverTheStrings) {
  const std::string line =
      FormatLogLine(LogFormat::kJson, "", LogLevel::kWarning, "e",
                    {{"bad", std::string("\xff\x00\n\x1b", 4)},
                     {"count", uint64_t{18446744073709551615u}}});
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  EXPECT_THAT(line, Not(HasSubstr("\x1b")));
  const auto parsed = nlohmann::json::parse(line, nullptr, false);
  ASSERT_TRUE(parsed.is_object()) << line;
  EXPECT_EQ(parsed["level"], "warning");
  EXPECT_EQ(parsed["count"], 18446744073709551615u);
}

}  // namespace
}  // namespace sandglass::server
