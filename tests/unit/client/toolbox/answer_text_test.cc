#include "client/toolbox/answer_text.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/toolbox/clean_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kBad[] = "\xef\xbf\xbd";

std::string Lines(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) absl::StrAppend(&text, i, "\n");
  return text;
}

TEST(CleanTextTest, TextStaysAndOtherBytesAreReplaced) {
  EXPECT_EQ(CleanText("a\tb\n\x1b[1m é 销 😀"), "a\tb\n\x1b[1m é 销 😀");
  EXPECT_EQ(CleanText(std::string("a\0b", 3)),
            "a\xe2\x90\x80"
            "b");
  EXPECT_EQ(CleanText("a\xff"
                      "b\xe9"),
            absl::StrCat("a", kBad, "b", kBad));
  // A surrogate, an overlong slash, a character that is cut.
  EXPECT_EQ(CleanText("\xed\xa0\x80"), absl::StrCat(kBad, kBad, kBad));
  EXPECT_EQ(CleanText("\xc0\xaf"), absl::StrCat(kBad, kBad));
  EXPECT_EQ(CleanText("\xf0\x9f\x98"), absl::StrCat(kBad, kBad, kBad));
}

TEST(CleanTextTest, HeadAndTailAreWholeCharactersWithinTheirRoom) {
  const std::string bytes = "é销😀\xff" + std::string("\0z", 2);
  for (size_t room = 0; room < 20; ++room) {
    for (const CleanPiece& piece :
         {CleanHead(bytes, room), CleanTail(bytes, room)}) {
      EXPECT_LE(piece.text.size(), room);
      EXPECT_EQ(FindInvalidUtf8(piece.text), absl::string_view::npos) << room;
    }
    EXPECT_EQ(CleanHead(bytes, room).text,
              CleanText(bytes.substr(0, CleanHead(bytes, room).taken)));
    const CleanPiece tail = CleanTail(bytes, room);
    EXPECT_EQ(tail.text, CleanText(bytes.substr(bytes.size() - tail.taken)));
  }
  EXPECT_EQ(CleanHead(bytes, 4).text, "é");
  EXPECT_EQ(CleanTail(bytes, 3).text, "z");
}

TEST(AnswerTextTest, WhatFitsIsThereAsItIs) {
  AnswerText text("exit 0");
  text.Add("", "out");
  text.Add("stderr", "err\n");
  text.Add("value", "");
  text.AddNote("hint: do it");
  EXPECT_TRUE(text.Fits(1000));
  EXPECT_EQ(text.Render(1000, ""),
            "exit 0\nout\n--- stderr ---\nerr\nhint: do it\n");
  EXPECT_EQ(text.Printed(), "out\n--- stderr ---\nerr\n");
}

TEST(AnswerTextTest, TheMiddleOfALongPartIsCutBetweenLines) {
  AnswerText text("exit 0");
  text.Add("", Lines(1, 10000));
  text.Add("stderr", "short\n");
  text.AddNote("hint: do it");
  EXPECT_FALSE(text.Fits(2000));
  const std::string shown = text.Render(2000, "the rest is elsewhere");
  EXPECT_LE(shown.size(), 2000U);
  EXPECT_GT(shown.size(), 1700U);
  EXPECT_THAT(shown, StartsWith("exit 0\n1\n2\n3\n"));
  EXPECT_THAT(shown, HasSubstr(" of 48894 bytes are cut here; the rest is "
                               "elsewhere …]\n"));
  EXPECT_THAT(shown, EndsWith("9999\n10000\n--- stderr ---\nshort\nhint: do "
                              "it\n"));
  // Whole lines around it.
  const size_t cut = shown.find("[…");
  EXPECT_EQ(shown[cut - 1], '\n');
}

TEST(AnswerTextTest, ItSaysHowManyBytesAreMissing) {
  const std::string all(5000, 'x');
  AnswerText text("exit 0");
  text.Add("", all);
  const std::string shown = text.Render(1000, "");
  const size_t left =
      static_cast<size_t>(std::count(shown.begin(), shown.end(), 'x'));
  // Of "exit".
  EXPECT_THAT(shown, HasSubstr(absl::StrCat("[… ", all.size() - (left - 1),
                                            " of 5000 bytes")));
}

TEST(AnswerTextTest, AnyRoomIsKept) {
  AnswerText text(std::string(500, 'v'));
  text.Add("", std::string(3000, '\xff'));
  text.Add("stderr", std::string(2000, '\0'));
  for (int i = 0; i < 20; ++i) text.AddNote(std::string(100, 'n'));
  for (size_t room = 0; room < 15000; room += 37) {
    const std::string shown = text.Render(room, "somewhere");
    ASSERT_LE(shown.size(), room);
    ASSERT_EQ(FindInvalidUtf8(shown), absl::string_view::npos) << room;
  }
  EXPECT_THAT(text.Render(2000, ""), HasSubstr(" more notes)"));
}

TEST(AnswerTextTest, OfVeryLongOutputBeginningAndEndAreKept) {
  OutputCapture output;
  output.Add("first\n");
  const std::string block(1 << 20, '.');
  for (int i = 0; i < 20; ++i) output.Add(block);
  output.Add("\nlast\n");
  EXPECT_FALSE(output.whole());
  EXPECT_EQ(output.total(), 12 + 20 * block.size());
  EXPECT_LE(output.head().size() + output.tail().size(), 17U << 20);
  AnswerText text("exit 0");
  text.Add("", std::move(output));
  EXPECT_FALSE(text.Fits(100 << 20));
  EXPECT_THAT(text.Render(2000, ""),
              AllOf(HasSubstr("\nfirst\n"), EndsWith("\nlast\n"),
                    HasSubstr(" of 20971532 bytes")));
}

}  // namespace
}  // namespace sandglass::client
