#include "tests/support/calls/caller_as.h"

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace sandglass::testing {
namespace {

// A connected socket, or an errno.
absl::StatusOr<int> Connect(uid_t uid, const sockaddr_un& address) {
  // Of this thread alone, unlike setresuid(3), which changes all of them.
  if (::syscall(SYS_setresuid, -1, uid, -1) != 0) {
    return absl::ErrnoToStatus(errno, "setresuid");
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "socket");
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) != 0) {
    const absl::Status failed = absl::ErrnoToStatus(errno, "connect");
    ::close(fd);
    return failed;
  }
  // Only now: gRPC wants it so, and to connect is a matter of a moment.
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

}  // namespace

absl::StatusOr<int> SocketAs(uid_t uid, const std::string& socket_path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError("the socket's path is too long");
  }
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  absl::StatusOr<int> fd = absl::UnknownError("not tried");
  // Its rights end with it.
  std::thread([&] { fd = Connect(uid, address); }).join();
  return fd;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectAs(
    uid_t uid, const std::string& socket_path) {
  const absl::StatusOr<int> fd = SocketAs(uid, socket_path);
  if (!fd.ok()) return fd.status();
  // It owns the socket from here on.
  return grpc::CreateInsecureChannelFromFd("caller", *fd);
}

}  // namespace sandglass::testing
