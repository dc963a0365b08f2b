// What the codecs share: JSON of others, errors, waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/llm/http_transport.h"
#include "client/llm/json_value.h"
#include "client/llm/provider_error.h"
#include "client/llm/turn_parts.h"

namespace sandglass::client {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST(JsonValueTest, DeepJsonIsRefusedAndBracketsInTextAreNot) {
  const std::string open(kDeepestJson, '['), close(kDeepestJson, ']');
  EXPECT_FALSE(ParseJson(open + close).is_discarded());
  EXPECT_TRUE(ParseJson("[" + open + close + "]").is_discarded());
  EXPECT_TRUE(ParseJson(std::string(1 << 20, '[')).is_discarded());
  EXPECT_EQ(ParseJson(absl::StrCat("\"\\\"", open, open, "\"")),
            json("\"" + open + open));
}

TEST(JsonValueTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(ParseJson("\"a\xFF\x62\xC3\""), json("a\uFFFDb\uFFFD"));
  EXPECT_EQ(DumpJson(json("a\xFFz")), "\"a\uFFFDz\"");
}

TEST(JsonValueTest, HalvesOfSurrogatePairsAreReplaced) {
  EXPECT_EQ(ParseJson(R"("\ud83d")"), json("\uFFFD"));
  EXPECT_EQ(ParseJson(R"("\ude00x\ud83d\ude00\ud83dy")"),
            json("\uFFFDx😀\uFFFDy"));
  EXPECT_EQ(ParseJson(R"("\\ud83d \ud83d")"), json("\\ud83d \uFFFD"));
}

TEST(JsonValueTest, WhatIsMissingOrOfAnotherTypeIsEmpty) {
  const json value = ParseJson(R"({"a":{"b":"c"},"n":7,"f":1.5,"m":-1})");
  EXPECT_EQ(JsonText(JsonAt(value, "a"), "b"), "c");
  EXPECT_EQ(JsonAt(value, "a", "b"), json("c"));
  EXPECT_TRUE(JsonAt(value, "n", "b").is_null());
  EXPECT_EQ(JsonText(value, "n"), "");
  EXPECT_EQ(JsonNumber(value, "n"), 7u);
  EXPECT_EQ(JsonNumber(value, "f"), 0u);
  EXPECT_EQ(JsonNumber(value, "m"), 0u);
  EXPECT_TRUE(JsonFirst(value).is_null());
}

TEST(TurnPartsTest, NamesThatNoProviderTakesAreMadeSafe) {
  EXPECT_EQ(SafeToolName("run_code-2"), "run_code-2");
  EXPECT_EQ(SafeToolName("functions.run\n"), "functions_run_");
  EXPECT_EQ(SafeToolName(""), "unnamed");
  EXPECT_EQ(SafeToolName(std::string(100, 'a')), std::string(64, 'a'));
}

TEST(RetryAfterTest, SecondsAndDatesAreReadWithinBounds) {
  const absl::Time now = absl::FromCivil(
      absl::CivilSecond(2015, 10, 21, 7, 28, 0), absl::UTCTimeZone());
  const auto wait = [&](std::string_view value) {
    return ParseRetryAfter(value, now);
  };
  EXPECT_EQ(wait("5"), absl::Seconds(5));
  EXPECT_EQ(wait(" 0.5 "), absl::Milliseconds(500));
  EXPECT_EQ(wait("86400"), absl::Seconds(60));
  EXPECT_EQ(wait("1e300"), absl::Seconds(60));
  EXPECT_EQ(wait("Wed, 21 Oct 2015 07:28:09 GMT"), absl::Seconds(9));
  EXPECT_EQ(wait("Wed, 21 Oct 2015 07:00:00 GMT"), absl::ZeroDuration());
  EXPECT_EQ(wait("Wed, 21 Oct 2099 07:00:00 GMT"), absl::Seconds(60));
  for (const char* bad : {"", "-1", "nan", "soon", "5 minutes"}) {
    EXPECT_EQ(wait(bad), std::nullopt) << bad;
  }
}

TEST(ProviderErrorTest, EachFormOfAnErrorIsRead) {
  const auto message = [](std::string_view text) {
    const auto error = ReadProviderError(ParseJson(text));
    return error.has_value() ? error->message : "none";
  };
  EXPECT_EQ(message(R"({"error":{"message":"m","code":1}})"), "m");
  EXPECT_EQ(message(R"({"error":"m"})"), "m");
  EXPECT_EQ(message(R"({"type":"error","error":{"message":"m"}})"), "m");
  EXPECT_EQ(message(R"({"object":"error","message":"m"})"), "m");
  EXPECT_EQ(message(R"([{"error":{"message":"m"}}])"), "m");
  EXPECT_EQ(message(R"({"detail":"m"})"), "m");
  EXPECT_EQ(message(R"({"detail":[{"loc":["body",0],"msg":"m"}]})"),
            "body.0: m");
  EXPECT_EQ(message(R"({"error":{"x":1}})"), R"({"x":1})");
  EXPECT_EQ(message(R"({"error":null,"choices":[]})"), "none");
  EXPECT_EQ(message("7"), "none");
}

TEST(ProviderErrorTest, WordsAreShortenedBetweenCharacters) {
  EXPECT_EQ(ShortWords("a  b\r\n\tc "), "a b c");
  EXPECT_EQ(ShortWords("ééé", 3), "é…");
  EXPECT_EQ(ShortWords("abc", 3), "abc");
  EXPECT_EQ(ShortWords("a\xFFz"), "a\uFFFDz");
  EXPECT_THAT(ShortWords("\x1b]0;x\x07\u202e"), Not(HasSubstr("\u202e")));
}

TEST(ProviderErrorTest, NeitherAKeyNorTheStartOfOneIsLeft) {
  EXPECT_EQ(WithoutKey("a sk-12345 b sk-12345", "sk-12345"), "a [key] b [key]");
  EXPECT_EQ(WithoutKey("your key sk-123…", "sk-12345"), "your key [key]…");
  EXPECT_EQ(WithoutKey("ask…", "sk-12345"), "ask…");
  EXPECT_EQ(WithoutKey("text", ""), "text");
}

}  // namespace
}  // namespace sandglass::client
