#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
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

}  // namespace
}  // namespace sandglass::server
