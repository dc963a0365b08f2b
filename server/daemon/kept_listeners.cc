#include "server/daemon/kept_listeners.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"
#include "server/base/log.h"
#include "server/base/notify.h"
#include "server/base/tcp_socket.h"
#include "server/base/unix_socket.h"

namespace sandglass::server {
namespace {

// SD_LISTEN_FDS_START.
constexpr int kFirstPassed = 3;
constexpr int kMaxPassed = 16;
constexpr char kStore[] = "FDSTORE=1\nFDNAME=listen";
constexpr char kForget[] = "FDSTOREREMOVE=1\nFDNAME=listen";

// The number in an environment variable, which is removed; 0: none.
int TakeNumber(const char* variable) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  int number = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &number)) number = 0;
  ::unsetenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return number;
}

int SocketOption(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  const int got = ::getsockopt(fd, SOL_SOCKET, option, &value, &size);
  return got == 0 ? value : -1;
}

bool Listens(int fd) {
  return SocketOption(fd, SO_ACCEPTCONN) == 1 &&
         SocketOption(fd, SO_TYPE) == SOCK_STREAM;
}

}  // namespace

KeptListeners KeptListeners::FromServiceManager() {
  KeptListeners listeners;
  const bool for_us = TakeNumber("LISTEN_PID") == ::getpid();
  const int count = std::min(TakeNumber("LISTEN_FDS"), kMaxPassed);
  ::unsetenv("LISTEN_FDNAMES");  // NOLINT(concurrency-mt-unsafe)
  for (int i = 0; for_us && i < count; ++i) {
    const int fd = kFirstPassed + i;
    if (!Listens(fd)) continue;
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    listeners.kept_.emplace_back(fd);
  }
  return listeners;
}

absl::Status KeptListeners::Open() {
  absl::StatusOr<std::pair<os::Fd, os::Fd>> ends = os::SeqPacketPair();
  if (!ends.ok()) return ends.status();
  receiving_ = std::move(ends->first);
  sending_ = std::move(ends->second);
  return absl::OkStatus();
}

bool KeptListeners::Collect() {
  while (receiving_.valid()) {
    absl::StatusOr<os::Packet> packet =
        os::ReceivePacket(receiving_.get(), os::Wait::kNo);
    if (!packet.ok()) break;
    // It listens elsewhere than before.
    if (!packet->fds.empty()) kept_ = std::move(packet->fds);
  }
  return !kept_.empty();
}

void KeptListeners::Release() {
  (void)Collect();
  kept_.clear();
}

void KeptListeners::Forget() {
  Release();
  NotifyServiceManager(kForget);
}

void KeptListeners::CloseOthers() {
  receiving_.reset();
  std::vector<int> ours;
  for (const os::Fd& listener : kept_) ours.push_back(listener.get());
  if (sending_.valid()) ours.push_back(sending_.get());
  std::sort(ours.begin(), ours.end());
  os::CloseAllBut(ours);
}

os::Fd KeptListeners::Take(const ListenAddress& address) {
  os::Fd found;
  bool forgotten = false;
  for (os::Fd& listener : kept_) {
    const bool fits = address.unix_path.empty()
                          ? ListensOnTcp(listener, address.tcp_address)
                          : ListensOnUnix(listener, address.unix_path);
    if (fits && !found.valid()) {
      found = std::move(listener);
      continue;
    }
    Log(LogLevel::kWarning, "socket_not_used",
        {{"because",
          "a socket that the service manager or the supervisor keeps doesn't "
          "listen where the configuration says"},
         {"listen", address.ToString()}});
    forgotten = true;
  }
  kept_.clear();
  // All have the same name there, so the one that fits has to be kept anew.
  if (forgotten) NotifyServiceManager(kForget);
  taken_ = found.valid() && !forgotten;
  return found;
}

void KeptListeners::Keep(const os::Fd& listener) {
  if (taken_) return;
  if (sending_.valid()) {
    const int fd = listener.get();
    if (const absl::Status sent =
            os::SendPacket(sending_.get(), "listener", {&fd, 1}, os::Wait::kNo);
        !sent.ok()) {
      Log(LogLevel::kWarning, "socket_not_kept",
          {{"error", std::string(sent.message())}});
    }
  }
  NotifyServiceManager(kStore, listener.get());
}

}  // namespace sandglass::server
