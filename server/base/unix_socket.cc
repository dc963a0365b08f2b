#include "server/base/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/base/listen_address.h"
#include "server/base/state_dir.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

absl::Status Failed(const std::string& path, const char* step) {
  return absl::InternalError(absl::StrCat("socket ", Quoted(path, 256), ": ",
                                          step, ": ", ErrorText(errno)));
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

os::Fd NewSocket() {
  return os::Fd(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

absl::StatusOr<bool> Answers(const std::string& path) {
  const os::Fd probe = NewSocket();
  if (!probe.valid()) return Failed(path, "socket");
  const sockaddr_un address = AddressOf(path);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) == 0 ||
      errno == EAGAIN) {  // its backlog is full
    return true;
  }
  if (errno != ECONNREFUSED && errno != ENOENT) return Failed(path, "connect");
  return false;
}

absl::Status RemoveStaleSocket(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus() : Failed(path, "lstat");
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(Quoted(path, 256),
                     " is there and is not a socket; remove it or listen on "
                     "another path"));
  }
  const absl::StatusOr<bool> answers = Answers(path);
  if (!answers.ok()) return answers.status();
  if (*answers) {
    return absl::FailedPreconditionError(absl::StrCat(
        "another server answers on ", Quoted(path, 256), "; stop it first"));
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return Failed(path, "removing a stale socket");
  }
  return absl::OkStatus();
}

bool ListensOnUnix(const os::Fd& socket, const std::string& path) {
  sockaddr_un address{};
  socklen_t size = sizeof(address);
  struct stat info {};
  return ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address),
                       &size) == 0 &&
         address.sun_family == AF_UNIX &&
         size > offsetof(sockaddr_un, sun_path) && path == address.sun_path &&
         // Its file may have been removed.
         ::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

absl::Status SetSocketAccess(const UnixSocketOptions& options) {
  const char* path = options.path.c_str();
  if (::lchown(path, options.owner, options.group) != 0) {
    return Failed(options.path, "chown");
  }
  return ::chmod(path, options.mode) == 0 ? absl::OkStatus()
                                          : Failed(options.path, "chmod");
}

absl::StatusOr<os::Fd> ListenOnUnixSocket(const UnixSocketOptions& options) {
  const std::string& path = options.path;
  const std::string directory =
      std::filesystem::path(path).parent_path().string();
  absl::Status ready = MakeDirectories(directory);
  if (ready.ok()) ready = CheckNobodyElses("listen", directory, options.owner);
  if (ready.ok()) ready = RemoveStaleSocket(path);
  if (!ready.ok()) return ready;
  os::Fd socket = NewSocket();
  if (!socket.valid()) return Failed(path, "socket");

  // ORDER: first bind without any permission bits, then set the owner, then the
  // mode, then listen: at no time is the socket open to more users than it is
  // in the end.
  const sockaddr_un address = AddressOf(path);
  const mode_t old_mask = ::umask(0777);
  const int bound =
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
             sizeof(address));
  const int bind_error = errno;
  ::umask(old_mask);
  errno = bind_error;
  if (bound != 0) return Failed(path, "bind");
  // If a later step fails, no socket stays behind that nobody listens on.
  absl::Cleanup undo = [&path] {
    const int error = errno;
    ::unlink(path.c_str());
    errno = error;
  };
  if (absl::Status set = SetSocketAccess(options); !set.ok()) return set;
  if (::listen(socket.get(), kListenBacklog) != 0) {
    return Failed(path, "listen");
  }
  std::move(undo).Cancel();
  return socket;
}

}  // namespace sandglass::server
