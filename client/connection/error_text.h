#ifndef SANDGLASS_CLIENT_CONNECTION_ERROR_TEXT_H_
#define SANDGLASS_CLIENT_CONNECTION_ERROR_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "grpcpp/support/status.h"

namespace sandglass::client {

// Whether an error's text suggests commands of ours against the error.
enum class Advice { kCommands, kNone };

// Describes a failed call for people: the first line says what was wrong. Then,
// if the daemon sent them (google.rpc.Status in the call's details), follow
// indented lines: one for each field violation, when to try again, the stable
// reason, and what to do about it. Harmless for a terminal; ends with a
// newline. `address` is the daemon's.
std::string RpcErrorText(const grpc::Status& status, absl::string_view address,
                         Advice advice = Advice::kCommands);

// True when the call ended because the connection broke, not because the daemon
// ended it (the daemon's own errors have details).
bool IsConnectionLoss(const grpc::Status& status);

// The fields that a BadRequest names, as paths from the top of the request.
std::vector<std::string> ViolatedFields(const grpc::Status& status);

// ErrorInfo.reason of a failed call; empty when there is none.
std::string ErrorReason(const grpc::Status& status);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_ERROR_TEXT_H_
