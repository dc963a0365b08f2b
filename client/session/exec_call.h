#ifndef SANDGLASS_CLIENT_SESSION_EXEC_CALL_H_
#define SANDGLASS_CLIENT_SESSION_EXEC_CALL_H_

#include <string>

#include "absl/strings/string_view.h"
#include "client/connection/daemon.h"
#include "sandglass/v1/exec.pb.h"

namespace sandglass::client {

// How one is with a command in a session.
struct ExecCallOptions {
  std::string session_id;
  bool forward_stdin = false;
  // The command has a terminal of its own: what it writes goes to ours as it
  // is, and the keys to it. Of one that is attached to it is looked up.
  bool terminal = false;
  // Ctrl-C leaves it running instead of interrupting it.
  bool attached = false;
  std::string exec_id;  // of one that is attached to
};

// Sends `first`, a start or an attach, and stays until the command ends or it
// is left. Its output goes to ours. Connects by itself. Returns what to exit
// with: the command's exit code as ExitCodeFor has it, 0 when it was left by
// its keys.
int CarryOutExec(const std::string& address, const v1::ExecuteRequest& first,
                 ExecCallOptions options);

// Says why a command could not be started. Returns what to exit with: for a
// program that isn't there or can't be run what shells have.
int FailExec(const grpc::Status& status, const Daemon& daemon);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_EXEC_CALL_H_
