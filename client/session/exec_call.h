#ifndef SANDGLASS_CLIENT_SESSION_EXEC_CALL_H_
#define SANDGLASS_CLIENT_SESSION_EXEC_CALL_H_

#include <string>

#include "client/connection/daemon.h"
#include "client/connection/endpoint.h"
#include "sandglass/v1/exec.pb.h"

namespace sandglass::client {

// How to take part in a command in a session.
struct ExecCallOptions {
  std::string session_id;
  bool forward_stdin = false;
  // The command has a terminal of its own: its output is written to ours
  // unchanged, and the keys go to it. When attaching, this is looked up
  // instead.
  bool terminal = false;
  // Ctrl-C leaves the command running instead of interrupting it.
  bool attached = false;
  std::string exec_id;  // when attaching
};

// Sends `first`, which starts or attaches to a command, and stays until the
// command ends or the user leaves it. Prints its output. Makes the connection
// itself. Returns the exit code: that of ExitCodeFor for the command, or 0 when
// the user left it by keys.
int CarryOutExec(const Endpoint& endpoint, const v1::ExecuteRequest& first,
                 ExecCallOptions options);

// Prints why a command could not be started. Returns the exit code: that of
// shells for a program that doesn't exist or can't be executed.
int FailExec(const grpc::Status& status, const Daemon& daemon);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_EXEC_CALL_H_
