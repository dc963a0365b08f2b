#include "server/daemon/descriptor_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

Config WithSessions(uint32_t count) {
  Config config;
  config.admission.max_running = 4;
  config.sessions.max_sessions = count;
  return config;
}

TEST(DescriptorNeeds, OfTheDefaultFitIntoWhatServicesHave) {
  const Config config = WithSessions(64);
  const DescriptorNeeds needs = FindDescriptorNeeds(config, 65'536);
  EXPECT_EQ(needs.sessions, 64u);
  EXPECT_EQ(needs.commands, 1024u);
  EXPECT_EQ(needs.connections, 1024u);
  Config with_tls = config;
  with_tls.listen_tls.push_back({.tcp_address = "0.0.0.0:1", .tls = true});
  EXPECT_EQ(FindDescriptorNeeds(with_tls, 65'536).connections, 16384u);
  EXPECT_EQ(WhyTooFewDescriptors(config, needs), "");
  EXPECT_THAT(DescribeDescriptorNeeds(needs), HasSubstr("may have 65536"));
}

TEST(DescriptorNeeds, SayHowManySessionsThereIsRoomFor) {
  const Config config = WithSessions(1000);
  const DescriptorNeeds needs = FindDescriptorNeeds(config, 4096);
  EXPECT_GT(needs.server, 17'000u);
  EXPECT_GT(needs.sessions, 50u);
  EXPECT_LT(needs.sessions, 240u);
  const std::string why = WhyTooFewDescriptors(config, needs);
  EXPECT_THAT(why, HasSubstr("sessions.max (1000)"));
  EXPECT_THAT(why, HasSubstr("LimitNOFILE"));
  // What is said to be enough is.
  EXPECT_EQ(
      WhyTooFewDescriptors(
          config, FindDescriptorNeeds(config, needs.server + needs.server / 8)),
      "");
}

TEST(DescriptorNeeds, LeaveSomeForCommandsAndConnectionsInAnyCase) {
  for (const uint64_t limit : {uint64_t{0}, uint64_t{256}, uint64_t{4096}}) {
    const DescriptorNeeds needs =
        FindDescriptorNeeds(WithSessions(1000), limit);
    EXPECT_GE(needs.commands, 16u);
    EXPECT_GE(needs.connections, 16u);
  }
  EXPECT_GE(FindDescriptorNeeds(WithSessions(1000), 4096).connections, 128u);
}

}  // namespace
}  // namespace sandglass::server
