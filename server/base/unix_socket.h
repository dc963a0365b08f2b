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
// connect before they are set. Makes the directory (0755) when it is missing.
// A socket that nobody answers on any more is replaced; FAILED_PRECONDITION
// when somebody does, when the path is something else than a socket, or as
// CheckNobodyElses of its directory.
absl::StatusOr<os::Fd> ListenOnUnixSocket(const UnixSocketOptions& options);

// Whether somebody listens on a socket; false when there is none.
absl::StatusOr<bool> Answers(const std::string& path);

// Removes a socket that nobody answers on any more; OK when there is none. The
// errors are ListenOnUnixSocket's.
absl::Status RemoveStaleSocket(const std::string& path);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_UNIX_SOCKET_H_
