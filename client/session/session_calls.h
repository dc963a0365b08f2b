#ifndef SANDGLASS_CLIENT_SESSION_SESSION_CALLS_H_
#define SANDGLASS_CLIENT_SESSION_SESSION_CALLS_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/connection/daemon.h"
#include "client/connection/preparing_wait.h"
#include "client/flags/options.h"
#include "client/terminal/terminal_look.h"
#include "google/protobuf/map.h"
#include "grpcpp/client_context.h"

// What the commands of `sandglass session` have in common.
namespace sandglass::client {

// Stopping or starting processes can take some time on a busy machine.
constexpr std::chrono::seconds kSessionPatience(60);

// Makes one call and passes its answer to `print`, which returns the exit code.
template <typename Stub, typename Request, typename Response, typename Print>
int Call(const Daemon& daemon, Stub& stub,
         grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                      Response*),
         const Request& request, Print print) {
  Response response;
  grpc::Status status;
  PreparingWait wait(SayOnStderr);
  do {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kSessionPatience);
    const WaitLine waiting("waiting for the daemon");
    status = (stub.*method)(&context, request, &response);
  } while (wait.Again(status));
  return status.ok() ? print(response) : FailCall(status, daemon);
}

// Prints a line about something that was done.
int PrintDone(absl::string_view session_id, absl::string_view what);

void SetPairs(const Pairs& pairs,
              google::protobuf::Map<std::string, std::string>& out);

absl::Status CheckId(absl::string_view session_id);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_SESSION_CALLS_H_
