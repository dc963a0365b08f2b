// The thread that waits for many at once.

#include "server/base/event_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

TEST(EventLoop, DoesWhatIsPostedInOrder) {
  std::vector<int> done;
  {
    EventLoop loop;
    ASSERT_TRUE(loop.Start().ok());
    for (int i = 0; i < 1000; ++i) {
      loop.Post([&done, &loop, i] {
        done.push_back(i);
        if (i == 999) loop.Post([&done] { done.push_back(1000); });
      });
    }
  }
  // Its end waits for all of it.
  ASSERT_EQ(done.size(), 1001u);
  for (int i = 0; i <= 1000; ++i) EXPECT_EQ(done[i], i);
}

TEST(EventLoop, TasksComeFromManyThreads) {
  std::atomic<int> count = 0;
  {
    EventLoop loop;
    ASSERT_TRUE(loop.Start().ok());
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 1000; ++j) loop.Post([&] { ++count; });
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(count, 4000);
}

TEST(EventLoop, CallsInTheOrderOfTime) {
  std::string order;
  absl::Notification last;
  EventLoop loop;
  ASSERT_TRUE(loop.Start().ok());
  loop.Post([&] {
    const MonotonicTime now = Now();
    loop.CallAt(After(now, absl::Milliseconds(40)), [&] {
      order += 'c';
      last.Notify();
    });
    loop.CallAt(After(now, absl::Milliseconds(20)), [&] { order += 'b'; });
    const uint64_t never =
        loop.CallAt(After(now, absl::Milliseconds(10)), [&] { order += 'x'; });
    loop.CallAt(now, [&, never] {
      order += 'a';
      loop.Cancel(never);
      loop.Cancel(never);
    });
  });
  ASSERT_TRUE(last.WaitForNotificationWithTimeout(kPatience));
  EXPECT_EQ(order, "abc");
}

TEST(EventLoop, WatchesUntilItForgets) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  int seen = 0;
  absl::Notification twice;
  {
    EventLoop loop;
    ASSERT_TRUE(loop.Start().ok());
    loop.Post([&] {
      auto watch = std::make_shared<uint64_t>(0);
      *watch = loop.Watch(pipe[0], EPOLLIN, [&, watch](uint32_t events) {
        EXPECT_NE(events & EPOLLIN, 0u);
        char byte;
        EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
        if (++seen < 2) return;
        loop.Forget(*watch);
        twice.Notify();
      });
      EXPECT_NE(*watch, 0u);
      EXPECT_EQ(loop.Watch(-1, EPOLLIN, [](uint32_t) {}), 0u);
    });
    ASSERT_EQ(::write(pipe[1], "abc", 3), 3);
    ASSERT_TRUE(twice.WaitForNotificationWithTimeout(kPatience));
  }
  EXPECT_EQ(seen, 2);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace sandglass::server
