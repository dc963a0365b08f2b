#include "gateway/place/node_set.h"

#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace sandglass::gateway {
namespace {

TEST(NodeSetTest, DoesAsASetOfNumbers) {
  std::mt19937 random(1);
  for (const int wanted : {0, 1, 3, 64, 500, 4096}) {
    NodeSet set;
    std::set<NodeIndex> expected;
    for (int i = 0; i < wanted; ++i) {
      const auto node = static_cast<NodeIndex>(random() % kMaxNodes);
      set.Set(node);
      expected.insert(node);
    }
    EXPECT_EQ(set.Count(), expected.size());
    EXPECT_EQ(set.empty(), expected.empty());
    size_t n = 0;
    for (const NodeIndex node : expected) {
      EXPECT_TRUE(set.Has(node));
      EXPECT_EQ(set.Nth(n++), node);
    }
    std::vector<NodeIndex> seen;
    set.ForEach([&](NodeIndex node) { seen.push_back(node); });
    EXPECT_EQ(seen, std::vector<NodeIndex>(expected.begin(), expected.end()));
  }
}

TEST(NodeSetTest, TheFirstAndTheLastNode) {
  NodeSet set;
  set.Set(0);
  set.Set(kMaxNodes - 1);
  EXPECT_EQ(set.Nth(0), 0);
  EXPECT_EQ(set.Nth(1), kMaxNodes - 1);
  set.Clear(0);
  EXPECT_EQ(set.Nth(0), kMaxNodes - 1);
  set.Put(kMaxNodes - 1, false);
  EXPECT_TRUE(set.empty());
}

TEST(NodeSetTest, Intersections) {
  NodeSet even;
  NodeSet small;
  for (NodeIndex i = 0; i < 100; ++i) {
    even.Put(i, i % 2 == 0);
    small.Put(i, i < 10);
  }
  EXPECT_EQ((even & small).Count(), 5u);
  EXPECT_TRUE((even & NodeSet()).empty());
  EXPECT_EQ(even.Count(), 50u);
}

}  // namespace
}  // namespace sandglass::gateway
