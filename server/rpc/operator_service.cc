#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "sandbox/os/clocks.h"
#include "sandglass/v1/operator_service.grpc.pb.h"
#include "server/base/errors.h"
#include "server/base/strings.h"
#include "server/edge/unary_call.h"
#include "server/rpc/services.h"

namespace sandglass::server {
namespace {

// The key under which calls wait here.
constexpr char kKey[] = "status";

using RawOperatorService = v1::OperatorService::WithRawCallbackMethod_GetStatus<
    v1::OperatorService::WithRawCallbackMethod_GetUsage<
        v1::OperatorService::Service>>;

class OperatorServiceImpl final : public RawOperatorService {
 public:
  OperatorServiceImpl(const Operations& operations, CallThreads& threads,
                      const PeerTable& peers)
      : operations_(operations), threads_(threads), peers_(peers) {}

  UnaryReactor* GetStatus(CallContext* context, const Bytes* request,
                          Bytes* response) override {
    v1::GetStatusRequest message;
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, message);
    if (!caller.ok()) return Refuse(context, caller.status());
    auto* call = new AnsweredCall(peers_, *caller, response);
    // The key has the caller's name, so that no caller's calls delay those of
    // another, and so that what a caller waits for elsewhere doesn't delay its
    // look at the daemon.
    call->EndOn(threads_, {absl::StrCat(kKey, " of ", caller->name), kKey},
                message.ByteSizeLong(),
                [this, ours = caller->tenant == kLocalTenant ||
                              caller->LooksAfterMachine()] {
                  v1::GetStatusResponse status = operations_.Status();
                  // They name files and programs of this machine.
                  for (v1::Condition& each : *status.mutable_conditions()) {
                    if (!ours) each.clear_detail();
                  }
                  return SerializeMessage(status);
                });
    return call;
  }

  UnaryReactor* GetUsage(CallContext* context, const Bytes* request,
                         Bytes* response) override {
    return Serve<v1::GetUsageRequest>(
        peers_, context, request, response,
        [this](const Identity& caller,
               const auto& message) -> absl::StatusOr<v1::GetUsageResponse> {
          const bool all = caller.LooksAfterMachine();
          std::optional<std::string> whose;
          if (!message.caller().empty()) whose = message.caller();
          if (!all && whose.has_value() && !caller.Sees(*whose)) {
            return NotAnApprover(absl::StrCat(
                caller.name, " may not see what ", Quoted(*whose, 64),
                " used; root and the approvers of the daemon's configuration "
                "may"));
          }
          if (!all && !whose.has_value()) whose = caller.name;
          return operations_.usage_counter().Usage(whose, os::WallNow());
        });
  }

 private:
  const Operations& operations_;
  CallThreads& threads_;
  const PeerTable& peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeOperatorService(const Operations& operations,
                                                   CallThreads& threads,
                                                   const PeerTable& peers) {
  return std::make_unique<OperatorServiceImpl>(operations, threads, peers);
}

}  // namespace sandglass::server
