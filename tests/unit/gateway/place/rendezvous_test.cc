#include "gateway/place/rendezvous.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace sandglass::gateway {
namespace {

std::vector<std::string> NodeNames(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(absl::StrCat("node-", i));
  return names;
}

std::vector<RendezvousNode> Nodes(const std::vector<std::string>& names) {
  std::vector<RendezvousNode> nodes;
  for (const std::string& name : names) nodes.push_back({name, NodeHash(name)});
  return nodes;
}

std::string First(const std::vector<RendezvousNode>& nodes, int request) {
  return std::string(
      FindFirstTwo(nodes, RequestHash("", "team", absl::StrCat(request)))
          .first);
}

// Replicas of other versions have to find the same order.
TEST(RendezvousTest, HashesStayAsTheyAre) {
  EXPECT_EQ(NodeHash("node-1"), 3861585884071264842u);
  EXPECT_EQ(RequestHash("secret", "team", "request-1"), 167212867178732544u);
  EXPECT_EQ(RendezvousWeight(1, 2), 815575690806614222u);
}

TEST(RendezvousTest, FirstTwoAreThoseOfASort) {
  const std::vector<std::string> names = NodeNames(50);
  std::vector<RendezvousNode> nodes = Nodes(names);
  for (int request = 0; request < 200; ++request) {
    const uint64_t hash = RequestHash("", "team", absl::StrCat(request));
    const FirstTwo two = FindFirstTwo(nodes, hash);
    std::vector<RendezvousNode> sorted = nodes;
    std::sort(sorted.begin(), sorted.end(),
              [&](const RendezvousNode& a, const RendezvousNode& b) {
                return RendezvousWeight(a.hash, hash) >
                       RendezvousWeight(b.hash, hash);
              });
    EXPECT_EQ(two.first, sorted[0].name);
    EXPECT_EQ(two.second, sorted[1].name);
  }
}

TEST(RendezvousTest, FewNodes) {
  EXPECT_EQ(FindFirstTwo({}, 1).first, "");
  const std::vector<std::string> names = {"only"};
  const FirstTwo alone = FindFirstTwo(Nodes(names), 1);
  EXPECT_EQ(alone.first, "only");
  EXPECT_EQ(alone.second, "");
}

TEST(RendezvousTest, TheOrderInWhichNodesAreKnownMakesNoDifference) {
  std::vector<std::string> names = NodeNames(20);
  const std::vector<RendezvousNode> nodes = Nodes(names);
  std::vector<std::string> turned(names.rbegin(), names.rend());
  for (int request = 0; request < 100; ++request) {
    EXPECT_EQ(First(nodes, request), First(Nodes(turned), request));
  }
}

TEST(RendezvousTest, NodesOfEqualWeightAreInTheOrderOfTheirNames) {
  const std::vector<RendezvousNode> nodes = {{"b", 5}, {"a", 5}, {"c", 5}};
  const FirstTwo two = FindFirstTwo(nodes, 9);
  EXPECT_EQ(two.first, "a");
  EXPECT_EQ(two.second, "b");
}

TEST(RendezvousTest, OnlyRequestsOfTheNodeThatLeftMove) {
  const std::vector<std::string> names = NodeNames(20);
  std::vector<std::string> fewer = names;
  fewer.erase(fewer.begin() + 7);
  const std::vector<RendezvousNode> before = Nodes(names);
  const std::vector<RendezvousNode> after = Nodes(fewer);
  int moved = 0;
  for (int request = 0; request < 5000; ++request) {
    const FirstTwo two =
        FindFirstTwo(before, RequestHash("", "team", absl::StrCat(request)));
    if (two.first == names[7]) {
      // And these to the one that was the second.
      EXPECT_EQ(First(after, request), two.second);
      ++moved;
    } else {
      EXPECT_EQ(First(after, request), two.first);
    }
  }
  // A twentieth of 5,000, and four standard deviations.
  EXPECT_NEAR(moved, 250, 62);
}

TEST(RendezvousTest, EachNodeGetsItsPart) {
  const std::vector<std::string> names = NodeNames(10);
  const std::vector<RendezvousNode> nodes = Nodes(names);
  std::map<std::string, int> parts;
  for (int request = 0; request < 20'000; ++request) {
    ++parts[First(nodes, request)];
  }
  // 2,000 each, and five standard deviations.
  for (const std::string& name : names) EXPECT_NEAR(parts[name], 2000, 213);
}

TEST(RendezvousTest, EachPartOfARequestMatters) {
  const std::set<uint64_t> hashes = {
      RequestHash("", "", ""),     RequestHash("a", "", ""),
      RequestHash("", "a", ""),    RequestHash("", "", "a"),
      RequestHash("a", "b", "c"),  RequestHash("ab", "", "c"),
      RequestHash("a", "bc", ""),  RequestHash("", "ab", "c"),
      RequestHash("a", "b", "cd"), RequestHash("", "", std::string(1, '\0'))};
  EXPECT_EQ(hashes.size(), 10u);
}

}  // namespace
}  // namespace sandglass::gateway
