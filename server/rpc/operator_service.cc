#include "server/rpc/operator_service.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "sandbox/os/clocks.h"
#include "server/base/errors.h"
#include "server/base/strings.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/waiting_call.h"

namespace sandglass::server {
namespace {

// The key under which calls wait here.
constexpr char kKey[] = "status";

}  // namespace

grpc::ServerUnaryReactor* OperatorServiceImpl::GetStatus(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  v1::GetStatusRequest message;
  const absl::StatusOr<Caller> caller =
      Receive(peers_, *context, *request, message);
  if (!caller.ok()) return Refuse(context, caller.status());
  auto* call = new WaitingCall(*caller, peers_.answers(), response);
  // The key has the caller's name, so that no caller's calls delay those of
  // another, and so that what a caller waits for elsewhere doesn't delay its
  // look at the daemon.
  call->Start(threads_, {absl::StrCat(kKey, " of ", caller->name), kKey},
              request->Length(),
              [this] { return SerializeMessage(operations_.Status()); });
  return call;
}

grpc::ServerUnaryReactor* OperatorServiceImpl::GetUsage(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::GetUsageRequest>(
      peers_, context, request, response,
      [&](const Caller& caller, const v1::GetUsageRequest& message)
          -> absl::StatusOr<v1::GetUsageResponse> {
        const bool all = caller.SeesAll() || approvals_.IsApprover(caller);
        std::optional<std::string> whose;
        if (!message.caller().empty()) whose = message.caller();
        if (!all && whose.has_value() && *whose != caller.name) {
          return NotAnApprover(absl::StrCat(
              caller.name, " may not see what ", Quoted(*whose, 64),
              " used; root and the approvers of the daemon's configuration "
              "may"));
        }
        if (!all) whose = caller.name;
        return operations_.usage_counter().Usage(whose, os::WallNow());
      });
}

}  // namespace sandglass::server
