#include "server/base/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "sandbox/os/io.h"
#include "sandbox/os/status.h"

namespace sandglass::server {
namespace {

constexpr uint64_t kWake = 0;  // no watch has this number
constexpr int kMaxEventsAtOnce = 64;
constexpr int64_t kLongestWaitMs = 60'000;

}  // namespace

EventLoop::~EventLoop() {
  if (!thread_.joinable()) return;
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

absl::Status EventLoop::Start() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_.valid() || !wake_.valid() || !Add(wake_.get(), EPOLLIN, kWake)) {
    return os::ErrnoStatus("make an event loop");
  }
  thread_ = std::thread([this] { Loop(); });
  return absl::OkStatus();
}

void EventLoop::Post(Task task) {
  bool first = false;
  {
    absl::MutexLock lock(&mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(task));
  }
  if (first) ::eventfd_write(wake_.get(), 1);
}

uint64_t EventLoop::Watch(int fd, uint32_t events, Watcher watcher) {
  const uint64_t watch = next_watch_++;
  const bool added = Add(fd, events, watch);
  // When the kernel has no room for it now, the descriptor is watched a little
  // later.
  if (!added && !os::IsShortage(errno)) return 0;
  watched_[watch] = {fd, std::move(watcher)};
  if (!added) AddLater(events, watch);
  return watch;
}

bool EventLoop::Add(int fd, uint32_t events, uint64_t watch) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = watch;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void EventLoop::AddLater(uint32_t events, uint64_t watch) {
  constexpr absl::Duration kPause = absl::Milliseconds(10);
  CallAt(After(Now(), kPause), [this, events, watch] {
    const auto found = watched_.find(watch);
    if (found == watched_.end() || Add(found->second.fd, events, watch)) return;
    AddLater(events, watch);
  });
}

void EventLoop::Forget(uint64_t watch) {
  const auto found = watched_.find(watch);
  if (found == watched_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.fd, nullptr);
  watched_.erase(found);
}

uint64_t EventLoop::CallAt(MonotonicTime when, std::function<void()> call) {
  const uint64_t timer = next_timer_++;
  timers_[{when, timer}] = std::move(call);
  timer_times_[timer] = when;
  return timer;
}

void EventLoop::Cancel(uint64_t timer) {
  const auto found = timer_times_.find(timer);
  if (found == timer_times_.end()) return;
  timers_.erase({found->second, timer});
  timer_times_.erase(found);
}

void EventLoop::Loop() {
  while (DoPosted()) {
    DoTimers();
    Wait();
  }
}

bool EventLoop::DoPosted() {
  std::vector<Task> tasks;
  bool ending = false;
  {
    absl::MutexLock lock(&mutex_);
    tasks.swap(posted_);
    ending = ending_;
  }
  for (Task& task : tasks) std::move(task)();
  return !ending || !tasks.empty();
}

void EventLoop::DoTimers() {
  // Timers that these calls add come in the next round at the earliest.
  const uint64_t known = next_timer_;
  const MonotonicTime now = Now();
  while (!timers_.empty()) {
    const auto first = timers_.begin();
    if (first->first.first > now || first->first.second >= known) return;
    const std::function<void()> call = std::move(first->second);
    timer_times_.erase(first->first.second);
    timers_.erase(first);
    call();
  }
}

void EventLoop::Wait() {
  int timeout_ms = -1;
  if (!timers_.empty()) {
    const int64_t left = std::max<int64_t>(
        0,
        absl::ToInt64Nanoseconds(Between(Now(), timers_.begin()->first.first)));
    // Rounded up, so that the loop doesn't spin during the last millisecond.
    timeout_ms = static_cast<int>(
        std::min(kLongestWaitMs, (left + 999'999) / 1'000'000));
  }
  {
    absl::MutexLock lock(&mutex_);
    if (!posted_.empty() || ending_) timeout_ms = 0;
  }
  epoll_event events[kMaxEventsAtOnce];
  const int count =
      ::epoll_wait(epoll_.get(), events, kMaxEventsAtOnce, timeout_ms);
  for (int i = 0; i < count; ++i) {
    if (events[i].data.u64 == kWake) {
      eventfd_t ignored;
      ::eventfd_read(wake_.get(), &ignored);
      continue;
    }
    // A watcher that was called before may have forgotten this one.
    const auto found = watched_.find(events[i].data.u64);
    if (found == watched_.end()) continue;
    const Watcher watcher = found->second.watcher;
    watcher(events[i].events);
  }
}

}  // namespace sandglass::server
