#include "client/toolbox/line_window.h"

#include <string>

#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

// In pieces of two bytes, which lines don't heed.
LineWindow Of(const std::string& text, uint64_t first, uint64_t lines,
              size_t room) {
  LineWindow window(first, lines, room);
  for (size_t at = 0; at < text.size(); at += 2) {
    window.Feed(absl::string_view(text).substr(at, 2));
  }
  window.Finish();
  return window;
}

TEST(LineWindowTest, LinesAreTakenFromTheFirstOnAndAllAreCounted) {
  const LineWindow window = Of("one\ntwo\nthree\nfour", 2, 2, 100);
  EXPECT_EQ(window.text(), "two\nthree\n");
  EXPECT_EQ(window.begin(), 2U);
  EXPECT_EQ(window.end(), 4U);
  EXPECT_EQ(window.total(), 4U);
  EXPECT_EQ(window.cut_bytes(), 0U);
}

TEST(LineWindowTest, ALastLineWithoutNewlineCounts) {
  EXPECT_EQ(Of("one\ntwo", 1, 0, 100).text(), "one\ntwo");
  EXPECT_EQ(Of("one\ntwo", 1, 0, 100).total(), 2U);
  EXPECT_EQ(Of("one\n", 1, 0, 100).total(), 1U);
  EXPECT_EQ(Of("", 1, 0, 100).total(), 0U);
  EXPECT_EQ(Of("\n\n", 1, 0, 100).text(), "\n\n");
}

TEST(LineWindowTest, OnlyWholeLinesWithinTheRoomAreTaken) {
  const LineWindow window = Of("one\ntwo\nthree\n", 1, 0, 9);
  EXPECT_EQ(window.text(), "one\ntwo\n");
  EXPECT_EQ(window.end(), 3U);
  EXPECT_TRUE(window.full());
  // A short one behind a long one isn't taken in its place.
  EXPECT_EQ(Of("one\nthirteen\n1\n", 1, 0, 8).text(), "one\n");
}

TEST(LineWindowTest, OfALineThatHasNoRoomTheBeginningIsTaken) {
  const LineWindow window =
      Of("one\n" + std::string(50, 'x') + "\nend\n", 2, 0, 10);
  EXPECT_EQ(window.text(), std::string(10, 'x'));
  EXPECT_EQ(window.cut_bytes(), 41U);
  EXPECT_EQ(window.end(), 3U);
  EXPECT_EQ(window.total(), 3U);
}

TEST(LineWindowTest, PastTheEndNothingIsTaken) {
  const LineWindow window = Of("one\n", 5, 0, 10);
  EXPECT_EQ(window.text(), "");
  EXPECT_EQ(window.end(), window.begin());
  EXPECT_EQ(window.total(), 1U);
}

TEST(LineWindowTest, BytesThatAreNoTextTakeTheRoomOfTheirReplacement) {
  EXPECT_EQ(Of("\xff\xff\xff\n", 1, 0, 7).text(), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(Of("\xff\xff\xff\n", 1, 0, 7).cut_bytes(), 2U);
}

}  // namespace
}  // namespace sandglass::client
