#include "sandbox/jail/socket_watch.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/os/asked_calls.h"
#include "sandbox/os/io.h"

namespace sandglass::sandbox {
namespace {

constexpr int kMaxEvents = 32;
constexpr uint64_t kStop = 0;  // no listener has this number

}  // namespace

bool SocketWatch::Listener::EndUnused() {
  const absl::MutexLock lock(&mutex_);
  ended_ = true;
  return !used_;
}

bool SocketWatch::Listener::Answer() {
  const absl::MutexLock lock(&mutex_);
  if (ended_) return false;
  // ORDER: before the call can have any effect.
  used_ = true;
  // Receiving blocks while there is no question.
  struct pollfd asked = {fd_.get(), POLLIN, 0};
  os::AskedCall call;
  if (::poll(&asked, 1, 0) == 1 && (asked.revents & POLLIN) != 0 &&
      os::ReceiveCall(fd_, call)) {
    (void)os::AllowCall(fd_, call);
  }
  return true;
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
  if (thread_.joinable()) return;
  thread_ = std::thread([this] { Work(); });
}

void SocketWatch::Stop() {
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

void SocketWatch::Work() {
  struct epoll_event events[kMaxEvents];
  for (;;) {
    const int count = ::epoll_wait(poll_.get(), events, kMaxEvents, -1);
    if (count < 0 && errno != EINTR) ::usleep(os::kShortagePauseMicros);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 == kStop) return;
      const std::shared_ptr<Listener> listener = Find(events[i].data.u64);
      if (listener == nullptr) continue;
      if ((events[i].events & EPOLLIN) != 0 && listener->Answer()) continue;
      // Its processes are gone, or what they ask stays open: without this the
      // same would be reported for ever.
      (void)::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, listener->fd_.get(),
                        nullptr);
    }
  }
}

}  // namespace sandglass::sandbox
