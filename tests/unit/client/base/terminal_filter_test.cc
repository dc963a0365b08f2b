#include "client/base/terminal_filter.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

struct Case {
  std::string name;
  std::string in;
  std::string out;
};

const std::vector<Case>& Cases() {
  static const auto* cases = new std::vector<Case>{
      {"plain", "hello, world\n\tindented\n", "hello, world\n\tindented\n"},
      {"escape", "\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"},
      {"title", "\x1b]0;owned\x07", "\\x1b]0;owned\\x07"},
      {"backspace", "a\bb", "a\\x08b"},
      {"nul", std::string("a\0b", 3), "a\\x00b"},
      {"del", "a\x7f", "a\\x7f"},
      {"crlf", "dos\r\nline\r\n", "dos\r\nline\r\n"},
      {"lone_cr", "safe\rEVIL\n", "safe\\x0dEVIL\n"},
      {"double_cr", "a\r\r\nb", "a\\x0d\r\nb"},
      {"cr_at_end", "a\r", "a\\x0d"},
      {"raw_c1",
       "\x9b"
       "31m",
       "\\x9b31m"},
      {"utf8_c1",
       "\xc2\x9b"
       "31m",
       "\\u009b31m"},
      {"utf8_nel", "\xc2\x85", "\\u0085"},
      {"no_break_space", "\xc2\xa0", "\xc2\xa0"},
      {"umlaut", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
       "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"bidi_override",
       "\xe2\x80\xae"
       "gpj.exe",
       "\\u202egpj.exe"},
      {"bidi_embedding", "\xe2\x80\xaa", "\\u202a"},
      {"bidi_isolate", "\xe2\x81\xa6\xe2\x81\xa9", "\\u2066\\u2069"},
      {"bidi_neighbours", "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa",
       "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa"},
      {"overlong_escape", "\xc0\x9b", "\\xc0\\x9b"},
      {"overlong_three", "\xe0\x80\x9b", "\\xe0\\x80\\x9b"},
      {"overlong_four", "\xf0\x80\x80\x9b", "\\xf0\\x80\\x80\\x9b"},
      {"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"above_unicode", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"stray_tail", "\x80x", "\\x80x"},
      {"cut_character", "\xe2\x82", "\\xe2\\x82"},
      {"cut_then_escape", "\xe2\x82\x1b[2J", "\\xe2\\x82\\x1b[2J"},
      {"ff_fe", "\xff\xfe", "\\xff\\xfe"}};
  return *cases;
}

class TerminalFilterTest : public ::testing::TestWithParam<Case> {};

TEST_P(TerminalFilterTest, FiltersTheWholeText) {
  TerminalFilter filter;
  const std::string shown = filter.Feed(GetParam().in);
  EXPECT_EQ(shown + filter.Finish(), GetParam().out);
}

TEST_P(TerminalFilterTest, ShowsTheSameHoweverItIsCut) {
  const std::string& in = GetParam().in;
  for (size_t first = 0; first <= in.size(); ++first) {
    for (size_t second = first; second <= in.size(); ++second) {
      TerminalFilter filter;
      std::string shown = filter.Feed(in.substr(0, first));
      shown += filter.Feed(in.substr(first, second - first));
      shown += filter.Feed(in.substr(second));
      EXPECT_EQ(shown + filter.Finish(), GetParam().out)
          << "cut at " << first << " and " << second;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, TerminalFilterTest,
                         ::testing::ValuesIn(Cases()),
                         [](const ::testing::TestParamInfo<Case>& test) {
                           return test.param.name;
                         });

TEST(TerminalFilterAllBytesTest, LetsNoControlByteThrough) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      TerminalFilter filter;
      const std::string in = {static_cast<char>(first),
                              static_cast<char>(second)};
      const std::string shown = filter.Feed(in) + filter.Finish();
      for (size_t i = 0; i < shown.size(); ++i) {
        const auto byte = static_cast<unsigned char>(shown[i]);
        if (byte == '\n' || byte == '\t') continue;
        if (byte == '\r' && shown[i + 1] == '\n') continue;
        ASSERT_TRUE(byte >= 0x20 && byte != 0x7f) << first << " " << second;
      }
      ASSERT_EQ(FindInvalidUtf8(shown), absl::string_view::npos)
          << first << " " << second;
    }
  }
}

TEST(TerminalFilterTest, HoldsBackAtMostThreeBytes) {
  TerminalFilter filter;
  EXPECT_EQ(filter.Feed("ok\xf0\x9f\x98"), "ok");
  EXPECT_EQ(filter.Feed("\x80!"), "\xf0\x9f\x98\x80!");
  EXPECT_EQ(filter.Finish(), "");
}

TEST(VisibleTextTest, KeepsEverythingOnOneLine) {
  EXPECT_EQ(VisibleText("a\nb\tc\r\n\x1b"), "a\\x0ab\\x09c\\x0d\\x0a\\x1b");
  EXPECT_TRUE(IsPlainText("sch\xc3\xb6n"));
  EXPECT_FALSE(IsPlainText("a\nb"));
}

TEST(AsciiTextTest, ShowsWhatIsBeyondAsciiAndNothingElse) {
  EXPECT_EQ(AsciiText("a\x1b[1m\r\n"), "a\x1b[1m\r\n");
  EXPECT_EQ(AsciiText("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\\u00e4\\u20ac\\u1f600");
  EXPECT_EQ(AsciiText("\x9b"
                      "1m\xe2\x82"),
            "\\x9b1m\\xe2\\x82");
}

TEST(FindInvalidUtf8Test, NamesTheFirstBadByte) {
  EXPECT_EQ(FindInvalidUtf8("sch\xc3\xb6n"), absl::string_view::npos);
  EXPECT_EQ(FindInvalidUtf8("ab\xff"), 2u);
  EXPECT_EQ(FindInvalidUtf8("ab\xe2\x82"), 2u);
}

}  // namespace
}  // namespace sandglass::client
