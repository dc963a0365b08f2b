#include "server/admission/admission.h"

#include <ctime>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

AdmissionOptions Small() {
  return {.max_running = 2,
          .max_queued = 4,
          .queue_timeout = absl::Seconds(60),
          .memory_budget_bytes = 100 * kMiB,
          .overhead_bytes = 10 * kMiB};
}

TEST(Admission, HandsOutInOrderOfArrival) {
  Admission admission(Small());
  const auto first = MakeRun(User(1));
  const auto second = MakeRun(User(2));
  ASSERT_TRUE(admission.Enqueue(first).ok());
  ASSERT_TRUE(admission.Enqueue(second).ok());
  const auto a = admission.Pop();
  const auto b = admission.Pop();
  EXPECT_EQ(a->run, first);
  EXPECT_EQ(b->run, second);
  EXPECT_EQ(admission.snapshot().running, 2u);
  EXPECT_EQ(admission.snapshot().memory_reserved_bytes, 22 * kMiB);
}

TEST(Admission, RefusesAtOnceWhatCouldNeverFit) {
  Admission admission(Small());
  const absl::Status status = admission.Enqueue(MakeRun(User(1), 91 * kMiB));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(admission.Enqueue(MakeRun(User(1), 90 * kMiB)).ok());
}

TEST(Admission, AFullQueueRefusesWithARetryHint) {
  Admission admission(Small());
  for (uid_t uid = 1; uid <= 4; ++uid) {
    ASSERT_TRUE(admission.Enqueue(MakeRun(User(uid))).ok());
  }
  const absl::Status status = admission.Enqueue(MakeRun(User(5)));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(status.GetPayload("type.googleapis.com/google.rpc.RetryInfo")
                  .has_value());
}

TEST(Admission, OneCallerCannotTakeTheWholeQueue) {
  Admission admission(Small());
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(1))).ok());
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(1))).ok());
  const absl::Status status = admission.Enqueue(MakeRun(User(1)));
  EXPECT_THAT(std::string(status.message()), HasSubstr("uid:1 already has 2"));
  EXPECT_TRUE(admission.Enqueue(MakeRun(User(2))).ok());
}

TEST(Admission, WaitingRequestsHoldABoundedAmountOfData) {
  AdmissionOptions options = Small();
  options.max_queued_bytes = 1000;
  Admission admission(options);
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(1), kMiB, 800)).ok());
  EXPECT_EQ(admission.Enqueue(MakeRun(User(2), kMiB, 300)).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(admission.Enqueue(MakeRun(User(2), kMiB, 200)).ok());
}

TEST(Admission, ALargeRunAtTheHeadIsNotOvertaken) {
  Admission admission(Small());
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(1), 50 * kMiB)).ok());
  const auto large = MakeRun(User(2), 50 * kMiB);
  const auto small = MakeRun(User(3), kMiB);
  ASSERT_TRUE(admission.Enqueue(large).ok());
  ASSERT_TRUE(admission.Enqueue(small).ok());
  auto first = admission.Pop();
  std::vector<std::shared_ptr<QueuedRun>> order;
  std::thread worker([&] {
    auto next = admission.Pop();  // has to wait: 60 + 60 MiB are over 100
    order.push_back(next->run);
  });
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_EQ(admission.snapshot().queued, 2u);
  { const auto released = std::move(first->reservation); }
  worker.join();
  ASSERT_EQ(order.size(), 1u);
  EXPECT_EQ(order[0], large);
}

TEST(Admission, NeverMoreThanMaxRunning) {
  AdmissionOptions options = Small();
  options.max_running = 1;
  Admission admission(options);
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(1))).ok());
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(2))).ok());
  auto first = admission.Pop();
  std::atomic<bool> second{false};
  std::thread worker([&] {
    auto next = admission.Pop();
    second = true;
  });
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_FALSE(second);
  { const auto released = std::move(first->reservation); }
  worker.join();
  EXPECT_TRUE(second);
  EXPECT_EQ(admission.snapshot().running, 0u);
  EXPECT_EQ(admission.snapshot().memory_reserved_bytes, 0u);
}

TEST(Admission, AllSlotsOfOneCallerAreNotAllThereAre) {
  AdmissionOptions options = Small();
  options.reserve = 1;
  Admission admission(options);
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(1), 30 * kMiB)).ok());
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(1), 30 * kMiB)).ok());
  const auto first = admission.Pop();
  const auto second = admission.Pop();
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(1))).ok());
  const auto other = MakeRun(User(2));
  ASSERT_TRUE(admission.Enqueue(other).ok());
  // It came later, and this doesn't wait.
  const auto taken = admission.Pop();
  EXPECT_EQ(taken->run, other);
  EXPECT_EQ(admission.snapshot().running, 3u);
  EXPECT_EQ(admission.snapshot().queued, 1u);
}

TEST(Admission, WhatAShareIsIsSaid) {
  AdmissionOptions options = Small();
  options.max_queued_bytes = 1000;
  Admission admission(options);
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(1), kMiB, 400)).ok());
  const absl::Status bytes = admission.Enqueue(MakeRun(User(1), kMiB, 200));
  EXPECT_EQ(bytes.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(bytes.message()),
              HasSubstr("the requests of uid:1 in the queue hold 400 of the "
                        "1000 bytes that the server keeps for all"));
  EXPECT_TRUE(admission.Enqueue(MakeRun(User(2), kMiB, 300)).ok());
  // Half of all is what one caller may have.
  EXPECT_TRUE(admission.Enqueue(MakeRun(User(1), kMiB, 50)).ok());
}

TEST(Admission, HalfOfTheBytesAreOneCallers) {
  AdmissionOptions options = Small();
  options.max_queued_bytes = 1000;
  Admission admission(options);
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(1), kMiB, 250)).ok());
  EXPECT_TRUE(admission.Enqueue(MakeRun(User(1), kMiB, 250)).ok());
  EXPECT_FALSE(admission.Enqueue(MakeRun(User(1), kMiB, 1)).ok());
}

TEST(Admission, RemoveTakesOnlyWhatWaits) {
  Admission admission(Small());
  const auto run = MakeRun(User(1));
  EXPECT_FALSE(admission.Remove(run.get()));
  ASSERT_TRUE(admission.Enqueue(run).ok());
  EXPECT_TRUE(admission.Remove(run.get()));
  EXPECT_FALSE(admission.Remove(run.get()));
  EXPECT_EQ(admission.snapshot().queued, 0u);
}

TEST(Admission, OverdueRunsComeOutOfTheQueue) {
  AdmissionOptions options = Small();
  options.queue_timeout = absl::Milliseconds(30);
  Admission admission(options);
  const auto run = MakeRun(User(1));
  ASSERT_TRUE(admission.Enqueue(run).ok());
  const MonotonicTime start = Now();
  const auto overdue = admission.PopOverdue();
  EXPECT_GE(Since(start), absl::Milliseconds(25));
  ASSERT_EQ(overdue.size(), 1u);
  EXPECT_EQ(overdue[0], run);
  EXPECT_EQ(admission.snapshot().queued, 0u);
}

TEST(Admission, StopWakesWaitersAndHandsBackTheQueue) {
  Admission admission(Small());
  std::thread taker([&] { EXPECT_FALSE(admission.Pop().has_value()); });
  std::thread clock([&] { EXPECT_TRUE(admission.PopOverdue().empty()); });
  absl::SleepFor(absl::Milliseconds(10));
  admission.Stop();
  taker.join();
  clock.join();
  EXPECT_EQ(admission.Enqueue(MakeRun(User(1))).code(),
            absl::StatusCode::kUnavailable);
}

TEST(Admission, TheRetryHintGrowsWithTheQueueAndStaysWithinBounds) {
  AdmissionOptions options = Small();
  options.max_queued = 1000;
  options.max_queued_per_caller = 1000;
  Admission admission(options);
  const absl::Duration empty = admission.RetryDelay();
  EXPECT_GE(empty, absl::Milliseconds(100));
  for (int i = 0; i < 900; ++i) {
    ASSERT_TRUE(admission.Enqueue(MakeRun(User(1))).ok());
  }
  EXPECT_GT(admission.RetryDelay(), empty);
  EXPECT_LE(admission.RetryDelay(), absl::Seconds(30));
}

TEST(Admission, TheRetryHintIsTheTimeThatTheQueueNeeds) {
  Admission admission(Small());
  // Before any run has ended, one takes 200 ms; two go on at once.
  EXPECT_EQ(admission.RetryDelay(), absl::Milliseconds(100));
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(1))).ok());
  const MonotonicTime began = Now();
  {
    const auto run = admission.Pop();
    absl::SleepFor(absl::Milliseconds(100));
  }
  const absl::Duration took = Since(began);
  for (uid_t uid = 1; uid <= 4; ++uid) {
    ASSERT_TRUE(admission.Enqueue(MakeRun(User(uid))).ok());
  }
  // The run that has ended counts for a fifth.
  const absl::Duration delay = admission.RetryDelay();
  EXPECT_GE(delay, absl::Milliseconds((200 * 0.8 + 100 * 0.2) * 5 / 2));
  EXPECT_LE(delay, (absl::Milliseconds(200 * 0.8) + took * 0.2) * 5 / 2);
}

TEST(Admission, WaitingForTheNextToBeOverdueTakesNoProcessor) {
  AdmissionOptions options = Small();
  options.queue_timeout = absl::Milliseconds(300);
  Admission admission(options);
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(1))).ok());
  const auto used = [] {
    timespec time = {};
    EXPECT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
    return absl::DurationFromTimespec(time);
  };
  const absl::Duration before = used();
  EXPECT_EQ(admission.PopOverdue().size(), 1u);
  EXPECT_LT(used() - before, absl::Milliseconds(150));
}

TEST(Admission, WhoIsOverdueDoesNotWaitForTheNext) {
  AdmissionOptions options = Small();
  options.queue_timeout = absl::Seconds(1);
  Admission admission(options);
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(1))).ok());
  absl::SleepFor(absl::Milliseconds(900));
  ASSERT_TRUE(admission.Enqueue(MakeRun(User(2))).ok());
  const MonotonicTime second = Now();
  EXPECT_EQ(admission.PopOverdue().size(), 1u);
  EXPECT_LT(Since(second), absl::Milliseconds(900));
  EXPECT_EQ(admission.snapshot().queued, 1u);
}

TEST(Admission, ManyThreadsKeepTheLedgerStraight) {
  AdmissionOptions options = Small();
  options.max_running = 4;
  options.max_queued = 10'000;
  Admission admission(options);
  std::atomic<int> taken{0};
  std::atomic<int> inside{0};
  std::vector<std::thread> workers;
  workers.reserve(4);
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      while (auto admitted = admission.Pop()) {
        EXPECT_LE(++inside, 4);
        ++taken;
        --inside;
      }
    });
  }
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(admission.Enqueue(MakeRun(User(i % 10), 20 * kMiB)).ok());
  }
  EXPECT_TRUE(Eventually([&] { return taken == 1000; }));
  admission.Stop();
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(admission.snapshot().running, 0u);
  EXPECT_EQ(admission.snapshot().memory_reserved_bytes, 0u);
}

}  // namespace
}  // namespace sandglass::server
