#include "server/base/call_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"

namespace sandglass::server {
namespace {

// Of a caller that waits for nothing else.
CallKey Own(const std::string& what) { return {"caller of " + what, what}; }

TEST(CallThreads, TheDestructorFinishesItsTasks) {
  std::atomic<int> done{0};
  {
    CallThreads threads({.threads = 2});
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(threads.Add(Own("a"), 1, [&] { ++done; }).ok());
    }
  }
  EXPECT_EQ(done, 50);
}

// Whether a call of another key runs soon.
void ExpectRoomForAnother(CallThreads& threads) {
  const auto ran = std::make_shared<absl::Notification>();
  ASSERT_TRUE(threads.Add(Own("other"), 1, [ran] { ran->Notify(); }).ok());
  EXPECT_TRUE(ran->WaitForNotificationWithTimeout(absl::Seconds(30)));
}

TEST(CallThreads, OneKeyNeverHoldsUpAnother) {
  absl::Notification go;
  std::atomic<int> stuck{0};
  CallThreads threads({.threads = 3, .per_key = 2});
  const auto wait = [&] {
    ++stuck;
    go.WaitForNotification();
  };
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(threads.Add(Own("slow"), 1, wait).ok());
  }
  ExpectRoomForAnother(threads);
  EXPECT_LE(stuck, 2);
  go.Notify();
}

TEST(CallThreads, UrgentTasksRunWhenAllThreadsWait) {
  absl::Notification go;
  std::atomic<int> stuck{0};
  CallThreads threads({.threads = 1, .max_threads = 3, .per_key = 2});
  const absl::Cleanup let_go = [&go] { go.Notify(); };
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(threads
                    .Add(Own(absl::StrCat("slow", i % 5)), 1,
                         [&] {
                           ++stuck;
                           go.WaitForNotification();
                         })
                    .ok());
  }
  for (int i = 0; i < 500; ++i) {
    absl::Notification done;
    threads.Urgent([&] { done.Notify(); });
    ASSERT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(30)));
  }
  EXPECT_LE(stuck, 3) << "it is no thread for others";
}

TEST(CallThreads, ManyKeysThatWaitHoldUpNoOther) {
  absl::Notification go;
  std::atomic<int> stuck{0};
  CallThreads threads({.threads = 2, .per_key = 2});
  const auto wait = [&] {
    ++stuck;
    go.WaitForNotification();
  };
  for (int i = 0; i < 40; ++i) {
    const std::string key = i % 2 == 0 ? "slow" : absl::StrCat("slow", i);
    ASSERT_TRUE(threads.Add(Own(key), 1, wait).ok());
  }
  ExpectRoomForAnother(threads);
  EXPECT_LE(stuck, 22);
  go.Notify();
}

TEST(CallThreads, OneKeyDoesNotTakeAllRoom) {
  absl::Notification go;
  CallThreads threads({.threads = 1,
                       .max_threads = 1,
                       .max_waiting_bytes = 100,
                       .max_waiting_bytes_per_key = 50});
  ASSERT_TRUE(threads.Add(Own("a"), 1, [&] { go.WaitForNotification(); }).ok());
  const auto nothing = [] {};
  ASSERT_TRUE(threads.Add(Own("b"), 60, nothing).ok()) << "where none waits";
  EXPECT_TRUE(absl::IsResourceExhausted(threads.Add(Own("b"), 1, nothing)));
  ASSERT_TRUE(threads.Add(Own("c"), 30, nothing).ok());
  go.Notify();
}

TEST(CallThreads, RefusesTasksBeyondItsBounds) {
  absl::Notification go;
  absl::Notification running;
  CallThreads threads({.threads = 1,
                       .max_threads = 1,
                       .per_key = 1,
                       .max_waiting = 4,
                       .max_waiting_per_key = 2,
                       .max_waiting_bytes = 100});
  ASSERT_TRUE(threads
                  .Add(Own("a"), 1000,
                       [&] {
                         running.Notify();
                         go.WaitForNotification();
                       })
                  .ok())
      << "one that is too large for the bound waits alone";
  running.WaitForNotification();
  const auto nothing = [] {};
  EXPECT_TRUE(threads.Add(Own("a"), 60, nothing).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(threads.Add(Own("b"), 60, nothing)))
      << "bytes";
  EXPECT_TRUE(threads.Add(Own("a"), 10, nothing).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(threads.Add(Own("a"), 1, nothing)))
      << "of one key";
  EXPECT_TRUE(threads.Add(Own("b"), 1, nothing).ok());
  EXPECT_TRUE(threads.Add(Own("c"), 1, nothing).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(threads.Add(Own("d"), 1, nothing)))
      << "of all";
  // What was let in goes on.
  std::atomic<bool> went_on{false};
  threads.Continue(Own("a"), [&] { went_on = true; });
  absl::Notification last;
  threads.Continue(Own("a"), [&] { last.Notify(); });
  go.Notify();
  EXPECT_TRUE(last.WaitForNotificationWithTimeout(absl::Seconds(30)));
  EXPECT_TRUE(went_on);
}

// A caller with many sessions has no more threads than leave some for others,
// and no more that waits.
TEST(CallThreads, OneCallersManyKeysHoldUpNoOther) {
  absl::Notification go;
  std::atomic<int> stuck{0};
  CallThreads threads({.threads = 1,
                       .max_threads = 8,
                       .per_key = 1,
                       .max_waiting = 40,
                       .max_waiting_bytes = 1000});
  const absl::Cleanup let_go = [&go] { go.Notify(); };
  absl::Status refused;
  int added = 0;
  while (refused.ok() && added < 1000) {
    refused = threads.Add({"greedy", absl::StrCat("session ", added)}, 1, [&] {
      ++stuck;
      go.WaitForNotification();
    });
    if (refused.ok()) ++added;
  }
  EXPECT_LE(added, 38) << "8 of 8 threads and 30 of 40 that wait, at most";
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_NE(refused.message().find("calls of greedy"), std::string::npos)
      << refused;
  ExpectRoomForAnother(threads);
  EXPECT_LE(stuck, 6);
  EXPECT_TRUE(absl::IsResourceExhausted(
      threads.Add({"greedy", "another session"}, 900, [] {})));
}

TEST(CallThreads, TasksOfOneKeyBeginInTheirOrder) {
  std::string order;
  {
    CallThreads threads({.threads = 4, .per_key = 1});
    for (char c = 'a'; c <= 'z'; ++c) {
      ASSERT_TRUE(threads.Add(Own("k"), 1, [&order, c] { order += c; }).ok());
    }
  }
  EXPECT_EQ(order, "abcdefghijklmnopqrstuvwxyz");
}

}  // namespace
}  // namespace sandglass::server
