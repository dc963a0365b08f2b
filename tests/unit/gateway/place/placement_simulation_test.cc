// Placement as a whole, beside one queue before all slots.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/unit/gateway/place/arrivals.h"
#include "tests/unit/gateway/place/cluster_simulation.h"

namespace sandglass::gateway {
namespace {

class PlacementSimulation : public ::testing::TestWithParam<ClusterOptions> {};

std::string NameOf(const ::testing::TestParamInfo<ClusterOptions>& info) {
  return absl::StrCat(info.param.nodes, "Nodes", info.param.replicas,
                      "Gateways", info.param.bursts ? "Bursts" : "Poisson");
}

TEST_P(PlacementSimulation, TheTailIsNearThatOfOneQueue) {
  const ClusterOptions& options = GetParam();
  const std::vector<Arrival> arrivals = DrawArrivals(options);
  const Times ideal = IdealTimes(options, arrivals);
  const ClusterResult result = ClusterSimulation(options, arrivals).Run();
  EXPECT_EQ(result.refused, 0u);
  ASSERT_EQ(result.times.totals.size(), ideal.totals.size());
  // Enough for a p99 that isn't chance.
  ASSERT_GE(ideal.totals.size(), 1000u);
  const double least = Percentile(ideal.totals, 0.99);
  const double p99 = Percentile(result.times.totals, 0.99);
  EXPECT_LE(p99, 1.5 * least);
  // Long runs make most of that, so that even nodes drawn blindly would pass.
  // Waits tell them apart: blindly drawn ones make p99 longer by a second.
  EXPECT_LE(Percentile(result.times.waits, 0.99),
            Percentile(ideal.waits, 0.99) + 0.35);
  // Nothing can be better; else the simulation is wrong.
  EXPECT_GE(p99, 0.95 * least);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, PlacementSimulation,
    ::testing::Values(
        ClusterOptions{.nodes = 3, .seconds = 60},
        ClusterOptions{.nodes = 3, .bursts = true, .seconds = 60},
        ClusterOptions{.nodes = 10, .seconds = 40},
        ClusterOptions{.nodes = 10, .replicas = 1, .seconds = 40},
        ClusterOptions{.nodes = 10, .bursts = true, .seconds = 40},
        ClusterOptions{.nodes = 100, .seconds = 15},
        ClusterOptions{.nodes = 100, .bursts = true, .seconds = 15},
        ClusterOptions{.nodes = 1000, .seconds = 5.5},
        ClusterOptions{.nodes = 1000, .bursts = true, .seconds = 5.5}),
    NameOf);

TEST(NodeDeathSimulation, ANodeThatDiedGetsNothingAfterTwoSeconds) {
  const ClusterOptions options = {.nodes = 10, .seconds = 10, .death = 5};
  const std::vector<Arrival> arrivals = DrawArrivals(options);
  const ClusterResult result = ClusterSimulation(options, arrivals).Run();
  EXPECT_GT(result.wrong, 0u);
  EXPECT_LE(result.last_wrong, 2.0);
  // Nobody noticed anything, so it did go on for nearly as long.
  EXPECT_GT(result.last_wrong, 1.0);
}

TEST(NodeDeathSimulation, ABrokenConnectionIsNoticedAtOnce) {
  const ClusterOptions options = {
      .nodes = 10, .seconds = 10, .death = 5, .death_is_noticed = true};
  const std::vector<Arrival> arrivals = DrawArrivals(options);
  const ClusterResult result = ClusterSimulation(options, arrivals).Run();
  EXPECT_GT(result.wrong, 0u);
  EXPECT_LE(result.last_wrong, 0.5);
}

// One gateway knows all that is sent, so that next to nothing waits while slots
// are free elsewhere.
TEST(OneGatewaySimulation, HardlyAnythingWaits) {
  const ClusterOptions options = {.nodes = 100, .replicas = 1, .seconds = 15};
  const std::vector<Arrival> arrivals = DrawArrivals(options);
  const ClusterResult result = ClusterSimulation(options, arrivals).Run();
  EXPECT_LE(Percentile(result.times.waits, 0.99), 0.03);
}

TEST(RequestIdSimulation, CostsBalanceAndNothingElse) {
  ClusterOptions options = {.nodes = 10, .seconds = 40};
  const std::vector<Arrival> arrivals = DrawArrivals(options);
  const ClusterResult without = ClusterSimulation(options, arrivals).Run();
  options.with_request_ids = true;
  const ClusterResult result = ClusterSimulation(options, arrivals).Run();
  EXPECT_EQ(result.refused, 0u);
  EXPECT_EQ(result.displaced, 0u);
  const double ideal = Percentile(IdealTimes(options, arrivals).totals, 0.99);
  EXPECT_LE(Percentile(result.times.totals, 0.99), 2 * ideal);
  // It does cost something, as docs/scaling.md says.
  EXPECT_GT(Percentile(result.times.waits, 0.99),
            2 * Percentile(without.times.waits, 0.99));
}

}  // namespace
}  // namespace sandglass::gateway
