// On which ports a jail listens, and what is new of what it took.
#include "sandbox/wire/egress_ports.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "internal/egress.pb.h"
#include "sandbox/wire/network_use.h"

namespace sandglass::sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Of one host with these ranges.
std::vector<uint16_t> Served(
    const std::vector<std::pair<uint32_t, uint32_t>>& ranges) {
  internal::NetworkRules rules;
  internal::AllowedHost& host = *rules.add_hosts();
  for (const auto& [first, last] : ranges) {
    internal::PortRange& range = *host.add_ports();
    range.set_first(first);
    range.set_last(last);
  }
  return ServedPorts(rules);
}

TEST(ServedPorts, AreNoneWithoutRules) { EXPECT_THAT(Served({}), IsEmpty()); }

TEST(ServedPorts, HaveHttpFirstThenTheLowestEachOnce) {
  EXPECT_THAT(Served({{8080, 8081}, {443, 443}, {22, 22}, {80, 80}, {22, 22}}),
              ElementsAre(80, 443, 22, 8080, 8081));
}

TEST(ServedPorts, AreNoMoreThanTheirBound) {
  const std::vector<uint16_t> ports = Served({{1, 65535}});
  ASSERT_EQ(ports.size(), kMaxServedPorts);
  EXPECT_EQ(ports[0], 80);
  EXPECT_EQ(ports[1], 443);
  EXPECT_EQ(ports[2], 1);
  EXPECT_EQ(ports.back(), kMaxServedPorts - 2);
}

TEST(ServedPorts, LeaveOutTheProxysOwn) {
  EXPECT_THAT(Served({{kProxyPort, kProxyPort}}), IsEmpty());
  const std::vector<uint16_t> around = Served({{kProxyPort, 65535}});
  EXPECT_EQ(around.size(), kMaxServedPorts);
  EXPECT_EQ(around.front(), kProxyPort + 1);
}

TEST(ServedPorts, LeaveOutWhatIsNoPort) {
  EXPECT_THAT(Served({{0, 0}, {65536, 70000}, {9, 8}}), IsEmpty());
  EXPECT_THAT(Served({{0, 1}, {65535, UINT32_MAX}}), ElementsAre(1, 65535));
}

TEST(NetworkUseSince, IsWhatCameAfter) {
  const NetworkUse before = {
      1, 2, 3, 4, {{"a:80", "no", 2}, {"b:80", "no", 1}}};
  const NetworkUse now = {
      11, 22, 33, 44, {{"a:80", "no", 5}, {"b:80", "no", 1}, {"a:80", "x", 1}}};
  const NetworkUse since = Since(before, now);
  EXPECT_EQ(since.connections, 10u);
  EXPECT_EQ(since.refused, 20u);
  EXPECT_EQ(since.bytes_up, 30u);
  EXPECT_EQ(since.bytes_down, 40u);
  ASSERT_EQ(since.refusals.size(), 2u);
  EXPECT_EQ(since.refusals[0].target, "a:80");
  EXPECT_EQ(since.refusals[0].count, 3u);
  EXPECT_EQ(since.refusals[1].words, "x");
  EXPECT_EQ(since.refusals[1].count, 1u);
  EXPECT_THAT(Since(now, now).refusals, IsEmpty());
}

}  // namespace
}  // namespace sandglass::sandbox
