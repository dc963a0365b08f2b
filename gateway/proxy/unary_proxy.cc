#include "gateway/proxy/unary_proxy.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "gateway/proxy/call_metadata.h"
#include "gateway/proxy/method_routes.h"
#include "gateway/proxy/node_end.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "server/base/api_services.h"
#include "server/edge/unary_call.h"

namespace sandglass::gateway {
namespace {

// One such call. Deletes itself.
class UnaryProxyCall final : public grpc::ServerUnaryReactor {
 public:
  UnaryProxyCall(Router& router, CallRecorder& recorder,
                 server::AnswerRoom& answers, const MethodRoute& route,
                 server::Identity caller, grpc::CallbackServerContext* context,
                 const grpc::ByteBuffer* request, grpc::ByteBuffer* response)
      : router_(router),
        route_(route),
        caller_(std::move(caller)),
        context_(context),
        request_(request),
        response_(response),
        record_(recorder, route_, caller_, *context),
        held_(answers) {
    absl::StatusOr<std::unique_ptr<Visit>> visit = Find();
    if (visit.ok()) {
      BeginAt(*std::move(visit));
    } else {
      const grpc::Status refused = server::ToGrpcStatus(visit.status());
      record_.End(refused);
      Finish(refused);
    }
  }

 private:
  // How the call does at a node.
  struct Try {
    std::unique_ptr<Visit> visit;
    grpc::ClientContext context;
  };

  absl::StatusOr<std::unique_ptr<Visit>> Find() {
    return router_.Find(
        route_.route,
        ReadRoutingFields(*route_.method->input_type(), *request_), caller_,
        tried_);
  }

  void BeginAt(std::unique_ptr<Visit> visit) ABSL_LOCKS_EXCLUDED(mutex_) {
    tried_.push_back(visit->node());
    auto next = std::make_shared<Try>();
    next->visit = std::move(visit);
    PrepareContext(*context_, caller_, next->context);
    bool cancelled = false;
    {
      absl::MutexLock lock(&mutex_);
      try_ = next;
      cancelled = cancelled_;
    }
    // ORDER: the answer may come, and this object go, before UnaryCall is back.
    grpc::GenericStub stub(next->visit->channel());
    stub.UnaryCall(&next->context, route_.path, {}, request_, response_,
                   [this](const grpc::Status& status) { EndAt(status); });
    if (cancelled) next->context.TryCancel();
  }

  void EndAt(const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<Try> ended;
    bool cancelled = false;
    {
      absl::MutexLock lock(&mutex_);
      ended = std::move(try_);
      cancelled = cancelled_;
    }
    const std::string& node = ended->visit->node();
    const NodeEnd end = Judge(status, /*answered=*/false, Reached(*ended));
    if (end.not_begun && !cancelled && tried_.size() < kMaxTries) {
      absl::StatusOr<std::unique_ptr<Visit>> other = Find();
      if (other.ok()) return BeginAt(*std::move(other));
    }
    grpc::Status told = status;
    if (end.lost && !cancelled) {
      told = LostStatus(end, node, *route_.method);
    } else {
      CopyInitialMetadata(ended->context, *context_);
      CopyTrailers(ended->context, *context_);
    }
    if (status.ok()) {
      if (Stays(route_.route)) ended->visit->Keep();
      told = server::ToGrpcStatus(held_.Acquire(
          caller_.name, response_->Length(), server::HeldAnswer::kDone));
    }
    record_.End(told, node, static_cast<int>(tried_.size()));
    // ORDER: once the call is finished, nothing keeps the router from ending.
    ended->visit.reset();
    Finish(told);
  }

  // gRPC names the node's address once the call has a connection; until then it
  // names what the channel was made for (NodeLink).
  static bool Reached(const Try& ended) {
    return !absl::StartsWith(ended.context.peer(), "dns:");
  }

  void OnCancel() override ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<Try> current;
    {
      absl::MutexLock lock(&mutex_);
      cancelled_ = true;
      current = try_;
    }
    if (current != nullptr) current->context.TryCancel();
  }
  void OnDone() override { delete this; }

  Router& router_;
  const MethodRoute& route_;
  const server::Identity caller_;
  grpc::CallbackServerContext* const context_;
  const grpc::ByteBuffer* const request_;
  grpc::ByteBuffer* const response_;
  const CallRecord record_;
  server::HeldAnswer held_;
  std::vector<std::string> tried_;

  absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<Try> try_ ABSL_GUARDED_BY(mutex_);
};

// What protoc generates for a service whose methods take bytes.
class UnaryProxy final : public grpc::Service {
 public:
  UnaryProxy(const google::protobuf::ServiceDescriptor* service, Router& router,
             CallRecorder& recorder, const server::PeerTable& peers)
      : router_(router), recorder_(recorder), peers_(peers) {
    int index = 0;
    for (const auto& [path, route] : AllRoutes()) {
      if (route.method->service() != service ||
          route.method->client_streaming() ||
          route.method->server_streaming() || route.route == Route::kEvery) {
        continue;
      }
      AddMethod(new grpc::internal::RpcServiceMethod(
          path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
      MarkMethodRawCallback(
          index++,
          new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer,
                                                   grpc::ByteBuffer>(
              [this, &route = route](grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) {
                return Call(route, context, request, response);
              }));
    }
  }

 private:
  grpc::ServerUnaryReactor* Call(const MethodRoute& route,
                                 grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) {
    absl::StatusOr<server::Identity> caller =
        server::CallerOf(peers_, *context, route.method->input_type());
    if (!caller.ok()) {
      RecordRefused(recorder_, route, *context,
                    server::ToGrpcStatus(caller.status()));
      return server::Refuse(context, caller.status());
    }
    return new UnaryProxyCall(router_, recorder_, peers_.answers(), route,
                              *std::move(caller), context, request, response);
  }

  Router& router_;
  CallRecorder& recorder_;
  const server::PeerTable& peers_;
};

}  // namespace

void AddUnaryProxies(Router& router, CallRecorder& recorder,
                     const server::PeerTable& peers,
                     server::Services& services) {
  for (const auto* service : server::ApiServices()) {
    services.push_back(
        std::make_unique<UnaryProxy>(service, router, recorder, peers));
  }
}

}  // namespace sandglass::gateway
