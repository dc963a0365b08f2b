#include "server/daemon/resolved_config.h"

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/language/language.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kMiB = uint64_t{1} << 20;

class NothingFits : public ::testing::Test {
 protected:
  // With programs of 256 MiB.
  std::string Why(uint64_t budget) {
    policy::Profile profile{.name = "default"};
    profile.limits.memory_bytes = profile.maximum.memory_bytes = 256 * kMiB;
    auto table = policy::LanguageTable::Create({});
    EXPECT_TRUE(table.ok()) << table.status();
    auto policy = PolicySet::Create(*std::move(table), {profile});
    EXPECT_TRUE(policy.ok()) << policy.status();
    Config config;
    config.admission.memory_budget_bytes = budget;
    config.admission.overhead_bytes = 16 * kMiB;
    return WhyNoneFits(config, *policy);
  }
};

TEST_F(NothingFits, WithoutRoomForAJailsOverhead) {
  EXPECT_THAT(Why(272 * kMiB), IsEmpty());
  EXPECT_THAT(Why(271 * kMiB),
              HasSubstr("271 MiB is less than a program of "
                        "profile default counts for (272 MiB)"));
  EXPECT_THAT(Why(256 * kMiB), HasSubstr("raise it"));
}

}  // namespace
}  // namespace sandglass::server
