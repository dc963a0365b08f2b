#include "gateway/place/placement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/place/placement_errors.h"
#include "gateway/place/rendezvous.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/errors.h"
#include "tests/unit/gateway/place/place_support.h"

namespace sandglass::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PlacementTest : public ::testing::Test {
 protected:
  void Report(const NodeLoad& load) {
    const absl::Status status = table_.Report(load);
    ASSERT_TRUE(status.ok()) << status;
  }
  // A node that takes nothing, neither at once nor later.
  static NodeLoad FullNode(const std::string& name) {
    NodeLoad load = IdleNode(name);
    load.running = load.max_running;
    load.queued = load.max_queued;
    load.sessions = load.max_sessions;
    return load;
  }
  absl::StatusOr<Placed> PlaceIt(
      const Wish& wish, const std::vector<std::string>& excluded = {}) {
    return Place(wish, table_, AtMs(now_ms_), random_, excluded);
  }
  // The node of a request that has one.
  std::string NodeOf(const Wish& wish,
                     const std::vector<std::string>& excluded = {}) {
    const absl::StatusOr<Placed> placed = PlaceIt(wish, excluded);
    EXPECT_TRUE(placed.ok()) << placed.status();
    return placed.ok() ? placed->node : "";
  }
  void ExpectError(const Wish& wish, absl::StatusCode code,
                   const std::string& reason, const std::string& text,
                   const std::vector<std::string>& excluded = {}) {
    const absl::Status status = PlaceIt(wish, excluded).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(server::ErrorReason(status), reason);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    const bool later = code == absl::StatusCode::kUnavailable ||
                       code == absl::StatusCode::kResourceExhausted;
    EXPECT_EQ(status.GetPayload("type.googleapis.com/google.rpc.RetryInfo")
                  .has_value(),
              later);
  }

  NodeTable table_;
  std::mt19937_64 random_{1};
  int64_t now_ms_ = 100;
};

TEST_F(PlacementTest, WithoutNodesThereIsNoPlace) {
  ExpectError(PythonRun(), absl::StatusCode::kUnavailable, "NO_NODES",
              "no node");
}

TEST_F(PlacementTest, TheOnlyNodeGetsIt) {
  NodeLoad load = IdleNode("node-1");
  load.instance = "this-start";
  Report(load);
  const absl::StatusOr<Placed> placed = PlaceIt(PythonRun());
  ASSERT_TRUE(placed.ok()) << placed.status();
  EXPECT_EQ(placed->node, "node-1");
  EXPECT_EQ(placed->instance, "this-start");
  EXPECT_FALSE(placed->taken.session);
  EXPECT_EQ(placed->taken.memory_bytes, 16 * kMiB);
  EXPECT_FALSE(placed->waits);
  EXPECT_FALSE(placed->has_library);
  EXPECT_FALSE(placed->displaced);
  EXPECT_EQ(table_.Find("node-1")->runs(), 1u);
}

TEST_F(PlacementTest, WhatIsNotAskedForIsNotLookedFor) {
  NodeLoad load = IdleNode("node-1");
  load.offers = {.languages = {"ruby"}, .profiles = {"strict"}, .images = {}};
  Report(load);
  Wish wish = PythonRun();
  wish.image.clear();
  wish.language.clear();
  wish.profile.clear();
  EXPECT_EQ(NodeOf(wish), "node-1");
  wish.language = "ruby";
  EXPECT_EQ(NodeOf(wish), "node-1");
  ExpectError(wish, absl::StatusCode::kUnavailable, "NODES_AWAY", "",
              {"node-1"});
  wish.profile = "none";
  ExpectError(wish, absl::StatusCode::kFailedPrecondition, "NO_FITTING_NODE",
              "none");
}

TEST_F(PlacementTest, WhatNobodyHas) {
  Report(IdleNode("node-1"));
  NodeLoad other = IdleNode("node-2");
  other.offers = {
      .languages = {"ruby"}, .profiles = {"strict"}, .images = {"science"}};
  Report(other);
  constexpr auto kCode = absl::StatusCode::kFailedPrecondition;
  Wish wish = PythonRun();
  wish.language = "co\nbol";
  ExpectError(wish, kCode, "LANGUAGE_UNAVAILABLE", "bash, python, ruby");
  EXPECT_THAT(std::string(PlaceIt(wish).status().message()),
              Not(HasSubstr("\n")));
  wish = PythonRun();
  wish.profile = "huge";
  ExpectError(wish, kCode, "NO_FITTING_NODE", "default, large, strict");
  wish = PythonRun();
  wish.image = "none";
  ExpectError(wish, kCode, "NO_FITTING_NODE", "host, science");
  wish = PythonRun();
  wish.profile = "strict";
  ExpectError(wish, kCode, "NO_FITTING_NODE", "none has language");
}

TEST_F(PlacementTest, ManyLanguagesAreNotAllListed) {
  NodeLoad load = IdleNode("node-1");
  for (int i = 0; i < 50; ++i) {
    load.offers.languages.insert(absl::StrCat("lang", i));
  }
  Report(load);
  Wish wish = PythonRun();
  wish.language = "cobol";
  ExpectError(wish, absl::StatusCode::kFailedPrecondition,
              "LANGUAGE_UNAVAILABLE", "and 20 more");
}

TEST_F(PlacementTest, OnlyNodesThatHaveAllOfItAreFit) {
  for (int i = 0; i < 20; ++i) {
    NodeLoad load = IdleNode(absl::StrCat("node-", i));
    if (i % 2 == 0) load.offers.languages.erase("python");
    if (i % 3 == 0) load.offers.profiles.erase("default");
    if (i % 5 == 0) load.offers.images = {"other"};
    Report(load);
  }
  std::map<std::string, int> times;
  for (int i = 0; i < 100; ++i) ++times[NodeOf(PythonRun())];
  for (const auto& [name, count] : times) {
    const int i = std::stoi(name.substr(5));
    EXPECT_TRUE(i % 2 != 0 && i % 3 != 0 && i % 5 != 0) << name;
  }
  EXPECT_EQ(times.size(), 6u);  // 1, 7, 11, 13, 17, 19
}

TEST_F(PlacementTest, SilentDrainingLostAndTriedNodesGetNothing) {
  NodeLoad draining = IdleNode("draining");
  draining.draining = true;
  Report(draining);
  Report(IdleNode("lost"));
  table_.Lost("lost");
  Report(IdleNode("tried"));
  ExpectError(PythonRun(), absl::StatusCode::kUnavailable, "NODES_AWAY",
              "1 are silent, 1 drain and 1 were tried", {"tried", "unknown"});
  EXPECT_EQ(NodeOf(PythonRun()), "tried");
  now_ms_ = 2001;
  ExpectError(PythonRun(), absl::StatusCode::kUnavailable, "NODES_AWAY",
              "2 are silent, 1 drain and 0 were tried");
  Report(IdleNode("lost", 2001));
  EXPECT_EQ(NodeOf(PythonRun()), "lost");
}

TEST_F(PlacementTest, TheBetterOfTwoHasMoreFreeSlots) {
  NodeLoad busy = IdleNode("busy");
  busy.running = 4;
  Report(busy);
  Report(IdleNode("idle"));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(NodeOf(PythonRun()), "idle");
}

TEST_F(PlacementTest, ABurstBetweenTwoReportsIsSpread) {
  for (int i = 0; i < 10; ++i) Report(IdleNode(absl::StrCat("node-", i)));
  std::map<std::string, int> times;
  for (int i = 0; i < 80; ++i) {
    const absl::StatusOr<Placed> placed = PlaceIt(PythonRun());
    ASSERT_TRUE(placed.ok());
    EXPECT_FALSE(placed->waits);
    ++times[placed->node];
  }
  // All slots of all nodes, and none twice.
  for (const auto& [name, count] : times) EXPECT_EQ(count, 8) << name;
  // Then the queues, evenly.
  for (int i = 0; i < 160; ++i) {
    const absl::StatusOr<Placed> placed = PlaceIt(PythonRun());
    ASSERT_TRUE(placed.ok());
    EXPECT_TRUE(placed->waits);
    ++times[placed->node];
  }
  for (const auto& [name, count] : times) EXPECT_EQ(count, 24) << name;
  ExpectError(PythonRun(), absl::StatusCode::kResourceExhausted, "NODES_FULL",
              "all 10 nodes");
}

TEST_F(PlacementTest, ANodeOfManySlotsGetsMoreWhereAllWait) {
  NodeLoad small = IdleNode("small");
  small.max_running = small.running = 2;
  NodeLoad large = IdleNode("large");
  large.max_running = large.running = 20;
  small.max_queued = large.max_queued = 1000;
  Report(small);
  Report(large);
  std::map<std::string, int> times;
  for (int i = 0; i < 220; ++i) ++times[NodeOf(PythonRun())];
  EXPECT_EQ(times["small"], 20);
  EXPECT_EQ(times["large"], 200);
}

TEST_F(PlacementTest, OfEqualNodesThatWithMoreWarmJailsGetsIt) {
  NodeLoad warm = IdleNode("warm");
  warm.warm_jails = {{"python", 3}};
  NodeLoad other = IdleNode("other");
  other.warm_jails = {{"bash", 9}};
  Report(warm);
  Report(other);
  EXPECT_EQ(NodeOf(PythonRun()), "warm");
}

TEST_F(PlacementTest, NodesWithTheLibraryComeFirstWhileTheyHaveASlot) {
  NodeLoad with = IdleNode("with");
  with.offers.layers = {"six"};
  with.running = 6;
  Report(with);
  Report(IdleNode("without-1"));
  Report(IdleNode("without-2"));
  Wish wish = PythonRun();
  wish.library = "six";
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<Placed> placed = PlaceIt(wish);
    ASSERT_TRUE(placed.ok());
    EXPECT_EQ(placed->node, "with");
    EXPECT_TRUE(placed->has_library);
  }
  const absl::StatusOr<Placed> placed = PlaceIt(wish);
  ASSERT_TRUE(placed.ok());
  EXPECT_NE(placed->node, "with");
  EXPECT_FALSE(placed->has_library);
  // One that nobody has may go anywhere.
  wish.library = "unheard-of";
  EXPECT_NE(NodeOf(wish), "with");
}

TEST_F(PlacementTest, MemoryThatIsTakenMakesARunWaitOrGoElsewhere) {
  NodeLoad full = IdleNode("full");
  full.memory_reserved = full.memory_budget - 8 * kMiB;
  Report(full);
  const absl::StatusOr<Placed> waits = PlaceIt(PythonRun());
  ASSERT_TRUE(waits.ok());
  EXPECT_TRUE(waits->waits);
  NodeLoad other = IdleNode("other");
  other.running = 7;
  Report(other);
  const absl::StatusOr<Placed> placed = PlaceIt(PythonRun());
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->node, "other");
  EXPECT_FALSE(placed->waits);
}

TEST_F(PlacementTest, OfManyNodesTheOneWithEnoughMemoryIsFound) {
  for (int i = 0; i < 1000; ++i) {
    NodeLoad load = IdleNode(absl::StrCat("node-", i));
    if (i != 617) load.memory_budget = 8 * kMiB;
    Report(load);
  }
  for (int i = 0; i < 8; ++i) EXPECT_EQ(NodeOf(PythonRun()), "node-617");
}

TEST_F(PlacementTest, MoreMemoryThanAnyNodeHas) {
  Report(IdleNode("node-1"));
  Wish wish = PythonRun();
  wish.memory_bytes = 1025 * kMiB;
  ExpectError(wish, absl::StatusCode::kFailedPrecondition,
              "MEMORY_BUDGET_TOO_SMALL", absl::StrCat(1024 * kMiB));
  for (const uint64_t bytes :
       {kMaxBytes + 1, std::numeric_limits<uint64_t>::max()}) {
    wish.memory_bytes = bytes;
    ExpectError(wish, absl::StatusCode::kInvalidArgument, "INVALID_REQUEST",
                "");
  }
  wish.memory_bytes = kMaxBytes;
  ExpectError(wish, absl::StatusCode::kFailedPrecondition,
              "MEMORY_BUDGET_TOO_SMALL", "");
}

TEST_F(PlacementTest, ZeroSlotsTakeNoRunButSessions) {
  NodeLoad load = IdleNode("node-1");
  load.max_running = 0;
  Report(load);
  ExpectError(PythonRun(), absl::StatusCode::kResourceExhausted, "NODES_FULL",
              "full");
  EXPECT_EQ(NodeOf(PythonSession()), "node-1");
}

TEST_F(PlacementTest, SessionsGoWhereMoreMemoryIsLeft) {
  NodeLoad little = IdleNode("little");
  little.session_memory_left = 48 * kMiB;
  NodeLoad much = IdleNode("much");
  much.session_memory_left = 80 * kMiB;
  much.running = much.max_running;  // which makes no difference
  Report(little);
  Report(much);
  std::map<std::string, int> times;
  for (int i = 0; i < 8; ++i) ++times[NodeOf(PythonSession())];
  EXPECT_EQ(times["little"], 3);
  EXPECT_EQ(times["much"], 5);
  ExpectError(PythonSession(), absl::StatusCode::kResourceExhausted,
              "NODES_FULL", "another session");
}

TEST_F(PlacementTest, NoMoreSessionsThanANodeTakes) {
  Report(IdleNode("node-1"));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(NodeOf(PythonSession()), "node-1");
  ExpectError(PythonSession(), absl::StatusCode::kResourceExhausted,
              "NODES_FULL", "another session");
}

TEST_F(PlacementTest, WhatEndedMakesRoom) {
  NodeLoad load = IdleNode("node-1");
  load.max_running = 1;
  load.max_queued = 0;
  Report(load);
  const absl::StatusOr<Placed> placed = PlaceIt(PythonRun());
  ASSERT_TRUE(placed.ok());
  EXPECT_FALSE(PlaceIt(PythonRun()).ok());
  table_.Ended(placed->node, placed->instance, placed->taken, AtMs(101));
  EXPECT_TRUE(PlaceIt(PythonRun()).ok());
}

TEST_F(PlacementTest, ARequestIdMeetsTheSameNodeFromEachReplica) {
  NodeTable other;
  for (int i = 0; i < 30; ++i) Report(IdleNode(absl::StrCat("node-", i)));
  for (int i = 29; i >= 0; --i) {
    NodeLoad load = IdleNode(absl::StrCat("node-", i));
    // The other replica has other news of how much is going on.
    load.running = static_cast<uint64_t>(i % 9);
    load.offers.layers = {"six"};
    ASSERT_TRUE(other.Report(load).ok());
  }
  std::mt19937_64 random(2);
  Wish wish = PythonRun();
  for (int i = 0; i < 100; ++i) {
    wish.request_id = absl::StrCat("request-", i);
    const std::string node = NodeOf(wish);
    const absl::StatusOr<Placed> placed = Place(wish, other, AtMs(200), random);
    ASSERT_TRUE(placed.ok());
    EXPECT_EQ(placed->node, node);
    EXPECT_FALSE(placed->displaced);
  }
}

TEST_F(PlacementTest, ARequestIdGoesToTheFirstOfItsOrderThatIsNotFull) {
  std::vector<RendezvousNode> order;
  for (const char* name : {"node-a", "node-b", "node-c", "node-d"}) {
    Report(IdleNode(name));
    order.push_back({name, NodeHash(name)});
  }
  Wish wish = PythonRun();
  wish.request_id = "again and again";
  const uint64_t hash = RequestHash("", wish.tenant, wish.request_id);
  std::sort(order.begin(), order.end(),
            [&](const RendezvousNode& one, const RendezvousNode& other) {
              return ComesBefore(one, other, hash);
            });
  // As long as its queue takes it, it is the first one.
  for (int i = 0; i < 24; ++i) {
    const absl::StatusOr<Placed> placed = PlaceIt(wish);
    ASSERT_TRUE(placed.ok());
    EXPECT_EQ(placed->node, order[0].name);
    EXPECT_EQ(placed->waits, i >= 8);
    EXPECT_FALSE(placed->displaced);
  }
  const absl::StatusOr<Placed> second = PlaceIt(wish);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->node, order[1].name);
  EXPECT_TRUE(second->displaced);
  // One that was tried, is lost or can't do it is none of the order.
  table_.Lost(std::string(order[1].name));
  EXPECT_EQ(NodeOf(wish, {std::string(order[2].name)}), order[3].name);
  Report(FullNode("node-a"));
  Report(FullNode("node-b"));
  Report(FullNode("node-c"));
  Report(FullNode("node-d"));
  ExpectError(wish, absl::StatusCode::kResourceExhausted, "NODES_FULL",
              "all 4 nodes");
}

TEST_F(PlacementTest, SecretsMakeOtherOrders) {
  for (int i = 0; i < 30; ++i) Report(IdleNode(absl::StrCat("node-", i)));
  int same = 0;
  Wish wish = PythonRun();
  for (int i = 0; i < 60; ++i) {
    wish.request_id = absl::StrCat(i);
    const absl::StatusOr<Placed> placed =
        Place(wish, table_, AtMs(100), random_, {}, "secret");
    ASSERT_TRUE(placed.ok());
    if (NodeOf(wish) == placed->node) ++same;
  }
  EXPECT_LT(same, 12);
}

TEST_F(PlacementTest, TimesToTryAgainGrowAndDiffer) {
  for (const int tries : {-5, 0, 1, 2, 4, 5, 1'000'000}) {
    const absl::Duration longest =
        std::min(absl::Milliseconds(200) * (1 << std::clamp(tries, 0, 6)),
                 absl::Seconds(5));
    absl::Duration least = absl::InfiniteDuration();
    absl::Duration most;
    for (int i = 0; i < 200; ++i) {
      const absl::Duration after = RetryAfter(tries, random_);
      least = std::min(least, after);
      most = std::max(most, after);
    }
    EXPECT_GE(least, longest / 2);
    EXPECT_LE(most, longest);
    EXPECT_GT(most - least, longest / 4);
  }
}

}  // namespace
}  // namespace sandglass::gateway
