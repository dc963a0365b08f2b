#include <memory>

#include "absl/strings/cord.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "server/base/errors.h"
#include "server/session/session_copy.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

TEST(DiskBudget, OneCallersShareLeavesRoomForOthers) {
  const auto all = std::make_shared<DiskBudget>(1000);
  const auto first = all->ShareOf("first");
  EXPECT_EQ(all->ShareOf("first"), first);
  EXPECT_TRUE(first->Acquire(750));
  EXPECT_FALSE(first->Acquire(1));
  EXPECT_TRUE(first->full());
  EXPECT_THAT(first->Describe(), HasSubstr("1000 bytes, and have taken 750, "
                                           "750 of them this caller's"));
  const auto second = all->ShareOf("second");
  EXPECT_FALSE(second->full());
  EXPECT_FALSE(second->Acquire(251));
  EXPECT_TRUE(second->Acquire(125));
  EXPECT_FALSE(second->Acquire(1));
  const auto third = all->ShareOf("third");
  EXPECT_TRUE(third->Acquire(100));
  first->Release(750);
  EXPECT_TRUE(second->Acquire(500));
  EXPECT_EQ(all->used(), 725u);
  // What was there before counts, although it is too much.
  third->Force(900);
  EXPECT_TRUE(second->full());
  EXPECT_EQ(all->used(), 1625u);
}

TEST(DiskBudget, ATenantsCallersTogetherHaveItsCeiling) {
  const auto all = std::make_shared<DiskBudget>(1000);
  uint64_t most = 100;
  all->LimitTenants([&](const std::string& tenant) {
    return tenant == "low" ? most : uint64_t{1} << 40;
  });
  const auto one = all->ShareOf("low/one");
  const auto two = all->ShareOf("low/two");
  EXPECT_TRUE(one->Acquire(60));
  EXPECT_FALSE(two->Acquire(41));
  EXPECT_TRUE(two->Acquire(40));
  EXPECT_TRUE(two->full());
  const absl::Status refused =
      FilesNotSaved("session s", two->Refusal(kDurableBytes, 1));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("tenant low has 100 of at most 100 "
                        "(ceilings.durable_bytes in its file)"));
  google::rpc::QuotaFailure quota;
  const auto payload =
      refused.GetPayload(absl::StrCat(kErrorTypePrefix, quota.GetTypeName()));
  ASSERT_TRUE(payload.has_value());
  ASSERT_TRUE(quota.ParseFromString(std::string(*payload)));
  EXPECT_EQ(quota.violations(0).subject(), "tenant:low");
  EXPECT_TRUE(all->ShareOf("high/one")->Acquire(500));
  most = 101;
  EXPECT_FALSE(two->full());
  one->Release(60);
  EXPECT_TRUE(two->Acquire(61));
  EXPECT_EQ(all->used(), 601u);
}

}  // namespace
}  // namespace sandglass::server
