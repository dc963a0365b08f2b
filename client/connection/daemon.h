#ifndef SANDGLASS_CLIENT_CONNECTION_DAEMON_H_
#define SANDGLASS_CLIENT_CONNECTION_DAEMON_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/base/unique_fd.h"
#include "client/connection/endpoint.h"
#include "google/protobuf/message.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "sandglass/v1/exec_service.grpc.pb.h"
#include "sandglass/v1/file_service.grpc.pb.h"
#include "sandglass/v1/identity_service.grpc.pb.h"
#include "sandglass/v1/layer_service.grpc.pb.h"
#include "sandglass/v1/operator_service.grpc.pb.h"
#include "sandglass/v1/policy_service.grpc.pb.h"
#include "sandglass/v1/port_service.grpc.pb.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "sandglass/v1/session_service.grpc.pb.h"

namespace sandglass::client {

// A daemon to which we have connected.
struct Daemon {
  std::string address;  // as the user gave it
  Endpoint endpoint;    // to open it again
  std::unique_ptr<v1::SandboxService::Stub> stub;
  std::unique_ptr<v1::SessionService::Stub> sessions;
  std::unique_ptr<v1::FileService::Stub> files;
  std::unique_ptr<v1::ExecService::Stub> execs;
  std::unique_ptr<v1::PortService::Stub> ports;
  std::unique_ptr<v1::PolicyService::Stub> policy;
  std::unique_ptr<v1::LayerService::Stub> layers;
  std::unique_ptr<v1::OperatorService::Stub> operators;
  std::unique_ptr<v1::IdentityService::Stub> identity;
  UniqueFd connection;  // a duplicate, for IsConnected; none with TLS
  // With TLS it connects anew by itself when the connection breaks.
  std::shared_ptr<grpc::Channel> channel;

  bool reconnects() const { return !connection.valid(); }
};

// Connects; see ParseAddress, Connect and OpenTlsChannel for the errors. Its
// calls belong to the trace in the environment, unless they have another.
absl::StatusOr<Daemon> OpenDaemon(const Endpoint& endpoint);

// False once the connection has ended, or can't be made anew: all further calls
// would fail.
bool IsConnected(const Daemon& daemon);

// Sets a deadline of 10 s for a call that the daemon answers from memory.
void SetQuickDeadline(grpc::ClientContext& context);

// Prints an error of our own as one line to stderr; returns kExitError.
int Fail(const absl::Status& status);

// Prints the error of a failed call to stderr; returns kExitError.
int FailCall(const grpc::Status& status, const Daemon& daemon);

// Writes a text of ours to standard output. Returns kExitOk, or the exit code
// for a failed write (kExitBrokenPipe, without a message).
int PrintText(const std::string& text);

// Writes a message as JSON, one line, to standard output. As PrintText.
int PrintJson(const google::protobuf::Message& message);

// The exit code after standard output has failed with this errno. Prints the
// reason, except for EPIPE.
int OutputFailure(int error);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_DAEMON_H_
