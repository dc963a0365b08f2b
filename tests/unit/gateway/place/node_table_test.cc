#include "gateway/place/node_table.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/gateway/place/place_support.h"

namespace sandglass::gateway {
namespace {

using ::testing::HasSubstr;

constexpr Taken kRun = {.memory_bytes = 16 * kMiB};
constexpr Taken kSession = {.session = true, .memory_bytes = 64 * kMiB};

class NodeTableTest : public ::testing::Test {
 protected:
  NodeIndex IndexOf(const std::string& name) {
    return table_.by_name().at(name);
  }
  bool IsThere(const std::string& name, int64_t ms) {
    table_.Expire(AtMs(ms));
    return table_.there().Has(IndexOf(name));
  }

  NodeTable table_;
};

TEST_F(NodeTableTest, AnEmptyTableHasNobody) {
  table_.Expire(AtMs(0));
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_EQ(table_.Find("node-1"), nullptr);
  EXPECT_TRUE(table_.there().empty());
  table_.Lost("node-1");
  table_.Forget("node-1");
  table_.Ended("node-1", "first", kRun, AtMs(0));
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(NodeTableTest, NodesAreSilentTwoSecondsAfterTheirLastReportWasTrue) {
  NodeLoad load = IdleNode("node-1", 0);
  load.heard = AtMs(500);
  ASSERT_TRUE(table_.Report(load).ok());
  EXPECT_TRUE(IsThere("node-1", 2000));
  EXPECT_FALSE(IsThere("node-1", 2001));
  ASSERT_TRUE(table_.Report(IdleNode("node-1", 2500)).ok());
  EXPECT_TRUE(IsThere("node-1", 4500));
  EXPECT_FALSE(IsThere("node-1", 4501));
}

TEST_F(NodeTableTest, NodesThatDrainOrAreLostAreNotThere) {
  NodeLoad load = IdleNode("node-1");
  load.draining = true;
  ASSERT_TRUE(table_.Report(load).ok());
  EXPECT_FALSE(IsThere("node-1", 1));
  ASSERT_TRUE(table_.Report(IdleNode("node-1", 10)).ok());
  EXPECT_TRUE(IsThere("node-1", 10));
  table_.Lost("node-1");
  EXPECT_FALSE(IsThere("node-1", 10));
  ASSERT_TRUE(table_.Report(IdleNode("node-1", 20)).ok());
  EXPECT_TRUE(IsThere("node-1", 20));
}

TEST_F(NodeTableTest, ReportsThatGoBackInTimeAreRefused) {
  ASSERT_TRUE(table_.Report(IdleNode("node-1", 100)).ok());
  NodeLoad old = IdleNode("node-1", 99);
  old.draining = true;
  EXPECT_EQ(table_.Report(old).code(), absl::StatusCode::kOutOfRange);
  // It came later, but says how it was earlier.
  old.heard = AtMs(200);
  EXPECT_EQ(table_.Report(old).code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(IsThere("node-1", 100));
  EXPECT_FALSE(table_.Find("node-1")->load.draining);
  EXPECT_TRUE(table_.Report(IdleNode("node-1", 100)).ok());
}

TEST_F(NodeTableTest, OfTwoNodesWithOneNameTheSecondIsRefused) {
  ASSERT_TRUE(table_.Report(IdleNode("node-1", 0)).ok());
  NodeLoad other = IdleNode("node-1", 1999);
  other.instance = "second";
  other.max_running = 99;
  const absl::Status status = table_.Report(other);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("node-1"));
  EXPECT_EQ(table_.Find("node-1")->load.max_running, 8u);
  // Where the first is silent, it was the same node, and was started again.
  other.heard = other.as_of = AtMs(2000);
  EXPECT_TRUE(table_.Report(other).ok());
  EXPECT_EQ(table_.Find("node-1")->load.max_running, 99u);
  EXPECT_EQ(table_.size(), 1u);
}

TEST_F(NodeTableTest, ANodeThatWasLostMayComeBackAtOnceAsAnotherInstance) {
  ASSERT_TRUE(table_.Report(IdleNode("node-1", 0)).ok());
  table_.Sent(IndexOf("node-1"), kRun, AtMs(1));
  table_.Lost("node-1");
  NodeLoad again = IdleNode("node-1", 1);
  again.instance = "second";
  ASSERT_TRUE(table_.Report(again).ok());
  // What its former self had went down with it, and its end means nothing now.
  EXPECT_EQ(table_.Find("node-1")->runs(), 0u);
  table_.Sent(IndexOf("node-1"), kRun, AtMs(2));
  table_.Ended("node-1", "first", kRun, AtMs(3));
  EXPECT_EQ(table_.Find("node-1")->runs(), 1u);
}

TEST_F(NodeTableTest, ABadReportChangesNothing) {
  ASSERT_TRUE(table_.Report(IdleNode("node-1", 0)).ok());
  NodeLoad bad = IdleNode("node-1", 10);
  bad.queued = kMaxCount + 1;
  EXPECT_EQ(table_.Report(bad).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(table_.Find("node-1")->load.heard, AtMs(0));
  bad = IdleNode("NODE", 10);
  EXPECT_EQ(table_.Report(bad).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(table_.size(), 1u);
}

TEST_F(NodeTableTest, WhatWasSentCountsUntilAReportHasIt) {
  ASSERT_TRUE(table_.Report(IdleNode("node-1", 0)).ok());
  for (int i = 0; i < 3; ++i) table_.Sent(IndexOf("node-1"), kRun, AtMs(10));
  table_.Sent(IndexOf("node-1"), kSession, AtMs(10));
  const NodeTable::Node* node = table_.Find("node-1");
  EXPECT_EQ(node->free_slots(), 5);
  EXPECT_EQ(node->queue_room(), 21);
  EXPECT_EQ(node->run_memory(), static_cast<int64_t>((1024 - 48) * kMiB));
  EXPECT_EQ(node->session_room(), 7);
  EXPECT_EQ(node->session_memory(), static_cast<int64_t>(960 * kMiB));
  // This one was true before they were sent.
  NodeLoad early = IdleNode("node-1", 9);
  early.heard = AtMs(30);
  ASSERT_TRUE(table_.Report(early).ok());
  EXPECT_EQ(node->free_slots(), 5);
  NodeLoad later = IdleNode("node-1", 40);
  later.running = 3;
  later.sessions = 1;
  ASSERT_TRUE(table_.Report(later).ok());
  EXPECT_EQ(node->free_slots(), 5);
  EXPECT_EQ(node->session_room(), 7);
  // Two that the report counts end.
  table_.Ended("node-1", "first", kRun, AtMs(50));
  table_.Ended("node-1", "first", kRun, AtMs(51));
  EXPECT_EQ(node->free_slots(), 7);
}

TEST_F(NodeTableTest, MoreEndsThanThereWereRunsLeaveNoMoreThanAllFree) {
  ASSERT_TRUE(table_.Report(IdleNode("node-1", 0)).ok());
  for (int i = 0; i < 5; ++i) {
    table_.Ended("node-1", "first", kRun, AtMs(1));
    table_.Ended("node-1", "first", kSession, AtMs(1));
  }
  const NodeTable::Node* node = table_.Find("node-1");
  EXPECT_EQ(node->free_slots(), 8);
  EXPECT_EQ(node->run_memory(), static_cast<int64_t>(1024 * kMiB));
  EXPECT_EQ(node->session_room(), 8);
}

TEST_F(NodeTableTest, AReportThatIsOverItsOwnLimitsLeavesNoRoom) {
  NodeLoad load = IdleNode("node-1");
  load.running = load.queued = kMaxCount;
  load.memory_reserved = kMaxBytes;
  load.sessions = kMaxCount;
  ASSERT_TRUE(table_.Report(load).ok());
  const NodeTable::Node* node = table_.Find("node-1");
  EXPECT_LT(node->free_slots(), 0);
  EXPECT_LT(node->run_memory(), 0);
  EXPECT_FALSE(table_.free().Has(0));
  EXPECT_FALSE(table_.take_runs().Has(0));
  EXPECT_FALSE(table_.take_sessions().Has(0));
}

TEST_F(NodeTableTest, ANodeWithoutSlotsTakesNoRuns) {
  NodeLoad load = IdleNode("node-1");
  load.max_running = 0;
  ASSERT_TRUE(table_.Report(load).ok());
  EXPECT_FALSE(table_.free().Has(0));
  EXPECT_FALSE(table_.take_runs().Has(0));
  EXPECT_TRUE(table_.take_sessions().Has(0));
}

TEST_F(NodeTableTest, TheIndexFollowsWhatNodesHave) {
  ASSERT_TRUE(table_.Report(IdleNode("node-1")).ok());
  ASSERT_TRUE(table_.Report(IdleNode("node-2")).ok());
  EXPECT_EQ(table_.languages().at("python").Count(), 2u);
  NodeLoad load = IdleNode("node-1", 10);
  load.offers.languages = {"ruby"};
  load.offers.layers = {"six"};
  ASSERT_TRUE(table_.Report(load).ok());
  EXPECT_EQ(table_.languages().at("python").Count(), 1u);
  EXPECT_TRUE(table_.languages().at("ruby").Has(IndexOf("node-1")));
  EXPECT_TRUE(table_.layers().at("six").Has(IndexOf("node-1")));
  table_.Forget("node-1");
  EXPECT_EQ(table_.languages().count("ruby"), 0u);
  EXPECT_EQ(table_.layers().size(), 0u);
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_EQ(table_.Find("node-1"), nullptr);
  // Its place is another's now.
  ASSERT_TRUE(table_.Report(IdleNode("node-3")).ok());
  EXPECT_EQ(IndexOf("node-3"), 0);
  EXPECT_FALSE(table_.languages().count("ruby"));
}

TEST_F(NodeTableTest, MoreNodesThanAGatewayCanHaveAreRefused) {
  for (size_t i = 0; i < kMaxNodes; ++i) {
    ASSERT_TRUE(table_.Report(IdleNode(absl::StrCat("node-", i))).ok());
  }
  EXPECT_EQ(table_.Report(IdleNode("one-more")).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(table_.Report(IdleNode("node-7", 10)).ok());
  table_.Forget("node-9");
  EXPECT_TRUE(table_.Report(IdleNode("one-more")).ok());
}

TEST_F(NodeTableTest, LayersWithoutEndTakeNoMemoryWithoutEnd) {
  for (int node = 0; node < 6; ++node) {
    NodeLoad load = IdleNode(absl::StrCat("node-", node));
    for (size_t i = 0; i < kMaxLayersOfNode; ++i) {
      load.offers.layers.insert(absl::StrCat(node, "-", i));
    }
    ASSERT_TRUE(table_.Report(load).ok());
  }
  EXPECT_EQ(table_.layers().size(), kMaxLayers);
  for (int node = 0; node < 6; ++node) {
    table_.Forget(absl::StrCat("node-", node));
  }
  EXPECT_EQ(table_.layers().size(), 0u);
}

}  // namespace
}  // namespace sandglass::gateway
