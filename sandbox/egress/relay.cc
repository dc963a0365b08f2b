#include "sandbox/egress/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "sandbox/os/clocks.h"
#include "sandbox/os/status.h"

namespace sandglass::egress {
namespace {

// The size of a pipe between two sockets. Beyond pipe-user-pages-soft (pipe(7))
// the kernel gives less.
constexpr int kPipeBytes = 1 << 20;
constexpr int kMaxMoves = 16;

// Moves bytes in one direction.
class Pump {
 public:
  Pump(int from, int to, bool (Lease::*spend)(uint64_t))
      : from_(from), to_(to), spend_(spend) {}

  absl::Status Open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
      return os::ErrnoStatus("pipe");
    }
    out_.reset(ends[0]);
    in_.reset(ends[1]);
    (void)::fcntl(in_.get(), F_SETPIPE_SZ, kPipeBytes);
    return absl::OkStatus();
  }

  bool done() const { return done_; }
  bool moved() { return std::exchange(moved_, false); }

  // Adds the event that it waits for, of `from` or of `to`.
  void AddWish(pollfd& from, pollfd& to) const {
    if (done_) return;
    if (held_ == 0) {
      from.events |= POLLIN;
    } else {
      to.events |= POLLOUT;
    }
  }

  // Moves what can be moved without waiting.
  absl::Status Move(Lease& lease) {
    // Only some at a time, so that the other direction, and the end of the
    // jail, get their turn.
    for (int i = 0; i < kMaxMoves && !done_; ++i) {
      if (held_ == 0) {
        const ssize_t size = Receive();
        if (size < 0) return Waits() ? absl::OkStatus() : Error();
        if (size == 0) {
          ::shutdown(to_, SHUT_WR);
          done_ = moved_ = true;
          break;
        }
        if (!(lease.*spend_)(static_cast<uint64_t>(size))) {
          return absl::ResourceExhaustedError(kUsedUp);
        }
        held_ = static_cast<size_t>(size);
      }
      const ssize_t size = Splice(out_.get(), to_, held_);
      if (size < 0) return Waits() ? absl::OkStatus() : Error();
      held_ -= static_cast<size_t>(size);
      moved_ = true;
    }
    return absl::OkStatus();
  }

 private:
  // Moves bytes into the pipe. splice(2) stops before urgent data and then
  // finds nothing, while poll(2) says that there is some; recv(2) takes urgent
  // data in its place in the stream (SO_OOBINLINE).
  ssize_t Receive() {
    const ssize_t spliced = Splice(from_, in_.get(), kPipeBytes);
    if (spliced >= 0 || errno != EAGAIN) return spliced;
    std::array<char, 256> few;  // a pipe always has room for this much
    const ssize_t size = ::recv(from_, few.data(), few.size(), MSG_DONTWAIT);
    if (size <= 0) return size;
    return ::write(in_.get(), few.data(), static_cast<size_t>(size));
  }
  static ssize_t Splice(int from, int to, size_t size) {
    return ::splice(from, nullptr, to, nullptr, size,
                    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  }
  static bool Waits() { return errno == EAGAIN || errno == EINTR; }
  static absl::Status Error() { return os::ErrnoStatus("splice"); }

  const int from_;
  const int to_;
  bool (Lease::*const spend_)(uint64_t);
  os::Fd in_;
  os::Fd out_;
  size_t held_ = 0;  // bytes in the pipe
  bool moved_ = false;
  bool done_ = false;
};

}  // namespace

absl::Status Relay(Lease& lease, int program, int upstream) {
  Pump up(program, upstream, &Lease::SpendUp);
  Pump down(upstream, program, &Lease::SpendDown);
  for (Pump* pump : {&up, &down}) {
    if (absl::Status opened = pump->Open(); !opened.ok()) return opened;
  }
  absl::Time last = os::SteadyNow();
  for (;;) {
    for (Pump* pump : {&up, &down}) {
      if (absl::Status moved = pump->Move(lease); !moved.ok()) return moved;
    }
    if (up.done() && down.done()) return absl::OkStatus();
    const absl::Time now = os::SteadyNow();
    const bool sent = up.moved();
    if (down.moved() || sent) last = now;
    const absl::Time until = last + lease.limits().idle;
    if (now >= until) {
      return absl::DeadlineExceededError("nobody said anything for too long");
    }
    pollfd fds[] = {
        {program, 0, 0}, {upstream, 0, 0}, {lease.patience().ended, POLLIN, 0}};
    up.AddWish(fds[0], fds[1]);
    down.AddWish(fds[1], fds[0]);
    // poll(2) would report a hangup on a socket from which nobody wants
    // anything for ever.
    for (int i : {0, 1}) {
      if (fds[i].events == 0) fds[i].fd = -1;
    }
    if (::poll(fds, 3, PollTimeout(until)) < 0 && errno != EINTR) {
      return os::ErrnoStatus("poll");
    }
    if (fds[2].revents != 0) return absl::CancelledError("the jail has ended");
  }
}

}  // namespace sandglass::egress
