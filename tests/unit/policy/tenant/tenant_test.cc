#include "policy/tenant/tenant.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::set<std::string> kProfiles = {"default", "quick", "slow"};

absl::StatusOr<Tenant> Parse(std::string_view text) {
  return ParseTenant("team-a", text, kProfiles);
}

TEST(Tenant, AnEmptyFileLimitsNothing) {
  const auto tenant = Parse("{}");
  ASSERT_TRUE(tenant.ok()) << tenant.status();
  EXPECT_EQ(*tenant, Tenant{.name = "team-a"});
  EXPECT_EQ(TenantTable().Get("local"), Tenant{.name = "local"});
  EXPECT_EQ(tenant->weight, 1u);
  EXPECT_EQ(tenant->ceilings.running, kNoCeiling);
  EXPECT_TRUE(std::isinf(tenant->budgets.day.most[Resource::kRuns]));
  EXPECT_TRUE(AllowsProfile(*tenant, "anything"));
}

TEST(Tenant, AllKeysAreRead) {
  const auto tenant = Parse(R"({
      // Each of them.
      "weight": 1000,
      "priority": "batch",
      "profiles": ["quick", "slow"],
      "default_profile": "slow",
      "ceilings": {"running": 1, "queued": 2, "memory": "3GiB",
                   "cpu_millis": 4000, "sessions": 0, "session_memory": "6MiB",
                   "durable_bytes": "8MiB",
                   "execs": 7, "installs": 0,
                   "streams": 9, "message_bytes": "2MiB"},
      "budgets": {"hour": {"runs": 8, "cpu_seconds": 9, "gb_seconds": 10,
                           "egress_bytes": "11MiB"},
                  "day": {"runs": 12}},
      "shares": true,
      "compile_cache": "own",
      "libraries": "own"})");
  ASSERT_TRUE(tenant.ok()) << tenant.status();
  EXPECT_EQ(tenant->weight, 1000u);
  EXPECT_EQ(tenant->priority, Priority::kBatch);
  EXPECT_THAT(tenant->profiles, ElementsAre("quick", "slow"));
  EXPECT_EQ(tenant->default_profile, "slow");
  EXPECT_FALSE(AllowsProfile(*tenant, "default"));
  EXPECT_EQ(tenant->ceilings,
            (TenantCeilings{.running = 1,
                            .queued = 2,
                            .memory_bytes = uint64_t{3} << 30,
                            .cpu_millis = 4000,
                            .sessions = 0,
                            .session_memory_bytes = uint64_t{6} << 20,
                            .durable_bytes = uint64_t{8} << 20,
                            .execs = 7,
                            .installs = 0,
                            .streams = 9,
                            .message_bytes = 2 << 20}));
  const Amounts& hour = tenant->budgets.hour.most;
  EXPECT_EQ(hour[Resource::kRuns], 8);
  EXPECT_EQ(hour[Resource::kCpuSeconds], 9);
  EXPECT_EQ(hour[Resource::kGbSeconds], 10);
  EXPECT_EQ(hour[Resource::kEgressBytes], 11 << 20);
  EXPECT_EQ(tenant->budgets.day.most[Resource::kRuns], 12);
  EXPECT_TRUE(std::isinf(tenant->budgets.day.most[Resource::kCpuSeconds]));
  EXPECT_TRUE(tenant->shares);
  EXPECT_TRUE(tenant->own_compile_cache);
  EXPECT_TRUE(tenant->own_libraries);
}

TEST(Tenant, WhatIsWrongIsNamed) {
  const struct {
    const char* text;
    const char* error;
  } kWrong[] = {
      {R"({"weigth": 2})", "team-a.json: /weigth"},
      {R"({"weight": 0})", "/weight"},
      {R"({"weight": 1001})", "/weight"},
      {R"({"weight": "3"})", "/weight"},
      {R"({"priority": "high"})", "/priority: expected \"interactive\""},
      {R"({"profiles": ["default", "fast"]})",
       "/profiles/1: there is no profile \"fast\"; there are: default, quick"},
      {R"({"profiles": ["quick"]})",
       "/default_profile: is \"default\", which is none of /profiles"},
      {R"({"default_profile": "no"})", "/default_profile: there is no profile"},
      {R"({"ceilings": {"running": 0}})", "/ceilings/running"},
      {R"({"ceilings": {"memory": 5}})", "/ceilings/memory"},
      {R"({"ceilings": {"threads": 5}})", "/ceilings/threads"},
      {R"({"budgets": {"week": {}}})", "/budgets/week"},
      {R"({"budgets": {"day": {"runs": 0}}})", "/budgets/day/runs"},
      {R"({"budgets": {"day": {"runs": -1}}})", "/budgets/day/runs"},
      {R"({"budgets": {"hour": {"egress_bytes": "1MB"}}})",
       "/budgets/hour/egress_bytes"},
      {R"({"shares": 1})", "/shares"},
      {R"({"compile_cache": "off"})", "/compile_cache"},
      {R"({"libraries": {}})", "/libraries"},
      {R"([])", "team-a.json"},
      {R"({"weight": 1, "weight": 2})", "weight"},
  };
  for (const auto& [text, error] : kWrong) {
    const auto tenant = Parse(text);
    ASSERT_FALSE(tenant.ok()) << text;
    EXPECT_EQ(tenant.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(tenant.status().message()), HasSubstr(error));
  }
}

TEST(TenantTable, EachFileIsATenant) {
  const sandglass::testing::TempDir directory;
  sandglass::testing::WriteFile(directory.Path("team-a.json"),
                                R"({"weight": 3})");
  sandglass::testing::WriteFile(directory.Path("7.json"), "{}");
  sandglass::testing::WriteFile(directory.Path("notes.txt"), "not read");
  const auto table = TenantTable::Load(directory.path(), kProfiles);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->tenants().size(), 2u);
  ASSERT_NE(table->Find("team-a"), nullptr);
  EXPECT_EQ(table->Find("team-a")->weight, 3u);
  EXPECT_EQ(table->Find("notes"), nullptr);
  EXPECT_EQ(table->Get("team-a").weight, 3u);
}

TEST(TenantTable, AllThatIsWrongIsListed) {
  const sandglass::testing::TempDir directory;
  EXPECT_EQ(TenantTable::Load(directory.path(), kProfiles).status().code(),
            absl::StatusCode::kNotFound);
  sandglass::testing::WriteFile(directory.Path("Team.json"), "{}");
  sandglass::testing::WriteFile(directory.Path("b.json"), "{\"weight\": 0}");
  sandglass::testing::WriteFile(directory.Path("c.json"), "{");
  const auto table = TenantTable::Load(directory.path(), kProfiles);
  ASSERT_FALSE(table.ok());
  const std::string message(table.status().message());
  EXPECT_THAT(message, HasSubstr("Team.json"));
  EXPECT_THAT(message, HasSubstr("b.json: /weight"));
  EXPECT_THAT(message, HasSubstr("c.json"));
}

TEST(TenantTable, NamesAreThoseOfTenants) {
  for (const char* name : {"a", "0", "team-a", "a-"}) {
    EXPECT_TRUE(IsTenantFileName(name)) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("-a"), std::string("A"), std::string("a_b"),
        std::string("a.b"), std::string("a/b"), std::string(64, 'a')}) {
    EXPECT_FALSE(IsTenantFileName(name)) << name;
  }
  EXPECT_TRUE(IsTenantFileName(std::string(63, 'a')));
}

}  // namespace
}  // namespace sandglass::policy
