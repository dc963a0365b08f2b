#include "sandbox/jail/socket_watch.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sandbox/os/asked_calls.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/io.h"

namespace sandglass::sandbox {
namespace {

constexpr int kMaxEvents = 32;
constexpr uint64_t kStop = 0;  // no listener has this number
// Of a jail that has asked too much.
constexpr absl::Duration kPause = absl::Milliseconds(20);

}  // namespace

bool SocketWatch::Listener::EndUnused() {
  const absl::MutexLock lock(&mutex_);
  ended_ = true;
  return !used_;
}

SocketWatch::Listener::Answered SocketWatch::Listener::Answer(absl::Time now) {
  const absl::MutexLock lock(&mutex_);
  if (ended_) return Answered::kNoMore;
  left_ = std::min<double>(
      kBurst, left_ + absl::ToDoubleSeconds(now - counted_) * kPerSecond);
  counted_ = now;
  if (left_ < 1) return Answered::kLater;
  --left_;
  // ORDER: before the call can have any effect.
  used_ = true;
  // Receiving blocks while there is no question.
  struct pollfd asked = {fd_.get(), POLLIN, 0};
  os::AskedCall call;
  if (::poll(&asked, 1, 0) == 1 && (asked.revents & POLLIN) != 0 &&
      os::ReceiveCall(fd_, call)) {
    (void)os::AllowCall(fd_, call);
  }
  return Answered::kYes;
}

SocketWatch& SocketWatch::Shared() {
  static auto& watch = *new SocketWatch;
  return watch;
}

SocketWatch::SocketWatch()
    : poll_(::epoll_create1(EPOLL_CLOEXEC)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = kStop}};
  (void)::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, stop_.get(), &event);
}

void SocketWatch::Start() {
  absl::MutexLock one_at_a_time(&starting_);
  if (thread_.joinable()) return;
  thread_ = std::thread([this] { Work(); });
}

void SocketWatch::Stop() {
  absl::MutexLock one_at_a_time(&starting_);
  if (!thread_.joinable()) return;
  uint64_t count = 1;
  (void)!::write(stop_.get(), &count, sizeof(count));
  thread_.join();
  (void)!::read(stop_.get(), &count, sizeof(count));
}

std::shared_ptr<SocketWatch::Listener> SocketWatch::Watch(os::Fd listener) {
  const int fd = listener.get();
  std::shared_ptr<Listener> watched;
  {
    const absl::MutexLock lock(&mutex_);
    const uint64_t id = next_id_++;
    watched = std::make_shared<Listener>(*this, id, std::move(listener));
    listeners_[id] = watched;
  }
  struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = watched->id_}};
  if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return nullptr;
  return watched;
}

std::shared_ptr<SocketWatch::Listener> SocketWatch::Find(uint64_t id) {
  const absl::MutexLock lock(&mutex_);
  const auto found = listeners_.find(id);
  return found == listeners_.end() ? nullptr : found->second.lock();
}

void SocketWatch::Forget(uint64_t id) {
  const absl::MutexLock lock(&mutex_);
  listeners_.erase(id);
}

void SocketWatch::Report(const Listener& listener, bool questions) const {
  struct epoll_event event = {.events = questions ? EPOLLIN : 0u,
                              .data = {.u64 = listener.id_}};
  (void)::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, listener.fd_.get(), &event);
}

void SocketWatch::Serve(const std::shared_ptr<Listener>& listener,
                        uint32_t events) {
  const absl::Time now = os::SteadyNow();
  Listener::Answered answered = Listener::Answered::kYes;
  if ((events & EPOLLIN) != 0) answered = listener->Answer(now);
  if (answered == Listener::Answered::kLater) {
    Report(*listener, false);
    waiting_.emplace(now + kPause, listener);
  }
  // Its processes are gone, or what they ask stays open: without this the same
  // would be reported for ever.
  if (answered == Listener::Answered::kNoMore ||
      ((events & EPOLLIN) == 0 && (events & EPOLLHUP) != 0)) {
    (void)::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, listener->fd_.get(), nullptr);
  }
}

void SocketWatch::Work() {
  struct epoll_event events[kMaxEvents];
  for (;;) {
    int wait_ms = -1;
    for (absl::Time now = os::SteadyNow(); !waiting_.empty();) {
      const auto next = waiting_.begin();
      if (next->first > now) {
        wait_ms =
            1 + static_cast<int>(absl::ToInt64Milliseconds(next->first - now));
        break;
      }
      const std::shared_ptr<Listener> listener = next->second.lock();
      if (listener != nullptr) Report(*listener, true);
      waiting_.erase(next);
    }
    const int count = ::epoll_wait(poll_.get(), events, kMaxEvents, wait_ms);
    if (count < 0 && errno != EINTR) ::usleep(os::kShortagePauseMicros);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 == kStop) return;
      const std::shared_ptr<Listener> listener = Find(events[i].data.u64);
      if (listener != nullptr) Serve(listener, events[i].events);
    }
  }
}

}  // namespace sandglass::sandbox
