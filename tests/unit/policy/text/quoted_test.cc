#include "policy/text/quoted.h"

#include <string>

#include "gtest/gtest.h"

namespace sandglass::policy {
namespace {

TEST(Quoted, LeavesNothingThatATerminalActsOn) {
  EXPECT_EQ(Quoted("\x1b[31m\n\xc2\x9b"), R"("\x1b[31m\n\xc2\x9b")");
}

TEST(Quoted, EscapesNoMoreThanItMust) {
  EXPECT_EQ(Quoted("can't \\' \"x\""), R"("can't \\' \"x\"")");
}

TEST(Quoted, CutsLongText) {
  const std::string quoted = Quoted(std::string(1000, 'a'), 10);
  EXPECT_EQ(quoted, "\"aaaaaaaaaa...\"");
}

}  // namespace
}  // namespace sandglass::policy
