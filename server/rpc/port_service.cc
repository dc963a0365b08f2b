#include <memory>

#include "sandglass/v1/port_service.grpc.pb.h"
#include "server/base/errors.h"
#include "server/edge/unary_call.h"
#include "server/rpc/forward_call.h"
#include "server/rpc/services.h"

namespace sandglass::server {
namespace {

using RawPortService = v1::PortService::WithRawCallbackMethod_Forward<
    v1::PortService::WithRawCallbackMethod_CreateLink<
        v1::PortService::Service>>;

class PortServiceImpl final : public RawPortService {
 public:
  PortServiceImpl(SessionTable& sessions, CallThreads& threads, EventLoop& loop,
                  const PeerTable& peers)
      : peers_(peers),
        parts_{sessions, threads, loop, peers.answers(), open_} {}

  BidiReactor* Forward(CallContext* context) override {
    const absl::StatusOr<Identity> caller =
        CallerOf<v1::ForwardRequest>(peers_, *context);
    if (!caller.ok()) return new RefusedCall<BidiReactor>(caller.status());
    auto* call = new ForwardCall(parts_, *caller);
    call->Start();
    return call;
  }

  UnaryReactor* CreateLink(CallContext* context, const Bytes* /*request*/,
                           Bytes* /*response*/) override {
    const absl::StatusOr<Identity> caller =
        CallerOf<v1::CreateLinkRequest>(peers_, *context);
    return Refuse(context, caller.ok() ? NoLinks() : caller.status());
  }

 private:
  const PeerTable& peers_;
  OpenForwards open_;
  const ForwardParts parts_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakePortService(SessionTable& sessions,
                                               CallThreads& threads,
                                               EventLoop& loop,
                                               const PeerTable& peers) {
  return std::make_unique<PortServiceImpl>(sessions, threads, loop, peers);
}

}  // namespace sandglass::server
