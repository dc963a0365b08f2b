// What tenants' files allow, and what is said when it is reached.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/cord.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "server/admission/admission.h"
#include "server/base/errors.h"
#include "server/base/proto_time.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kOneMib = uint64_t{1} << 20;

AdmissionOptions FourSlots() {
  return {.max_running = 4,
          .max_queued = 100,
          .queue_timeout = absl::Seconds(60),
          .memory_budget_bytes = 1000 * kOneMib,
          .overhead_bytes = 0};
}

RunPtr RunOf(const std::string& tenant, uint64_t memory_bytes = kOneMib,
             absl::Duration left = absl::InfiniteDuration(),
             int caller_number = 0) {
  Identity caller;
  caller.tenant = tenant;
  caller.name = NameOf(tenant, absl::StrCat("ci", caller_number));
  RunOrigin origin{.run_id = NewRunId(),
                   .caller = caller,
                   .language = "bash",
                   .profile = "default",
                   .request_bytes = 10,
                   .accepted = Now()};
  if (left != absl::InfiniteDuration()) origin.deadline = After(Now(), left);
  Job job;
  job.limits.memory_bytes = memory_bytes;
  job.limits.cpu_millis = 1000;
  return std::make_shared<Run>(std::move(origin), std::move(job));
}

void SetTenant(Admission& admission, policy::Tenant tenant) {
  admission.SetTenants(std::make_shared<const policy::TenantTable>(
      std::vector<policy::Tenant>{std::move(tenant)}));
}

template <typename Detail>
bool Has(const absl::Status& status, Detail& detail) {
  const auto payload =
      status.GetPayload(absl::StrCat(kErrorTypePrefix, Detail().GetTypeName()));
  return payload && detail.ParseFromString(std::string(*payload));
}

// RESOURCE_EXHAUSTED about that key of the tenant "low".
void ExpectQuota(const absl::Status& status, const std::string& reason,
                 const std::string& text) {
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(ErrorReason(status), reason);
  google::rpc::QuotaFailure failure;
  ASSERT_TRUE(Has(status, failure)) << status;
  ASSERT_EQ(failure.violations_size(), 1);
  EXPECT_EQ(failure.violations(0).subject(), "tenant:low");
  EXPECT_THAT(failure.violations(0).description(), HasSubstr(text));
}

absl::Duration RetryAfter(const absl::Status& status) {
  google::rpc::RetryInfo retry;
  EXPECT_TRUE(Has(status, retry)) << status;
  return absl::Seconds(retry.retry_delay().seconds()) +
         absl::Nanoseconds(retry.retry_delay().nanos());
}

TEST(TenantLimits, OverItsQueueATenantIsToldSo) {
  Admission admission(FourSlots());
  policy::Tenant low{.name = "low"};
  low.ceilings.queued = 2;
  SetTenant(admission, low);
  ASSERT_TRUE(admission.Enqueue(RunOf("low")).ok());
  ASSERT_TRUE(admission.Enqueue(RunOf("low")).ok());
  const absl::Status refused = admission.Enqueue(RunOf("low"));
  ExpectQuota(refused, "TENANT_CEILING",
              "tenant low has 2 of at most 2 (ceilings.queued in its file)");
  EXPECT_GE(RetryAfter(refused), absl::Milliseconds(100));
  EXPECT_LE(RetryAfter(refused), absl::Seconds(30));
  EXPECT_TRUE(admission.Enqueue(RunOf("other")).ok());
  const auto started = admission.Pop();
  EXPECT_TRUE(admission.Enqueue(RunOf("low")).ok());
}

// However many callers it has.
TEST(TenantLimits, ATenantLeavesRoomInTheQueueForOthers) {
  AdmissionOptions options = FourSlots();
  options.max_queued = 8;
  options.queued_reserve = 4;
  Admission admission(options);
  ASSERT_TRUE(admission.Enqueue(RunOf("other")).ok());
  absl::Status refused;
  int waiting = 0;
  while (refused.ok() && waiting < 20) {
    refused = admission.Enqueue(
        RunOf("many", kOneMib, absl::InfiniteDuration(), waiting));
    if (refused.ok()) ++waiting;
  }
  EXPECT_LT(waiting, 11);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(absl::StrCat("tenant many already has ", waiting,
                                     " of the ", waiting + 1, " runs")));
  EXPECT_TRUE(admission.Enqueue(RunOf("new")).ok());
}

TEST(TenantLimits, WhatMayRunAtOnceIsBounded) {
  const auto with =
      [](const std::function<void(policy::TenantCeilings&)>& set) {
        policy::Tenant low{.name = "low"};
        set(low.ceilings);
        return low;
      };
  for (const policy::Tenant& low :
       {with([](auto& most) { most.running = 2; }),
        with([](auto& most) { most.memory_bytes = 25 * kOneMib; }),
        with([](auto& most) { most.cpu_millis = 2999; })}) {
    Admission admission(FourSlots());
    SetTenant(admission, low);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(admission.Enqueue(RunOf("low", 10 * kOneMib)).ok());
    }
    const RunPtr other = RunOf("other");
    ASSERT_TRUE(admission.Enqueue(other).ok());
    std::vector<Admission::Admitted> going;
    going.reserve(3);
    for (int i = 0; i < 3; ++i) going.push_back(*admission.Pop());
    // The third of "low" waits, and isn't in anybody's way.
    EXPECT_EQ(std::count_if(going.begin(), going.end(),
                            [](const auto& each) {
                              return each.run->tenant_name() == "low";
                            }),
              2);
    EXPECT_EQ(admission.snapshot().queued, 1u);
    going.clear();
    EXPECT_EQ(admission.Pop()->run->tenant_name(), "low");
  }
}

TEST(TenantLimits, WhatCouldNeverRunIsRefusedAtOnce) {
  Admission admission(FourSlots());
  policy::Tenant low{.name = "low"};
  low.ceilings.memory_bytes = 25 * kOneMib;
  low.ceilings.cpu_millis = 1000;
  SetTenant(admission, low);
  const absl::Status memory = admission.Enqueue(RunOf("low", 26 * kOneMib));
  ExpectQuota(memory, "TENANT_CEILING", "ceilings.memory in its file");
  google::rpc::RetryInfo retry;
  EXPECT_FALSE(Has(memory, retry)) << "waiting would not help";
  EXPECT_TRUE(admission.Enqueue(RunOf("low", 25 * kOneMib)).ok());
  low.ceilings.cpu_millis = 999;
  SetTenant(admission, low);
  ExpectQuota(admission.Enqueue(RunOf("low")), "TENANT_CEILING",
              "ceilings.cpu_millis in its file");
}

TEST(TenantLimits, ABudgetThatIsUsedUpSaysWhenThereIsRoom) {
  Admission admission(FourSlots());
  policy::Tenant low{.name = "low"};
  low.budgets.hour.most[policy::Resource::kRuns] = 2;
  low.budgets.day.most[policy::Resource::kCpuSeconds] = 10;
  SetTenant(admission, low);
  ASSERT_TRUE(admission.Enqueue(RunOf("low")).ok());
  ASSERT_TRUE(admission.Enqueue(RunOf("low")).ok());
  const absl::Status runs = admission.Enqueue(RunOf("low"));
  ExpectQuota(runs, "TENANT_BUDGET_SPENT",
              "tenant low has used 2 of 2 (budgets.hour.runs in its file)");
  EXPECT_GT(RetryAfter(runs), absl::Minutes(59));
  EXPECT_LE(RetryAfter(runs), absl::Minutes(61));
  EXPECT_TRUE(admission.Enqueue(RunOf("other")).ok());
  policy::Amounts used;
  used[policy::Resource::kCpuSeconds] = 10;
  admission.Charge("other", used);
  admission.Charge("low", used);
  const absl::Status cpu = admission.Enqueue(RunOf("low"));
  ExpectQuota(cpu, "TENANT_BUDGET_SPENT", "budgets.day.cpu_seconds");
  EXPECT_GT(RetryAfter(cpu), absl::Hours(23));
  EXPECT_TRUE(admission.Enqueue(RunOf("other")).ok());
  // A higher budget holds at once.
  low.budgets = policy::Budgets();
  SetTenant(admission, low);
  EXPECT_TRUE(admission.Enqueue(RunOf("low")).ok());
}

// Runs have shown how long they take, and so many wait that the last one's
// deadline will pass.
TEST(TenantLimits, ADeadlineThatCannotBeMetIsRefusedAtOnce) {
  Admission admission(FourSlots());
  absl::Status refused;
  // On a machine that is busy with other things they take so different times
  // that it needs more of them to be sure.
  for (int i = 0; i < 500 && refused.ok(); ++i) {
    for (int runs = 0; runs < 16; ++runs) {
      ASSERT_TRUE(admission.Enqueue(RunOf("low")).ok());
      const auto run = admission.Pop();
      absl::SleepFor(absl::Milliseconds(2));
    }
    std::vector<Admission::Admitted> going;
    std::vector<RunPtr> waiting;
    for (int runs = 0; runs < 44; ++runs) {
      waiting.push_back(RunOf("low", kOneMib, absl::Minutes(1)));
      ASSERT_TRUE(admission.Enqueue(waiting.back()).ok());
      if (runs < 4) going.push_back(*admission.Pop());
    }
    // 40 of 2 ms, four at a time, are 20 ms; half of that is sure.
    refused = admission.Enqueue(RunOf("low", kOneMib, absl::Milliseconds(5)));
    // Of others nothing is known that would be sure, nor does it matter to who
    // has time.
    for (const RunPtr& run :
         {RunOf("new", kOneMib, absl::Milliseconds(5)), RunOf("low")}) {
      EXPECT_TRUE(admission.Enqueue(run).ok());
      waiting.push_back(run);
    }
    for (const RunPtr& run : waiting) admission.Remove(run.get());
  }
  EXPECT_EQ(ErrorReason(refused), "DEADLINE_UNREACHABLE") << refused;
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GE(RetryAfter(refused), absl::Milliseconds(100));
}

}  // namespace
}  // namespace sandglass::server
