#include "client/base/text_fit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

using ::testing::ElementsAre;

TEST(TextFitTest, CountsPlacesAndNotBytes) {
  EXPECT_EQ(DisplayWidth(""), 0u);
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("äöü"), 3u);
  EXPECT_EQ(DisplayWidth("漢字"), 4u);
  EXPECT_EQ(DisplayWidth("🙂"), 2u);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1u);
}

TEST(TextFitTest, CutsAtACharactersEnd) {
  EXPECT_EQ(FitTo("abc", 3), "abc");
  EXPECT_EQ(FitTo("abcd", 3), "ab…");
  EXPECT_EQ(FitTo("äöüß", 3), "äö…");
  EXPECT_EQ(FitTo("漢字漢", 4), "漢…");
  EXPECT_EQ(FitTo("ab", 1), "…");
  EXPECT_EQ(FitTo("ab", 0), "");
  EXPECT_EQ(PadTo("漢", 4), "漢  ");
  EXPECT_EQ(PadTo("abc", 2), "abc");
}

TEST(TextFitTest, WrapsAtSpacesWhereThereAreSome) {
  EXPECT_THAT(WrapText("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapText("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(WrapText("abcdefgh ij", 3),
              ElementsAre("abc", "def", "gh", "ij"));
  EXPECT_THAT(WrapText("one two three", 0), ElementsAre("one two three"));
  EXPECT_THAT(WrapText("", 5), ElementsAre(""));
  EXPECT_THAT(WrapText("漢字", 1), ElementsAre("漢", "字"));
}

}  // namespace
}  // namespace sandglass::client
