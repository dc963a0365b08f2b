#include "server/edge/socket_tap.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "sandbox/os/fd.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

// All zero before any constructor runs.
std::array<std::atomic<ConnectionTap*>, kMaxTapped> taps;

// Calls with more than a few control bytes don't come from gRPC: these pass
// descriptors.
constexpr size_t kMaxControlBytes = 256;

ConnectionTap* TapOf(int fd, const msghdr* message) {
  if (fd < 0 || fd >= kMaxTapped) return nullptr;
  ConnectionTap* const tap = taps[static_cast<size_t>(fd)].load();
  if (tap == nullptr || message == nullptr || message->msg_name != nullptr ||
      message->msg_controllen > kMaxControlBytes) {
    return nullptr;
  }
  return tap;
}

template <typename Function>
Function NextOf(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

void SetTap(int fd, ConnectionTap* tap) {
  if (fd >= 0 && fd < kMaxTapped) taps[static_cast<size_t>(fd)].store(tap);
}

absl::Status CheckTaps(const std::function<void(int fd)>& serve) {
  constexpr absl::Duration kWait = absl::Seconds(10);
  constexpr absl::Duration kStep = absl::Milliseconds(1);
  // The preface and an empty SETTINGS frame.
  constexpr std::string_view kHello(
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   ends) != 0) {
    return absl::UnavailableError(
        absl::StrCat("socketpair: ", ErrorText(errno)));
  }
  os::Fd served(ends[0]);
  const os::Fd client(ends[1]);
  const int fd = served.get();
  // These are never freed, since gRPC may still be using them when this
  // returns.
  static RequestRoom room(1 << 20);
  static auto* const tap = new ConnectionTap(room, "start", 1 << 20);
  SetTap(fd, tap);
  serve(served.release());
  bool seen = ::send(client.get(), kHello.data(), kHello.size(),
                     MSG_NOSIGNAL) == static_cast<ssize_t>(kHello.size());
  if (seen) {
    ConnectionTap::State state;
    for (absl::Duration waited; waited < kWait; waited += kStep) {
      state = tap->state();
      if (state.speaks && state.sent_bytes > 0) break;
      absl::SleepFor(kStep);
    }
    seen = state.speaks && state.sent_bytes > 0;
  }
  SetTap(fd, nullptr);
  if (seen) return absl::OkStatus();
  return absl::UnavailableError(
      "the gRPC library doesn't read and write its connections as this program "
      "needs it (with recvmsg and sendmsg of the C library, as gRPC 1.51 "
      "does), "
      "so that it can't bound what a caller's requests take; use the library "
      "that it was built with");
}

}  // namespace sandglass::server

extern "C" {

__attribute__((visibility("default"))) ssize_t recvmsg(int fd, msghdr* message,
                                                       int flags) {
  using sandglass::server::ConnectionTap;
  static const auto next =
      sandglass::server::NextOf<ConnectionTap::Receiver>("recvmsg");
  ConnectionTap* const tap = sandglass::server::TapOf(fd, message);
  return tap == nullptr ? next(fd, message, flags)
                        : tap->Receive(next, fd, message, flags);
}

__attribute__((visibility("default"))) ssize_t sendmsg(int fd,
                                                       const msghdr* message,
                                                       int flags) {
  using sandglass::server::ConnectionTap;
  static const auto next =
      sandglass::server::NextOf<ConnectionTap::Sender>("sendmsg");
  ConnectionTap* const tap = sandglass::server::TapOf(fd, message);
  return tap == nullptr ? next(fd, message, flags)
                        : tap->Send(next, fd, message, flags);
}

}  // extern "C"
