#include "gateway/proxy/call_recorder.h"

#include "gateway/proxy/call_metadata.h"
#include "server/edge/peers.h"

namespace sandglass::gateway {
namespace {

bool IsHttp(const grpc::CallbackServerContext& context) {
  return server::PeerTable::IsInner(server::PeerTable::PeerOf(context));
}

}  // namespace

CallRecord::CallRecord(CallRecorder& recorder, const MethodRoute& route,
                       const server::Identity& caller,
                       const grpc::CallbackServerContext& context)
    : recorder_(recorder),
      route_(route),
      caller_(caller),
      http_(IsHttp(context)) {}

void CallRecord::End(const grpc::Status& status, std::string_view node,
                     int tries) const {
  recorder_.Record({.route = &route_,
                    .caller = &caller_,
                    .http = http_,
                    .node = node,
                    .tries = tries,
                    .code = static_cast<int>(status.error_code()),
                    .reason = status.ok() ? "" : ReasonOf(status),
                    .took = server::Since(began_)});
}

void RecordRefused(CallRecorder& recorder, const MethodRoute& route,
                   const grpc::CallbackServerContext& context,
                   const grpc::Status& status) {
  recorder.Record({.route = &route,
                   .http = IsHttp(context),
                   .code = static_cast<int>(status.error_code()),
                   .reason = ReasonOf(status)});
}

}  // namespace sandglass::gateway
