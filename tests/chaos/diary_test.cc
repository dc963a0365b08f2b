// What a diary is told apart by; that nothing is wrong with one says nothing
// otherwise.

#include "tests/chaos/diary.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

// Lines 1 and 3 and pages 0 and 2 were written, 1 and 0 are known to be saved.
class DiaryTest : public ::testing::Test {
 protected:
  DiaryTest() {
    diary_.TriedPage(0);
    diary_.SavedPage(0);
    diary_.TriedLine(1);
    EXPECT_EQ(diary_.ReadBack("page 0\nline 1\n", true), "");
    diary_.TriedPage(2);
    diary_.TriedLine(3);
  }

  Diary diary_;
};

TEST_F(DiaryTest, AnUnansweredWriteMayBeThereOrNot) {
  EXPECT_EQ(diary_.ReadBack("page 0\nline 1\n", false), "");
  EXPECT_EQ(diary_.ReadBack("page 2\nline 1\n", false), "");
  EXPECT_EQ(diary_.ReadBack("page 0\nline 1\nline 3\n", false), "");
}

TEST_F(DiaryTest, AnUnsavedFileMayBeLost) {
  EXPECT_EQ(diary_.ReadBack("page 2\nline 1\nline 3\n", false), "");
  EXPECT_EQ(diary_.ReadBack("page 0\nline 1\n", true), "");
}

TEST_F(DiaryTest, ASavedFileMayNotBeLost) {
  EXPECT_EQ(diary_.ReadBack("page 0\nline 1\nline 3\n", true), "");
  EXPECT_THAT(diary_.ReadBack("page 0\nline 1\n", true),
              HasSubstr("line 3 was saved and is gone"));
  EXPECT_THAT(diary_.ReadBack("page 0\n", true), HasSubstr("is gone"));
  EXPECT_THAT(diary_.ReadBack("page -1\nline 1\nline 3\n", true),
              HasSubstr("page -1 is there, 0 was saved"));
  diary_.SavedPage(2);
  EXPECT_THAT(diary_.ReadBack("page 0\nline 1\nline 3\n", true),
              HasSubstr("page 0 is there, 2 was saved"));
}

TEST_F(DiaryTest, AFileThatNobodyWroteIsAnError) {
  EXPECT_THAT(diary_.ReadBack("page 0\nline 1\nline 2\n", true),
              HasSubstr("line 2 was never written"));
  EXPECT_THAT(diary_.ReadBack("page 1\nline 1\n", true),
              HasSubstr("page 1 was never written"));
  EXPECT_THAT(diary_.ReadBack("page 0\nline 1\nline 1\n", true),
              HasSubstr("line 1 is there twice"));
  EXPECT_THAT(diary_.ReadBack("page 0\nline 1\nline \n", true),
              HasSubstr("it has 'line '"));
  EXPECT_THAT(diary_.ReadBack("page 0\nsomething\n", true),
              HasSubstr("it has 'something'"));
}

}  // namespace
}  // namespace sandglass::testing
