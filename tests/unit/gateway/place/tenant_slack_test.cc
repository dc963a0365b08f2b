#include "gateway/place/tenant_slack.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/errors.h"
#include "tests/unit/gateway/place/place_support.h"

namespace sandglass::gateway {
namespace {

using ::testing::HasSubstr;

constexpr Taken kOneRun = {.memory_bytes = kMiB};
constexpr Taken kOneSession = {.session = true, .memory_bytes = 64 * kMiB};

policy::Tenant Team(const policy::TenantCeilings& ceilings) {
  policy::Tenant tenant;
  tenant.name = "team";
  tenant.ceilings = ceilings;
  return tenant;
}

NodeLoad ReportOf(const std::string& node, int64_t ms, const TenantLoad& has) {
  NodeLoad load;
  load.name = node;
  load.heard = load.as_of = AtMs(ms);
  load.tenants["team"] = has;
  return load;
}

// How many of it can be sent at once.
int SendAll(TenantSlack& slack, const policy::Tenant& tenant,
            const Taken& taken, int64_t ms, int most = 1000) {
  int sent = 0;
  while (sent < most && slack.MaySend(tenant, taken, AtMs(ms)).ok()) {
    slack.Sent(tenant.name, "node-1", taken, AtMs(ms));
    ++sent;
  }
  return sent;
}

TEST(TenantSlackTest, OneGatewayKeepsCeilingsExactly) {
  TenantSlack slack({});
  const policy::Tenant runs = Team({.running = 5});
  EXPECT_EQ(SendAll(slack, runs, kOneRun, 0), 5);
  const policy::Tenant sessions = Team({.sessions = 3});
  EXPECT_EQ(SendAll(slack, sessions, kOneSession, 0), 3);
  const policy::Tenant memory = Team({.session_memory_bytes = 300 * kMiB});
  EXPECT_EQ(SendAll(slack, memory, kOneSession, 0), 1);
  EXPECT_EQ(slack.Known("team").runs, 5u);
  EXPECT_EQ(slack.Known("team").sessions, 4u);
  EXPECT_EQ(slack.Known("team").session_memory, 256 * kMiB);
}

TEST(TenantSlackTest, WithoutCeilingsAllIsLetIn) {
  TenantSlack slack({});
  EXPECT_EQ(SendAll(slack, Team({}), kOneRun, 0), 1000);
  EXPECT_EQ(SendAll(slack, Team({}), kOneSession, 0), 1000);
}

TEST(TenantSlackTest, ErrorsNameTheCeiling) {
  TenantSlack slack({.window = absl::Milliseconds(300)});
  const policy::Tenant tenant =
      Team({.running = 1, .sessions = 0, .session_memory_bytes = kMiB});
  ASSERT_EQ(SendAll(slack, tenant, kOneRun, 0), 1);
  absl::Status status = slack.MaySend(tenant, kOneRun, AtMs(0));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(server::ErrorReason(status), "TENANT_CEILING");
  EXPECT_THAT(std::string(status.message()), HasSubstr("ceilings.running"));
  EXPECT_TRUE(status.GetPayload("type.googleapis.com/google.rpc.RetryInfo")
                  .has_value());
  // More than the ceiling alone: time doesn't help.
  status = slack.MaySend(tenant, kOneSession, AtMs(0));
  EXPECT_THAT(std::string(status.message()), HasSubstr("ceilings.sessions"));
  EXPECT_FALSE(status.GetPayload("type.googleapis.com/google.rpc.RetryInfo")
                   .has_value());
  status =
      slack.MaySend(Team({.session_memory_bytes = kMiB}), kOneSession, AtMs(0));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("ceilings.session_memory"));
}

TEST(TenantSlackTest, AllNodesCountAndSoDoTheirQueues) {
  TenantSlack slack({});
  slack.Report(ReportOf("node-1", 0, {.running = 2, .queued = 1}));
  slack.Report(ReportOf("node-2", 0, {.running = 4, .sessions = 2}));
  EXPECT_EQ(slack.Known("team").runs, 7u);
  EXPECT_EQ(slack.Known("team").sessions, 2u);
  EXPECT_EQ(SendAll(slack, Team({.running = 10}), kOneRun, 1), 3);
  slack.Report(ReportOf("node-2", 0, {}));
  EXPECT_EQ(slack.Known("team").runs, 6u);
  slack.Forget("node-1");
  slack.Forget("unknown");
  EXPECT_EQ(slack.Known("team").runs, 3u);
  EXPECT_EQ(slack.Known("others").runs, 0u);
}

TEST(TenantSlackTest, WhatAReportHasCountsOnce) {
  TenantSlack slack({});
  for (int i = 0; i < 4; ++i) slack.Sent("team", "node-1", kOneRun, AtMs(10));
  slack.Sent("team", "node-2", kOneRun, AtMs(10));
  // True before they were sent.
  slack.Report(ReportOf("node-1", 10, {}));
  EXPECT_EQ(slack.Known("team").runs, 5u);
  slack.Report(ReportOf("node-1", 20, {.running = 4}));
  EXPECT_EQ(slack.Known("team").runs, 5u);
  slack.Report(ReportOf("node-1", 30, {.running = 1}));
  EXPECT_EQ(slack.Known("team").runs, 2u);
}

TEST(TenantSlackTest, WhatEndedCountsNoMore) {
  TenantSlack slack({.answer_delay = absl::Milliseconds(50)});
  const auto early = slack.Sent("team", "node-1", kOneRun, AtMs(0));
  const auto late = slack.Sent("team", "node-1", kOneRun, AtMs(0));
  const auto unseen = slack.Sent("team", "node-1", kOneRun, AtMs(20));
  slack.Ended(unseen, AtMs(21));
  EXPECT_EQ(slack.Known("team").runs, 2u);
  slack.Report(ReportOf("node-1", 30, {.running = 2}));
  // It may have ended before the report was made, which then counts others.
  slack.Ended(early, AtMs(80));
  EXPECT_EQ(slack.Known("team").runs, 2u);
  // It can't.
  slack.Ended(late, AtMs(81));
  EXPECT_EQ(slack.Known("team").runs, 1u);
  // Twice is once.
  slack.Ended(late, AtMs(82));
  slack.Ended(12345, AtMs(82));
  slack.Ended(0, AtMs(82));
  EXPECT_EQ(slack.Known("team").runs, 1u);
}

TEST(TenantSlackTest, AGatewayOfSeveralTakesItsShareAtOnce) {
  TenantSlack slack({.replicas = 3, .window = absl::Milliseconds(400)});
  const policy::Tenant tenant = Team({.running = 12});
  EXPECT_EQ(SendAll(slack, tenant, kOneRun, 0), 4);
  slack.Report(ReportOf("node-1", 200, {.running = 4}));
  EXPECT_EQ(SendAll(slack, tenant, kOneRun, 400), 0);
  // Of what the reports leave then, which nobody else took.
  EXPECT_EQ(SendAll(slack, tenant, kOneRun, 401), 2);
  // A ceiling that is less than the replicas lets one in at a time.
  TenantSlack small({.replicas = 3, .window = absl::Milliseconds(400)});
  EXPECT_EQ(SendAll(small, Team({.running = 2}), kOneRun, 0), 1);
  small.Report(ReportOf("node-1", 300, {.running = 1}));
  EXPECT_EQ(SendAll(small, Team({.running = 2}), kOneRun, 401), 1);
  small.Report(ReportOf("node-1", 700, {.running = 2}));
  EXPECT_EQ(SendAll(small, Team({.running = 2}), kOneRun, 900), 0);
}

TEST(TenantSlackTest, RunsMayWaitInTheGateway) {
  const TenantSlack slack({.replicas = 3});
  EXPECT_FALSE(slack.MayWait(Team({.queued = 0}), 0));
  EXPECT_TRUE(slack.MayWait(Team({.queued = 1}), 0));
  EXPECT_FALSE(slack.MayWait(Team({.queued = 1}), 1));
  EXPECT_TRUE(slack.MayWait(Team({.queued = 10}), 2));
  EXPECT_FALSE(slack.MayWait(Team({.queued = 10}), 3));
  EXPECT_TRUE(slack.MayWait(Team({}), 1'000'000));
  EXPECT_FALSE(TenantSlack({.replicas = 0}).MayWait(Team({.queued = 2}), 2));
}

TEST(TenantSlackTest, NothingStaysOfTenantsThatHaveNothing) {
  TenantSlack slack({.replicas = 2});
  std::vector<TenantSlack::Ticket> tickets;
  for (int i = 0; i < 1000; ++i) {
    const std::string tenant = absl::StrCat("tenant-", i);
    tickets.push_back(slack.Sent(tenant, "node-1", kOneRun, AtMs(i)));
    slack.Sent(tenant, "node-2", kOneSession, AtMs(i));
  }
  for (const auto ticket : tickets) slack.Ended(ticket, AtMs(1000));
  // Of sessions nobody says the end: reports do.
  slack.Report(ReportOf("node-1", 2000, {}));
  slack.Report(ReportOf("node-2", 2000, {}));
  EXPECT_TRUE(slack.MaySend(Team({}), kOneRun, AtMs(2000)).ok());
  EXPECT_EQ(slack.tickets(), 0u);
  EXPECT_EQ(slack.tenants(), 0u);
}

TEST(TenantSlackTest, HugeAmountsDontOverflow) {
  TenantSlack slack({.replicas = 1000});
  const Taken huge = {.session = true,
                      .memory_bytes = std::numeric_limits<uint64_t>::max()};
  for (int i = 0; i < 1000; ++i) slack.Sent("team", "node-1", huge, AtMs(0));
  const policy::Tenant tenant = Team({.session_memory_bytes = kMaxBytes});
  EXPECT_FALSE(slack.MaySend(tenant, kOneSession, AtMs(0)).ok());
  EXPECT_FALSE(slack.MaySend(tenant, huge, AtMs(0)).ok());
}

// The worst that can be with S = 1, and no worse: all gateways at once.
TEST(TenantSlackBoundTest, WithoutSharesEachGatewayFillsTheCeilingAlone) {
  int sent = 0;
  for (int i = 0; i < 4; ++i) {
    TenantSlack slack({.replicas = 4, .shares = 1});
    sent += SendAll(slack, Team({.running = 25}), kOneRun, 0);
  }
  EXPECT_EQ(sent, 4 * 25);
}

// Gateways that know of each other only by reports, which come late, and one
// tenant that sends all it can by all of them.
class Attack {
 public:
  static constexpr int kNodes = 4;
  static constexpr int64_t kEvery = 200;  // T, in ms
  static constexpr int64_t kDelay = 100;  // the longest way of a report
  static constexpr int64_t kAnswer = 40;  // and of an answer

  Attack(uint64_t replicas, uint64_t shares, uint64_t ceiling, uint64_t seed)
      : random_(seed), tenant_(Team({.running = ceiling})) {
    for (uint64_t i = 0; i < replicas; ++i) {
      gateways_.push_back(std::make_unique<TenantSlack>(
          SlackOptions{.replicas = replicas,
                       .shares = shares,
                       .window = absl::Milliseconds(kEvery + kDelay),
                       .answer_delay = absl::Milliseconds(kAnswer)}));
    }
  }

  // The most that the tenant ever had.
  uint64_t Run(int64_t ms) {
    uint64_t most = 0;
    for (now_ = 0; now_ < ms; ++now_) {
      End();
      Report();
      // Sometimes nobody sends for a while, so that all see room again.
      if (now_ % 500 == 0) busy_ = Chance(0.7);
      if (busy_) Send();
      most = std::max<uint64_t>(most, going_.size());
    }
    return most;
  }

 private:
  struct Going {
    size_t gateway;
    int node;
    TenantSlack::Ticket ticket;
    int64_t until;
  };

  bool Chance(double part) {
    return std::uniform_real_distribution<double>(0, 1)(random_) < part;
  }
  int64_t Below(int64_t number) {
    return std::uniform_int_distribution<int64_t>(0, number - 1)(random_);
  }

  void Send() {
    const auto gateway =
        static_cast<size_t>(Below(static_cast<int64_t>(gateways_.size())));
    for (int64_t tries = Below(8); tries > 0; --tries) {
      if (!gateways_[gateway]->MaySend(tenant_, kOneRun, AtMs(now_)).ok()) {
        return;
      }
      const int node = static_cast<int>(Below(kNodes));
      const auto ticket = gateways_[gateway]->Sent(
          "team", absl::StrCat("node-", node), kOneRun, AtMs(now_));
      const int64_t length = Chance(0.5) ? Below(50) : Below(3000);
      going_.push_back({gateway, node, ticket, now_ + length});
    }
  }

  void End() {
    for (size_t i = 0; i < going_.size();) {
      if (going_[i].until > now_) {
        ++i;
        continue;
      }
      answers_.emplace(now_ + Below(kAnswer + 1), going_[i]);
      going_[i] = going_.back();
      going_.pop_back();
    }
    while (!answers_.empty() && answers_.begin()->first <= now_) {
      const Going& ended = answers_.begin()->second;
      gateways_[ended.gateway]->Ended(ended.ticket, AtMs(now_));
      answers_.erase(answers_.begin());
    }
  }

  void Report() {
    for (int node = 0; node < kNodes; ++node) {
      if ((now_ + 37 * node) % kEvery != 0) continue;
      const auto running = static_cast<uint64_t>(
          std::count_if(going_.begin(), going_.end(),
                        [&](const Going& one) { return one.node == node; }));
      for (size_t i = 0; i < gateways_.size(); ++i) {
        reports_.emplace(now_ + Below(kDelay + 1),
                         std::pair(i, ReportOf(absl::StrCat("node-", node),
                                               now_, {.running = running})));
      }
    }
    while (!reports_.empty() && reports_.begin()->first <= now_) {
      auto& [gateway, load] = reports_.begin()->second;
      load.heard = AtMs(now_);
      gateways_[gateway]->Report(load);
      reports_.erase(reports_.begin());
    }
  }

  std::mt19937_64 random_;
  const policy::Tenant tenant_;
  std::vector<std::unique_ptr<TenantSlack>> gateways_;
  std::vector<Going> going_;
  std::multimap<int64_t, Going> answers_;
  std::multimap<int64_t, std::pair<size_t, NodeLoad>> reports_;
  int64_t now_ = 0;
  bool busy_ = true;
};

TEST(TenantSlackBoundTest, ATenantNeverHasMoreThanTheBound) {
  uint64_t beyond = 0;
  for (const auto& [replicas, shares, ceiling] :
       std::vector<std::tuple<uint64_t, uint64_t, uint64_t>>{{1, 1, 1},
                                                             {1, 1, 20},
                                                             {2, 2, 20},
                                                             {3, 3, 2},
                                                             {3, 3, 30},
                                                             {3, 1, 30},
                                                             {5, 2, 40},
                                                             {5, 5, 40},
                                                             {5, 5, 3},
                                                             {4, 8, 40}}) {
    const uint64_t bound =
        ceiling + (replicas - 1) * std::max<uint64_t>(1, ceiling / shares);
    uint64_t most = 0;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      most = std::max(most, Attack(replicas, shares, ceiling, seed).Run(8000));
    }
    EXPECT_LE(most, bound) << replicas << " gateways, " << shares
                           << " shares, ceiling " << ceiling;
    // The ceiling is also used: it isn't a bound that nobody comes near.
    EXPECT_GE(most, std::max<uint64_t>(ceiling / 2, 1));
    if (replicas == 1) {
      EXPECT_EQ(most, ceiling);
    }
    beyond = std::max(beyond, most > ceiling ? most - ceiling : 0);
  }
  // The attack does overstep ceilings, so the bound isn't held by chance.
  EXPECT_GT(beyond, 5u);
}

}  // namespace
}  // namespace sandglass::gateway
