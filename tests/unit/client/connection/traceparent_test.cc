#include "client/connection/traceparent.h"

#include <string>

#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

const std::string kGood =
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

std::string With(size_t place, const std::string& text) {
  std::string changed = kGood;
  return changed.replace(place, text.size(), text);
}

TEST(TraceparentTest, AcceptsWellFormedHeaders) {
  EXPECT_TRUE(IsTraceparent(kGood));
  EXPECT_TRUE(IsTraceparent(With(53, "00")));
  EXPECT_TRUE(IsTraceparent(With(0, "cc")));
  EXPECT_TRUE(IsTraceparent(With(0, "cc") + "-what-comes-later"));
}

TEST(TraceparentTest, RefusesMalformedHeaders) {
  EXPECT_FALSE(IsTraceparent(""));
  EXPECT_FALSE(IsTraceparent(kGood.substr(0, 54)));
  EXPECT_FALSE(IsTraceparent(kGood + "0"));
  EXPECT_FALSE(IsTraceparent(kGood + "-more"));
  EXPECT_FALSE(IsTraceparent(With(0, "ff")));
  EXPECT_FALSE(IsTraceparent(With(0, "cc") + "x"));
  EXPECT_FALSE(IsTraceparent(With(0, "cc") + "-\n"));
  EXPECT_FALSE(IsTraceparent(With(3, "A")));
  EXPECT_FALSE(IsTraceparent(With(3, std::string(32, '0'))));
  EXPECT_FALSE(IsTraceparent(With(36, std::string(16, '0'))));
  EXPECT_FALSE(IsTraceparent(With(36, "g")));
  EXPECT_FALSE(IsTraceparent(With(2, "_")));
  EXPECT_FALSE(IsTraceparent(With(35, "_")));
  EXPECT_FALSE(IsTraceparent(With(52, "_")));
}

}  // namespace
}  // namespace sandglass::client
