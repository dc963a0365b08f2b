#include "server/base/random_id.h"

#include <string>

#include "gtest/gtest.h"

namespace sandglass::server {
namespace {

TEST(NodeId, NamesItsNode) {
  EXPECT_EQ(NodeId("ses-").size(), 20u);
  EXPECT_EQ(NodeOfId(NodeId("ses-")), std::nullopt);
  for (const std::string node : {"a", "node-0", "a-b--c", "0"}) {
    SetNodeName(node);
    const std::string id = NodeId("run-");
    EXPECT_EQ(id.substr(0, 5 + node.size()), "run-" + node + "-");
    EXPECT_EQ(NodeOfId(id), node);
    EXPECT_NE(NodeId("run-"), id);
  }
  SetNodeName("");
}

TEST(NodeId, WhatIsNoIdHasNoNode) {
  for (const std::string text :
       {"", "-", "--", "ses-", "ses-a", "ses-a-", "ses-a-0123456789abcde",
        "ses-a-0123456789abcdef0", "ses-a-0123456789ABCDEF",
        "ses-A-0123456789abcdef", "ses--0123456789abcdef",
        "ses-a/b-0123456789abcdef", "ses-a.b-0123456789abcdef"}) {
    EXPECT_EQ(NodeOfId(text), std::nullopt) << text;
  }
  EXPECT_EQ(NodeOfId("ses-" + std::string(33, 'a') + "-0123456789abcdef"),
            std::nullopt);
  EXPECT_TRUE(IsNodeName(std::string(32, 'a')));
  EXPECT_FALSE(IsNodeName("-a"));
  EXPECT_FALSE(IsNodeName(""));
}

}  // namespace
}  // namespace sandglass::server
