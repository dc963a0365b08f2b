#ifndef SANDGLASS_CLIENT_CONNECTION_DAEMON_H_
#define SANDGLASS_CLIENT_CONNECTION_DAEMON_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/base/unique_fd.h"
#include "grpcpp/client_context.h"
#include "sandglass/v1/exec_service.grpc.pb.h"
#include "sandglass/v1/file_service.grpc.pb.h"
#include "sandglass/v1/layer_service.grpc.pb.h"
#include "sandglass/v1/operator_service.grpc.pb.h"
#include "sandglass/v1/policy_service.grpc.pb.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "sandglass/v1/session_service.grpc.pb.h"

namespace sandglass::client {

// A daemon that took our connection.
struct Daemon {
  std::string address;  // as the user gave it
  std::unique_ptr<v1::SandboxService::Stub> stub;
  std::unique_ptr<v1::SessionService::Stub> sessions;
  std::unique_ptr<v1::FileService::Stub> files;
  std::unique_ptr<v1::ExecService::Stub> execs;
  std::unique_ptr<v1::PolicyService::Stub> policy;
  std::unique_ptr<v1::LayerService::Stub> layers;
  std::unique_ptr<v1::OperatorService::Stub> operators;
  UniqueFd connection;  // a duplicate, for IsConnected
};

// Connects; see ParseAddress and Connect for the errors. Its calls belong to
// the trace of the environment, unless they name another.
absl::StatusOr<Daemon> OpenDaemon(const std::string& address);

// False once the connection has ended: all further calls will fail.
bool IsConnected(const Daemon& daemon);

// Gives a call that the daemon answers from memory 10 s to come back.
void SetQuickDeadline(grpc::ClientContext& context);

// Prints an error of our own as one line on stderr; returns kExitError.
int Fail(const absl::Status& status);

// Prints a failed call on stderr; returns kExitError.
int FailCall(const grpc::Status& status, const Daemon& daemon);

// Writes text of ours to standard output. Returns kExitOk, or what to exit
// with when it could not be written (kExitBrokenPipe without a word).
int PrintText(const std::string& text);

// What to exit with when standard output failed with this errno; says why,
// except for EPIPE.
int OutputFailure(int error);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_DAEMON_H_
