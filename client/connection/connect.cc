#include "client/connection/connect.h"

#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/base/terminal_filter.h"
#include "grpcpp/create_channel_posix.h"

namespace sandglass::client {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(2);
// Room for the framing and for what an answer contains besides its payload.
constexpr size_t kMessageSlackBytes = 1 << 20;

// Where packages and administrators put units of systemd.
constexpr std::array<const char*, 4> kUnits = {
    "/etc/systemd/system/sandglassd.service",
    "/usr/local/lib/systemd/system/sandglassd.service",
    "/usr/lib/systemd/system/sandglassd.service",
    "/lib/systemd/system/sandglassd.service"};
constexpr char kSystemdRuns[] = "/run/systemd/system";

// sudo drops the variable without a word, and the default takes its place.
std::string WhatSudoDrops(const Address& address) {
  const bool by_sudo =
      std::getenv("SUDO_UID") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  return by_sudo && address.text == kDefaultAddress
             ? "; if you set SANDGLASS_ADDRESS: sudo drops it, unless it is "
               "called with --preserve-env=SANDGLASS_ADDRESS"
             : "";
}

}  // namespace

std::string HowToStart(const Address& address, const std::string& root) {
  const auto is_there = [&root](const char* path) {
    return access((root + path).c_str(), F_OK) == 0;
  };
  if (address.text == kDefaultAddress && is_there(kSystemdRuns) &&
      std::ranges::any_of(kUnits, is_there)) {
    return absl::StrCat(
        "start the service with: sudo systemctl start sandglassd (why it does "
        "not run: systemctl status sandglassd)",
        WhatSudoDrops(address));
  }
  if (address.text == kDefaultAddress) {
    return absl::StrCat(
        "start one with: sandglass up, or with more rights: sudo sandglass up",
        WhatSudoDrops(address));
  }
  const std::string listen =
      absl::StrCat(" --listen ", VisibleText(address.text));
  return absl::StrCat("start one with: sudo sandglassd", listen,
                      " (from the source tree: sudo ./build/bin/sandglassd",
                      listen, ")", WhatSudoDrops(address));
}

namespace {

// Empty when the group has no name.
std::string GroupName(gid_t gid) {
  group entry = {};
  group* found = nullptr;
  // Room for a group of some thousand members; a larger one counts as nameless.
  std::vector<char> buffer(64 * 1024);
  getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? VisibleText(entry.gr_name) : "";
}

std::string ErrorWords(int error) {
  const char* words = strerrordesc_np(error);
  return words != nullptr ? words : absl::StrCat("error ", error);
}

// Why a connect failed with EACCES or EPERM.
std::string WhyDenied(const Address& address) {
  struct stat info = {};
  if (stat(address.unix_path.c_str(), &info) != 0) {
    return absl::StrCat("you are uid ", geteuid(),
                        " and may not look into the socket's directory");
  }
  const std::string name = GroupName(info.st_gid);
  // By default the group is a number that no account has, so nobody can join
  // it.
  if (name.empty()) {
    return absl::StrCat(
        "you are uid ", geteuid(),
        " and the socket is for root only; use sudo, or start the daemon with "
        "--config FILE that has {\"socket\": {\"group\": \"YOUR_GROUP\"}}");
  }
  return absl::StrCat("you are uid ", geteuid(), "; the socket is group ", name,
                      "; join it with: sudo usermod -aG ", name,
                      " \"$USER\", then log in again");
}

absl::Status Explain(const Address& address, int error) {
  const std::string at = absl::StrCat(" at ", VisibleText(address.text));
  struct stat info = {};
  const bool is_unix = !address.unix_path.empty();
  const bool exists = is_unix && stat(address.unix_path.c_str(), &info) == 0;
  if (is_unix && (error == ENOENT || error == ENOTDIR)) {
    return absl::UnavailableError(absl::StrCat(
        "no daemon", at, " (no such socket); ", HowToStart(address)));
  }
  if (error == EACCES || error == EPERM) {
    return absl::PermissionDeniedError(
        absl::StrCat("permission denied", at, ": ",
                     is_unix ? WhyDenied(address) : ErrorWords(error)));
  }
  if (exists && !S_ISSOCK(info.st_mode)) {
    return absl::UnavailableError(absl::StrCat(
        "no daemon", at, " (that is not a socket); ", HowToStart(address)));
  }
  if (error == ECONNREFUSED) {
    return absl::UnavailableError(absl::StrCat(
        "no daemon", at, " (connection refused: ",
        is_unix ? "the socket is there but nobody listens; a daemon that "
                  "is ending takes no new connections"
                : "nobody listens on that port",
        "); ", HowToStart(address)));
  }
  if (error == ETIMEDOUT || error == EAGAIN) {
    return absl::UnavailableError(
        absl::StrCat("the daemon", at, " did not take the connection within ",
                     absl::FormatDuration(kConnectTimeout),
                     "; it is overloaded or stopped"));
  }
  return absl::UnavailableError(
      absl::StrCat("cannot connect", at, ": ", ErrorWords(error)));
}

// Waits until a TCP connect in progress has finished; returns its errno or 0.
int FinishConnect(int fd, absl::Time deadline) {
  pollfd poller = {fd, POLLOUT, 0};
  for (;;) {
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0) return ETIMEDOUT;
    const int ready = poll(&poller, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return errno;
    if (ready > 0) break;
  }
  int error = 0;
  socklen_t length = sizeof(error);
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

int TryConnect(int fd, const Address& address) {
  const absl::Time deadline = absl::Now() + kConnectTimeout;
  for (;;) {
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address.socket_address),
                address.socket_address_length) == 0) {
      return 0;
    }
    if (errno == EINPROGRESS) return FinishConnect(fd, deadline);
    // A unix socket whose backlog is full gives EAGAIN and can't be polled.
    if (errno != EAGAIN && errno != EINTR) return errno;
    if (absl::Now() >= deadline) return EAGAIN;
    absl::SleepFor(absl::Milliseconds(20));
  }
}

}  // namespace

absl::StatusOr<UniqueFd> Connect(const Address& address) {
  const int family = address.socket_address.ss_family;
  // gRPC needs a non-blocking descriptor.
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Explain(address, errno);
  const int error = TryConnect(fd.get(), address);
  if (error != 0) return Explain(address, error);
  if (family != AF_UNIX) {
    // Without this, small request and answer frames would wait for each other's
    // ACK.
    const int on = 1;
    if (setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) {
      return Explain(address, errno);
    }
  }
  return fd;
}

grpc::ChannelArguments DaemonChannelArguments(absl::Duration patience) {
  grpc::ChannelArguments arguments;
  const int milliseconds =
      static_cast<int>(absl::ToInt64Milliseconds(patience));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds);
  // As many pings as a long run needs.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetMaxReceiveMessageSize(
      static_cast<int>(kMaxMessageBytes + kMessageSlackBytes));
  arguments.SetMaxSendMessageSize(
      static_cast<int>(kMaxMessageBytes + kMessageSlackBytes));
  return arguments;
}

std::shared_ptr<grpc::Channel> MakeChannel(UniqueFd connection,
                                           std::vector<CallMetadata> metadata,
                                           absl::Duration patience) {
  return grpc::experimental::CreateCustomInsecureChannelWithInterceptorsFromFd(
      "sandglass", connection.Release(), DaemonChannelArguments(patience),
      SendMetadata(std::move(metadata)));
}

}  // namespace sandglass::client
