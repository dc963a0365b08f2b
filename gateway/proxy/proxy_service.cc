#include "gateway/proxy/proxy_service.h"

#include <utility>

#include "absl/status/statusor.h"
#include "gateway/proxy/every_call.h"
#include "gateway/proxy/gateway_errors.h"
#include "gateway/proxy/method_routes.h"
#include "gateway/proxy/proxy_call.h"
#include "server/edge/unary_call.h"

namespace sandglass::gateway {

grpc::ServerGenericBidiReactor* ProxyService::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  using Refused = server::RefusedCall<grpc::ServerGenericBidiReactor>;
  const MethodRoute* route = FindRoute(context->method());
  if (route == nullptr) return new Refused(UnknownMethod(context->method()));
  absl::StatusOr<server::Identity> caller =
      server::CallerOf(peers_, *context, route->method->input_type());
  if (!caller.ok()) {
    RecordRefused(recorder_, *route, *context,
                  server::ToGrpcStatus(caller.status()));
    return new Refused(caller.status());
  }
  if (route->route == Route::kEvery) {
    return new EveryCall(router_, recorder_, peers_.answers(), *route,
                         *std::move(caller), context);
  }
  return new ProxyCall(router_, recorder_, peers_.answers(), *route,
                       *std::move(caller), context);
}

}  // namespace sandglass::gateway
