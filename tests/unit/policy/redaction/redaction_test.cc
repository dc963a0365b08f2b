#include "policy/redaction/redaction.h"

#include <re2/re2.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

using Patterns = std::vector<std::pair<std::string, std::string>>;

std::shared_ptr<const Redactor> MustMake(const Patterns& texts) {
  std::vector<Redactor::Pattern> patterns;
  for (const auto& [name, text] : texts) {
    auto pattern = RedactionPattern::Compile(text);
    EXPECT_TRUE(pattern.ok()) << text << ": " << pattern.status();
    if (pattern.ok()) patterns.push_back({name, *std::move(pattern)});
  }
  auto redactor = Redactor::Create(std::move(patterns));
  EXPECT_TRUE(redactor.ok()) << redactor.status();
  return redactor.ok() ? *redactor : nullptr;
}

std::string Redact(const Patterns& patterns, std::string_view text) {
  return MustMake(patterns)->Redact(text, nullptr);
}

// A stream, and what it has told so far.
struct Told {
  explicit Told(const Patterns& patterns) : stream(MustMake(patterns)) {}
  // What comes out for it.
  std::string Write(std::string_view data) {
    std::string out;
    stream.Write(data, out);
    all += out;
    return out;
  }
  std::string Finish() {
    std::string out;
    stream.Finish(out);
    all += out;
    return out;
  }
  StreamRedactor stream;
  std::string all;
};

const Patterns kEmployee = {{"employee-id", "EMP-[0-9]{6}"}};

TEST(Redactor, ReplacesMatchesAndNothingElse) {
  EXPECT_EQ(Redact(kEmployee, ""), "");
  EXPECT_EQ(Redact(kEmployee, "hello\n"), "hello\n");
  EXPECT_EQ(Redact(kEmployee, "EMP-123456"), "[redacted:employee-id]");
  EXPECT_EQ(Redact(kEmployee, "a EMP-123456, EMP-12345x EMP-654321!"),
            "a [redacted:employee-id], EMP-12345x [redacted:employee-id]!");
  EXPECT_EQ(Redact(kEmployee, std::string("\0EMP-000000\xff", 12)),
            std::string("\0[redacted:employee-id]\xff", 24));
  EXPECT_EQ(Redact(kEmployee, "EEMP-EMP-EMP-1234567"),
            "EEMP-EMP-[redacted:employee-id]7");
}

TEST(Redactor, MatchesThatTouchStayTwo) {
  EXPECT_EQ(Redact(kEmployee, "EMP-111111EMP-222222"),
            "[redacted:employee-id][redacted:employee-id]");
}

TEST(Redactor, NoByteOfOverlappingMatchesIsLeft) {
  const Patterns patterns = {{"one", "abc"}, {"two", "cde"}, {"three", "ef"}};
  EXPECT_EQ(Redact(patterns, "xabcdefx"), "x[redacted:one]x");
  EXPECT_EQ(Redact(patterns, "xabcdx"), "x[redacted:one]dx");
  EXPECT_EQ(Redact(patterns, "xcdefx"), "x[redacted:two]x");
  EXPECT_EQ(Redact({{"digits", "[0-9]{4}"}}, "123 123456 1234"),
            "123 [redacted:digits] [redacted:digits]");
}

TEST(Redactor, NamesTheFirstThenTheLongestThenTheFirstPattern) {
  EXPECT_EQ(Redact({{"short", "ab"}, {"long", "abc"}}, "abc"),
            "[redacted:long]");
  EXPECT_EQ(Redact({{"long", "abc"}, {"short", "ab"}}, "abc"),
            "[redacted:long]");
  EXPECT_EQ(Redact({{"first", "a.c"}, {"second", "abc"}}, "abc"),
            "[redacted:first]");
  EXPECT_EQ(Redact({{"inner", "b"}, {"outer", "abc"}}, "abc"),
            "[redacted:outer]");
  EXPECT_EQ(Redact({{"inner", "b"}, {"outer", "abc"}}, "abx"),
            "a[redacted:inner]x");
}

TEST(Redactor, CountsMarksByName) {
  const auto redactor = MustMake({{"one", "a1"}, {"two", "b2"}, {"no", "c"}});
  RedactionCounts counts = {{"two", 1}, {"other", 7}};
  EXPECT_EQ(redactor->Redact("b2 a1 b2 b2", &counts),
            "[redacted:two] [redacted:one] [redacted:two] [redacted:two]");
  EXPECT_THAT(counts,
              ElementsAre(Pair("two", 4), Pair("other", 7), Pair("one", 1)));
}

TEST(Redactor, RefusesNoneAndTooMany) {
  EXPECT_FALSE(Redactor::Create({}).ok());
  const auto big = RedactionPattern::Compile("[a-f]{1000}[a-f]{1000}");
  ASSERT_TRUE(big.ok());
  std::vector<Redactor::Pattern> patterns(4, {"big", *big});
  EXPECT_TRUE(Redactor::Create(patterns).ok());
  patterns.push_back({"big", *big});
  const auto refused = Redactor::Create(patterns);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()),
              ::testing::HasSubstr("more than 8192 steps"));
}

TEST(Redactor, ServesManyThreads) {
  const auto redactor = MustMake(kEmployee);
  std::vector<std::thread> threads;
  threads.reserve(4);
  std::vector<std::string> results(4);
  for (std::string& result : results) {
    threads.emplace_back([&redactor, &result] {
      for (int i = 0; i < 100; ++i) {
        result = redactor->Redact("EMP-123456 EMP-12345", nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(results, ::testing::Each("[redacted:employee-id] EMP-12345"));
}

TEST(StreamRedactor, HoldsOnlyWhatMayBecomeAMatch) {
  Told told(kEmployee);
  EXPECT_EQ(told.Write("hello\n"), "hello\n");
  EXPECT_EQ(told.Write("I am E"), "I am ");
  EXPECT_EQ(told.Write("MP-1"), "");
  EXPECT_EQ(told.Write("2x"), "EMP-12x");
  EXPECT_EQ(told.Write("EMP-12EM"), "EMP-12");
  EXPECT_EQ(told.Write("P-12345"), "");
  EXPECT_EQ(told.Write(""), "");
  EXPECT_EQ(told.Write("6"), "[redacted:employee-id]");
  EXPECT_EQ(told.Write("7E"), "7");
  EXPECT_EQ(told.Finish(), "E");
  EXPECT_THAT(told.stream.counts(), ElementsAre(Pair("employee-id", 1)));
}

TEST(StreamRedactor, AMatchThatCanGrowWaitsForItsEnd) {
  const Patterns patterns = {{"token", "ghp_[a-z]{4,}"}};
  Told told(patterns);
  EXPECT_EQ(told.Write("x ghp_abcd"), "x ");
  EXPECT_THAT(told.stream.counts(), IsEmpty());
  EXPECT_EQ(told.Write("efgh"), "");
  EXPECT_EQ(told.Write("\ny"), "[redacted:token]\ny");
  EXPECT_EQ(told.Write("ghp_abcd"), "");
  EXPECT_EQ(told.Finish(), "[redacted:token]");
  EXPECT_THAT(told.stream.counts(), ElementsAre(Pair("token", 2)));
}

TEST(StreamRedactor, AnEndedTextDoesNotGoOnInTheNext) {
  Told told(kEmployee);
  EXPECT_EQ(told.Write("EMP-123"), "");
  EXPECT_EQ(told.Finish(), "EMP-123");
  EXPECT_EQ(told.Write("456 EMP-123456"), "456 [redacted:employee-id]");
  EXPECT_EQ(told.Finish(), "");
  EXPECT_EQ(told.Finish(), "");
}

TEST(StreamRedactor, AnEndlessMatchNeedsNoMemoryAndIsOne) {
  const Patterns patterns = {{"digits", "[0-9]{4}"}};
  Told told(patterns);
  const std::string digits(100000, '7');
  for (int i = 0; i < 50; ++i) EXPECT_EQ(told.Write(digits), "");
  EXPECT_EQ(told.Write("x"), "[redacted:digits]x");
  EXPECT_THAT(told.stream.counts(), ElementsAre(Pair("digits", 1)));
}

TEST(StreamRedactor, TooMuchToHoldIsReplacedUntilItIsDecided) {
  const Patterns patterns = {{"quoted", "\"[^\"]*\";"}};
  const std::string max(StreamRedactor::kMaxHeld - 2, 'a');
  Told fits(patterns);
  EXPECT_EQ(fits.Write("x\"" + max), "x");
  // The second quote may begin a match of its own.
  EXPECT_EQ(fits.Write("\"x"), "\"" + max);
  EXPECT_EQ(fits.Finish(), "\"x");

  Told over(patterns);
  EXPECT_EQ(over.Write("x\"" + max), "x");
  EXPECT_EQ(over.Write("aa"), "");
  EXPECT_EQ(over.Write("more\nand more"), "");
  EXPECT_EQ(over.Write("\"x"), "");
  EXPECT_EQ(over.Write("\"\n"), "[redacted:quoted]x");
  EXPECT_EQ(over.Finish(), "\"\n");
  EXPECT_THAT(over.stream.counts(), ElementsAre(Pair("quoted", 1)));
}

TEST(StreamRedactor, TooMuchToHoldAtTheEndIsReplaced) {
  const Patterns patterns = {{"all", "BEGIN[a-z]*END"}, {"other", "[0-9]"}};
  Told told(patterns);
  told.Write("1BEGIN" + std::string(200000, 'z'));
  EXPECT_EQ(told.all, "[redacted:other]");
  EXPECT_EQ(told.Finish(), "[redacted:all]");
  EXPECT_THAT(told.stream.counts(),
              ElementsAre(Pair("all", 1), Pair("other", 1)));
}

// ---- Any way to cut a text gives the same, which is what RE2 would say.

using Random = std::mt19937;

size_t Below(Random& random, size_t bound) {
  return std::uniform_int_distribution<size_t>(0, bound - 1)(random);
}

std::string RandomPattern(Random& random, int depth) {
  std::string text;
  for (size_t parts = 1 + Below(random, 3); parts > 0; --parts) {
    static constexpr const char* kBytes[] = {"a",    "b", "c", "[ab]",
                                             "[^a]", ".", "ab"};
    if (depth > 0 && Below(random, 3) == 0) {
      text += "(" + RandomPattern(random, depth - 1) + "|" +
              RandomPattern(random, depth - 1) + ")";
    } else {
      text += kBytes[Below(random, std::size(kBytes))];
    }
    static constexpr const char* kRepeats[] = {"?",   "*",     "+",
                                               "{2}", "{1,3}", "{2,}"};
    if (Below(random, 3) == 0) {
      text += kRepeats[Below(random, std::size(kRepeats))];
    }
  }
  return text;
}

std::string RandomText(Random& random, size_t max) {
  std::string text;
  for (size_t size = Below(random, max + 1); size > 0; --size) {
    text += "abc\n"[Below(random, 4)];
  }
  return text;
}

struct Whole {
  std::string text;
  RedactionCounts counts;
};

// By trying every part of the text.
Whole RedactByRe2(const Patterns& patterns, const std::string& text) {
  struct Match {
    size_t begin, end, pattern;
  };
  RE2::Options options(RE2::Latin1);
  std::vector<Match> matches;
  for (size_t i = 0; i < patterns.size(); ++i) {
    const RE2 re2(patterns[i].second, options);
    EXPECT_TRUE(re2.ok()) << re2.error();
    for (size_t begin = 0; begin < text.size(); ++begin) {
      for (size_t end = begin + 1; end <= text.size(); ++end) {
        if (RE2::FullMatch(text.substr(begin, end - begin), re2)) {
          matches.push_back({begin, end, i});
        }
      }
    }
  }
  std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.end != b.end) return a.end > b.end;
    return a.pattern < b.pattern;
  });
  Whole whole;
  size_t told = 0;
  for (size_t i = 0; i < matches.size();) {
    size_t end = matches[i].end;
    size_t next = i;
    for (; next < matches.size() && matches[next].begin < end; ++next) {
      end = std::max(end, matches[next].end);
    }
    const std::string& name = patterns[matches[i].pattern].first;
    whole.text += text.substr(told, matches[i].begin - told);
    whole.text += "[redacted:" + name + "]";
    AddCounts({{name, 1}}, whole.counts);
    told = end;
    i = next;
  }
  whole.text += text.substr(told);
  std::sort(whole.counts.begin(), whole.counts.end());
  return whole;
}

Whole RedactInPieces(const std::shared_ptr<const Redactor>& redactor,
                     std::string_view text, Random& random, size_t max_piece) {
  Whole whole;
  StreamRedactor stream(redactor);
  while (!text.empty()) {
    const size_t size = std::min(text.size(), Below(random, max_piece + 1));
    stream.Write(text.substr(0, size), whole.text);
    text.remove_prefix(size);
  }
  stream.Finish(whole.text);
  whole.counts = stream.counts();
  std::sort(whole.counts.begin(), whole.counts.end());
  return whole;
}

TEST(RedactionProperty, IsWhatRe2SaysHoweverTheTextIsCut) {
  Random random(20221123);
  int redacted = 0;
  for (int round = 0; round < 1500; ++round) {
    Patterns patterns;
    for (size_t i = 0; i < 1 + Below(random, 3);) {
      std::string text = RandomPattern(random, 2);
      if (!RedactionPattern::Compile(text).ok()) continue;
      patterns.emplace_back("p" + std::to_string(i++), std::move(text));
    }
    const auto redactor = MustMake(patterns);
    for (int texts = 0; texts < 3; ++texts) {
      const std::string text = RandomText(random, 24);
      const Whole expected = RedactByRe2(patterns, text);
      redacted += expected.counts.empty() ? 0 : 1;
      for (const size_t piece : {size_t{1}, size_t{3}, size_t{30}}) {
        const Whole got = RedactInPieces(redactor, text, random, piece);
        std::string all;
        for (const auto& [name, pattern] : patterns) all += " " + pattern;
        ASSERT_EQ(got.text, expected.text) << text << " by" << all;
        ASSERT_EQ(got.counts, expected.counts) << text << " by" << all;
      }
    }
  }
  EXPECT_GT(redacted, 1000);
}

// So many states that they are forgotten now and then.
TEST(RedactionProperty, ForgottenStatesAreMadeAgain) {
  Random random(7);
  std::string text;
  for (int i = 0; i < 20000; ++i) text += Below(random, 50) == 0 ? 'b' : 'a';
  std::string expected;
  for (size_t at = 0; at < text.size(); at += 4000) {
    text[at] = 'b';
    text[at + 300] = 'c';
    expected += "[redacted:far]" + text.substr(at + 301, 4000 - 301);
  }
  const auto redactor = MustMake({{"far", "b[ab]{299}c"}});
  const std::string whole = redactor->Redact(text, nullptr);
  EXPECT_EQ(whole, expected);
  EXPECT_EQ(RedactInPieces(redactor, text, random, 100).text, whole);
}

// Each text is long enough that some of it has to be swallowed.
TEST(RedactionProperty, WhatIsSwallowedDoesNotDependOnThePieces) {
  const auto redactor = MustMake({{"quoted", "\"[^\"]*\";"},
                                  {"angle", "<[^>]*>!"},
                                  {"number", "[0-9]{3}"},
                                  {"pair", "ab"}});
  Random random(99);
  for (int round = 0; round < 8; ++round) {
    std::string text;
    while (text.size() < 400000) {
      const size_t kind = Below(random, 8);
      if (kind == 0) text += "\"<>;!"[Below(random, 5)];
      if (kind == 1) text += std::to_string(Below(random, 3000)) + "ab";
      if (kind > 1) text += std::string(Below(random, 30000), ' ');
    }
    const Whole whole = RedactInPieces(redactor, text, random, text.size());
    for (const size_t piece : {size_t{50}, size_t{5000}, size_t{100000}}) {
      const Whole got = RedactInPieces(redactor, text, random, piece);
      ASSERT_TRUE(got.text == whole.text) << "round " << round;
      ASSERT_EQ(got.counts, whole.counts);
    }
  }
}

}  // namespace
}  // namespace sandglass::policy
