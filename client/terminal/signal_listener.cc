#include "client/terminal/signal_listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"

namespace sandglass::client {

absl::StatusOr<std::unique_ptr<SignalListener>> SignalListener::Start(
    absl::Span<const int> signals, Handler handler) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : signals) {
    struct sigaction action = {};
    // An ignored signal that is blocked would become pending nevertheless.
    if (sigaction(number, nullptr, &action) == 0 &&
        action.sa_handler != SIG_IGN) {
      sigaddset(&wanted, number);
    }
  }
  sigset_t old_mask;
  const int error = pthread_sigmask(SIG_BLOCK, &wanted, &old_mask);
  if (error != 0) return absl::ErrnoToStatus(error, "cannot block signals");
  UniqueFd source(signalfd(-1, &wanted, SFD_CLOEXEC));
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!source.valid() || !stop.valid()) {
    return absl::ErrnoToStatus(errno, "cannot watch for signals");
  }
  return absl::WrapUnique(new SignalListener(
      std::move(handler), std::move(source), std::move(stop), old_mask));
}

SignalListener::SignalListener(Handler handler, UniqueFd signals, UniqueFd stop,
                               const sigset_t& old_mask)
    : handler_(std::move(handler)),
      signals_(std::move(signals)),
      stop_(std::move(stop)),
      old_mask_(old_mask),
      thread_([this] { Loop(); }) {}

SignalListener::~SignalListener() {
  // An eventfd with the value 0 accepts 1 without blocking, so this can't fail.
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

void SignalListener::Loop() {
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
    handler_(static_cast<int>(info.ssi_signo));
  }
}

}  // namespace sandglass::client
