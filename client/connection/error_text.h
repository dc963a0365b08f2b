#ifndef SANDGLASS_CLIENT_CONNECTION_ERROR_TEXT_H_
#define SANDGLASS_CLIENT_CONNECTION_ERROR_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "grpcpp/support/status.h"

namespace sandglass::client {

// Whether an error's text says what to do about it with commands of ours.
enum class Advice { kCommands, kNone };

// A failed call for people: the first line says what was wrong; then, where
// the daemon sent them (google.rpc.Status in the call's details), one indented
// line a field violation, when to try again, the stable reason, and what to do
// about it. Made harmless for a terminal; ends with a newline. `address` is the
// daemon's.
std::string RpcErrorText(const grpc::Status& status, absl::string_view address,
                         Advice advice = Advice::kCommands);

// True when the call ended because the connection broke, not because the
// daemon said so (the daemon's own errors carry details).
bool IsConnectionLoss(const grpc::Status& status);

// The fields that BadRequest names, as paths from the request's top.
std::vector<std::string> ViolatedFields(const grpc::Status& status);

// ErrorInfo.reason of a failed call; empty when it has none.
std::string ErrorReason(const grpc::Status& status);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_ERROR_TEXT_H_
