#include "client/interrupt_watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "client/exit_codes.h"

namespace sandglass::client {

absl::StatusOr<std::unique_ptr<InterruptWatcher>> InterruptWatcher::Start() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    // An ignored signal that is blocked would become pending all the same.
    if (sigaction(number, nullptr, &action) == 0 &&
        action.sa_handler != SIG_IGN) {
      sigaddset(&wanted, number);
    }
  }
  sigset_t old_mask;
  const int error = pthread_sigmask(SIG_BLOCK, &wanted, &old_mask);
  if (error != 0) return absl::ErrnoToStatus(error, "cannot block signals");
  UniqueFd signals(signalfd(-1, &wanted, SFD_CLOEXEC));
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!signals.valid() || !stop.valid()) {
    return absl::ErrnoToStatus(errno, "cannot watch for signals");
  }
  return absl::WrapUnique(
      new InterruptWatcher(std::move(signals), std::move(stop), old_mask));
}

InterruptWatcher::InterruptWatcher(UniqueFd signals, UniqueFd stop,
                                   const sigset_t& old_mask)
    : signals_(std::move(signals)),
      stop_(std::move(stop)),
      old_mask_(old_mask),
      thread_([this] { Loop(); }) {}

InterruptWatcher::~InterruptWatcher() {
  // An eventfd at 0 takes 1 without blocking, so this cannot fail.
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

void InterruptWatcher::Watch(grpc::ClientContext* call) {
  absl::MutexLock lock(&mutex_);
  call_ = call;
  if (call_ != nullptr && signal_.load() != 0) call_->TryCancel();
}

void InterruptWatcher::Loop() {
  for (;;) {
    pollfd pollers[] = {{signals_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (poll(pollers, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (pollers[1].revents != 0) return;
    signalfd_siginfo info = {};
    if (read(signals_.get(), &info, sizeof(info)) !=
        static_cast<ssize_t>(sizeof(info))) {
      continue;
    }
    const int number = static_cast<int>(info.ssi_signo);
    // The main thread may be stuck in a write that nobody reads.
    if (signal_.load() != 0) _exit(kExitSignalBase + number);
    absl::MutexLock lock(&mutex_);
    signal_.store(number);
    if (call_ != nullptr) call_->TryCancel();
  }
}

}  // namespace sandglass::client
