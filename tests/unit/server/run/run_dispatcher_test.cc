#include "server/run/run_dispatcher.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/errors.h"
#include "server/languages/languages.h"
#include "tests/unit/server/installed_gate.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

class DispatcherTest : public ::testing::Test {
 protected:
  DispatcherTest() {
    options_.policy = &policy_;
    options_.admission.max_running = 1;
    options_.admission.max_queued = 4;
    options_.admission.memory_budget_bytes = uint64_t{4} << 30;
    options_.runner = &runs_;
    options_.gate = &kInstalled;
  }
  RunDispatcher& dispatcher() {
    if (!dispatcher_) {
      dispatcher_.emplace(options_);
      dispatcher_->Start();
    }
    return *dispatcher_;
  }
  RunPtr Submit(RecordingListener& listener, v1::RunCodeRequest request,
                std::optional<MonotonicTime> deadline = std::nullopt) {
    return dispatcher().Submit(User(1), std::move(request), deadline, "",
                               &listener);
  }
  // Fills the one slot.
  RunPtr Occupy(RecordingListener& listener) {
    auto run = Submit(listener, GoodRequest("wait"));
    EXPECT_TRUE(Eventually([&] { return runs_.started() == 1; }));
    return run;
  }

  const LivePolicy policy_{TestPolicy()};
  ScriptedRuns runs_;
  DispatcherOptions options_;
  RecordingListener first_, second_;
  std::optional<RunDispatcher> dispatcher_;
};

// A policy with the file of the tenant "local".
PolicySet WithTenant(policy::Tenant tenant) {
  PolicySet policy = TestPolicy();
  tenant.name = kLocalTenant;
  policy.SetTenants(policy::TenantTable({std::move(tenant)}));
  return policy;
}

TEST_F(DispatcherTest, ATenantsProfilesAndBudgetsHold) {
  policy::Tenant tenant = {.profiles = {"narrow"}, .default_profile = "narrow"};
  LivePolicy policy(WithTenant(tenant));
  options_.policy = &policy;
  v1::RunCodeRequest request = GoodRequest();
  request.set_profile("default");
  Submit(first_, request);
  EXPECT_EQ(ErrorReason(first_.WaitForEnd().status), "PROFILE_DENIED");
  // The profile "narrow" has only a language that isn't here.
  Submit(second_, GoodRequest());
  EXPECT_THAT(std::string(second_.WaitForEnd().status.message()),
              HasSubstr("profile narrow does not allow bash"));

  tenant = {};
  tenant.budgets.hour.most[policy::Resource::kRuns] = 2;
  policy.Set(std::make_shared<const PolicySet>(WithTenant(tenant)));
  dispatcher().FollowTenants();
  for (int i = 0; i < 3; ++i) {
    RecordingListener listener;
    Submit(listener, GoodRequest());
    EXPECT_EQ(ErrorReason(listener.WaitForEnd().status),
              i < 2 ? "" : "TENANT_BUDGET_SPENT");
  }
}

TEST_F(DispatcherTest, ARunIsAnswered) {
  Submit(first_, GoodRequest("echo hi"));
  const RunEnd end = first_.WaitForEnd();
  ASSERT_TRUE(end.status.ok()) << end.status;
  EXPECT_EQ(end.response->outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(end.response->stdout().data(), "echo hi");
  EXPECT_EQ(end.response->language(), "bash");
  EXPECT_EQ(end.response->profile(), "default");
  EXPECT_EQ(first_.starts(), 1);
  EXPECT_EQ(first_.output(), "echo hi");
  EXPECT_TRUE(Eventually([&] { return dispatcher().idle(); }));
}

TEST_F(DispatcherTest, ABadRequestNeverReachesARun) {
  EXPECT_EQ(Submit(first_, GoodRequest("")), nullptr);
  EXPECT_EQ(first_.WaitForEnd().status.code(),
            absl::StatusCode::kInvalidArgument);
  v1::RunCodeRequest absent = GoodRequest();
  absent.set_language("absent");
  Submit(second_, absent);
  const absl::Status status = second_.WaitForEnd().status;
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("absent-runtime"));
  EXPECT_EQ(runs_.started(), 0);
}

TEST_F(DispatcherTest, OurFailureIsAnErrorAndNotAnOutcome) {
  Submit(first_, GoodRequest("fail"));
  const RunEnd end = first_.WaitForEnd();
  EXPECT_EQ(end.status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(end.status.message()), HasSubstr("mount_proc"));
}

TEST_F(DispatcherTest, TheLastCallToLeaveEndsTheRun) {
  const auto run = Occupy(first_);
  EXPECT_TRUE(dispatcher().Leave(run, &first_));
  EXPECT_TRUE(Eventually([&] { return dispatcher().idle(); }));
  EXPECT_EQ(first_.ends(), 0u);
  EXPECT_FALSE(dispatcher().Leave(run, &first_));
}

TEST_F(DispatcherTest, LeavingTheQueueFreesThePlaceAtOnce) {
  Occupy(first_);
  const auto waiting = Submit(second_, GoodRequest());
  EXPECT_EQ(dispatcher().admission().snapshot().queued, 1u);
  EXPECT_TRUE(dispatcher().Leave(waiting, &second_));
  EXPECT_EQ(dispatcher().admission().snapshot().queued, 0u);
  EXPECT_EQ(runs_.started(), 1);
}

TEST_F(DispatcherTest, NoRunIsCancelledWithoutAReason) {
  v1::RunCodeRequest request = GoodRequest();
  request.set_code("stray");
  Submit(first_, request);
  const absl::Status status = first_.WaitForEnd().status;
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ErrorReason(status), "SANDBOX_UNAVAILABLE");
  EXPECT_EQ(status.message(), "nobody waits for it");
}

TEST_F(DispatcherTest, CancelRunAnswersTheWaitingCall) {
  const auto running = Occupy(first_);
  const auto waiting = Submit(second_, GoodRequest());
  const auto before = dispatcher().Cancel(User(1), waiting->id());
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->state(), v1::RUN_STATE_FINISHED);
  EXPECT_EQ(second_.WaitForEnd().response->outcome(), v1::OUTCOME_CANCELLED);
  ASSERT_TRUE(dispatcher().Cancel(User(1), running->id()).ok());
  EXPECT_EQ(first_.WaitForEnd().response->outcome(), v1::OUTCOME_CANCELLED);
  // A finished run, and somebody else's.
  EXPECT_TRUE(dispatcher().Cancel(User(1), running->id()).ok());
  EXPECT_EQ(dispatcher().Cancel(User(2), running->id()).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(DispatcherTest, TheQueueHasATimeLimit) {
  options_.admission.queue_timeout = absl::Milliseconds(20);
  Occupy(first_);
  Submit(second_, GoodRequest());
  const RunEnd end = second_.WaitForEnd();
  EXPECT_EQ(end.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(end.status.message()), HasSubstr("waited"));
}

TEST_F(DispatcherTest, TheDeadlineLessAMarginIsACeilingOfTheWallTime) {
  Submit(first_, GoodRequest(), Now() + std::chrono::seconds(5));
  const RunEnd end = first_.WaitForEnd();
  ASSERT_TRUE(end.status.ok()) << end.status;
  ASSERT_EQ(runs_.limits().size(), 1u);
  EXPECT_LE(runs_.limits()[0].wall_time, absl::Milliseconds(4500));
  EXPECT_GT(runs_.limits()[0].wall_time, absl::Seconds(3));
  EXPECT_LE(end.response->limits().wall_time().seconds(), 4);
}

TEST_F(DispatcherTest, ADeadlineTooShortToStartSaysSo) {
  Submit(first_, GoodRequest(), Now() + std::chrono::milliseconds(50));
  const RunEnd end = first_.WaitForEnd();
  EXPECT_EQ(end.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(runs_.started(), 0);
}

TEST_F(DispatcherTest, ARepeatedRequestRunsOnce) {
  v1::RunCodeRequest request = GoodRequest("wait");
  request.set_request_id("id");
  Submit(first_, request);
  Submit(second_, request);
  EXPECT_TRUE(Eventually([&] { return runs_.started() == 1; }));
  runs_.Release();
  EXPECT_FALSE(first_.WaitForEnd().joined);
  EXPECT_TRUE(second_.WaitForEnd().joined);
  EXPECT_EQ(second_.WaitForEnd().response->run_id(),
            first_.WaitForEnd().response->run_id());
  RecordingListener third;
  EXPECT_EQ(Submit(third, request), nullptr);
  EXPECT_TRUE(third.WaitForEnd().joined);
  EXPECT_EQ(runs_.started(), 1);
  request.set_code("other");
  RecordingListener fourth;
  Submit(fourth, request);
  EXPECT_EQ(fourth.WaitForEnd().status.code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(DispatcherTest, ShutdownStopsRunsAndAnswersAll) {
  Occupy(first_);
  Submit(second_, GoodRequest());
  dispatcher().Shutdown();
  EXPECT_EQ(first_.WaitForEnd().response->outcome(), v1::OUTCOME_SHUTDOWN);
  EXPECT_EQ(second_.WaitForEnd().status.code(), absl::StatusCode::kUnavailable);
  RecordingListener late;
  EXPECT_EQ(Submit(late, GoodRequest()), nullptr);
  EXPECT_EQ(late.WaitForEnd().status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(DispatcherTest, ManyCallsThatComeAndGoLeaveNothing) {
  options_.admission.max_running = 4;
  options_.admission.max_queued = 1000;
  std::vector<std::unique_ptr<RecordingListener>> listeners;
  listeners.reserve(200);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 200; ++i) {
    listeners.push_back(std::make_unique<RecordingListener>());
  }
  dispatcher();
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; i < 200; i += 4) {
        const bool leaves = i % 3 == 0;
        RecordingListener& listener = *listeners[i];
        const auto run =
            Submit(listener, GoodRequest(leaves ? "wait" : "echo hi"));
        if (leaves) {
          EXPECT_TRUE(run != nullptr && dispatcher().Leave(run, &listener));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Eventually([&] { return dispatcher().idle(); }));
  for (int i = 0; i < 200; ++i) {
    // A run is filed as finished just before its listeners hear of it.
    const size_t ends = i % 3 == 0 ? 0 : 1;
    EXPECT_TRUE(Eventually([&] { return listeners[i]->ends() == ends; })) << i;
  }
  EXPECT_EQ(dispatcher().admission().snapshot().memory_reserved_bytes, 0u);
}

}  // namespace
}  // namespace sandglass::server
