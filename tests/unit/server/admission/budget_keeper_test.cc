#include "server/admission/budget_keeper.h"

#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using policy::Resource;

class BudgetKeeperTest : public ::testing::Test {
 protected:
  os::Fd Directory() const {
    return os::Fd(::open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY));
  }
  // A daemon that ends with the next one's begin.
  void Begin(const std::string& name = "/run/one") {
    End();
    admission_.emplace(AdmissionOptions());
    policy::Tenant tenant{.name = "a"};
    tenant.budgets.hour.most[Resource::kCpuSeconds] = 10;
    admission_->SetTenants(std::make_shared<const policy::TenantTable>(
        std::vector<policy::Tenant>{tenant}));
    keeper_.emplace(Directory(), name, *admission_);
  }
  void End() {
    keeper_.reset();
    admission_.reset();
  }
  void Use(double seconds) {
    policy::Amounts amounts;
    amounts[Resource::kCpuSeconds] = seconds;
    admission_->Charge("a", amounts);
  }
  bool IsSpent() { return !admission_->BudgetLeft("a").ok(); }

  testing::TempDir dir_;
  std::optional<Admission> admission_;
  std::optional<BudgetKeeper> keeper_;
};

TEST_F(BudgetKeeperTest, WhatWasUsedCountsAfterARestart) {
  Begin();
  EXPECT_FALSE(IsSpent());
  Use(6);
  Begin();
  EXPECT_FALSE(IsSpent());
  Use(6);
  EXPECT_TRUE(IsSpent());
  Begin();
  EXPECT_TRUE(IsSpent());
  // A restart without use keeps it.
  Begin();
  Begin();
  EXPECT_TRUE(IsSpent());
}

TEST_F(BudgetKeeperTest, AnotherDaemonHasItsOwn) {
  Begin("/run/one");
  Use(11);
  Begin("/run/two");
  EXPECT_FALSE(IsSpent());
  Begin("/run/one");
  EXPECT_TRUE(IsSpent());
}

TEST_F(BudgetKeeperTest, ADamagedFileCountsForNothing) {
  Begin();
  Use(11);
  End();
  for (const auto& file : std::filesystem::directory_iterator(dir_.path())) {
    std::fstream bytes(file.path(), std::ios::in | std::ios::out);
    bytes.seekp(20);
    bytes << "damage";
  }
  Begin();
  EXPECT_FALSE(IsSpent());
  Use(11);
  Begin();
  EXPECT_TRUE(IsSpent());
}

}  // namespace
}  // namespace sandglass::server
