#include "gateway/proxy/every_call.h"

#include <string>

#include "gtest/gtest.h"

namespace sandglass::gateway {
namespace {

TEST(NodeTokens, ComeApartAsTheyWereJoined) {
  EXPECT_EQ(JoinTokens({}), "");
  const NodeTokens tokens = {{"a", "x/=+\n"}, {"node-2", ""}};
  const auto again = SplitTokens(JoinTokens(tokens));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, tokens);
}

TEST(NodeTokens, WhatNobodyMadeIsNone) {
  for (const std::string text :
       {"", "x", "%%%", "e30", "W10", "eyJhIjoxfQ", "bnVsbA"}) {
    EXPECT_FALSE(SplitTokens(text).has_value()) << text;
  }
  EXPECT_FALSE(SplitTokens(std::string(1 << 20, 'A')).has_value());
}

}  // namespace
}  // namespace sandglass::gateway
