#ifndef SANDGLASS_TESTS_SUPPORT_CALLS_CALLER_AS_H_
#define SANDGLASS_TESTS_SUPPORT_CALLS_CALLER_AS_H_

#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace sandglass::testing {

// A connected socket, which the caller closes, whose other end takes it for
// another account's. Needs root, and a socket that the account may connect to
// (the configuration's "socket": {"mode": "0666"}).
absl::StatusOr<int> SocketAs(uid_t uid, const std::string& socket_path);

// One connection to a daemon's unix socket whose calls are those of another
// account, although they are made by this process: the daemon asks the kernel
// once, when the connection is made, and it is made by a thread that has given
// root up. Needs what SocketAs needs.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectAs(
    uid_t uid, const std::string& socket_path);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_CALLS_CALLER_AS_H_
