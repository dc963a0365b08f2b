#ifndef SANDGLASS_SERVER_BASE_UNIX_SOCKET_H_
#define SANDGLASS_SERVER_BASE_UNIX_SOCKET_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

struct UnixSocketOptions {
  std::string path;
  mode_t mode = 0660;
  uid_t owner = 0;
  gid_t group = 0;
};

// Makes a listening, non-blocking socket with that owner and mode; nobody can
// connect before they are set. Makes the directory (0755) when it is missing. A
// socket on which nobody answers any more is replaced. FAILED_PRECONDITION when
// somebody does answer, when the path is something other than a socket, or for
// the reasons of CheckNobodyElses of its directory.
absl::StatusOr<os::Fd> ListenOnUnixSocket(const UnixSocketOptions& options);

// Whether this socket, of whoever made it, listens at `path`.
bool ListensOnUnix(const os::Fd& socket, const std::string& path);

// Gives the socket at the path of `options` its owner and its mode.
absl::Status SetSocketAccess(const UnixSocketOptions& options);

// Returns whether somebody listens on the socket at `path`; false when there is
// no socket.
absl::StatusOr<bool> Answers(const std::string& path);

// Removes a socket on which nobody answers any more; OK when there is none. The
// errors are those of ListenOnUnixSocket.
absl::Status RemoveStaleSocket(const std::string& path);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_UNIX_SOCKET_H_
