#ifndef SANDGLASS_GATEWAY_PROXY_PROXY_CALL_H_
#define SANDGLASS_GATEWAY_PROXY_PROXY_CALL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "gateway/proxy/call_recorder.h"
#include "gateway/proxy/method_routes.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/impl/codegen/async_generic_service.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/edge/answer_room.h"
#include "server/identity/identity.h"

namespace sandglass::gateway {

class Router;
class Visit;

// One call that goes on to a node: its messages as bytes, one at a time in each
// direction, so that whoever reads slowly slows down whoever writes and not
// this process's memory; and metadata, deadline, cancellation, status and
// trailers as they are. Deletes itself.
class ProxyCall final : public grpc::ServerGenericBidiReactor {
 public:
  // `router`, `recorder` and `answers`, in which there has to be room for each
  // message until the client has taken it, must outlive the call.
  ProxyCall(Router& router, CallRecorder& recorder, server::AnswerRoom& answers,
            const MethodRoute& route, server::Identity caller,
            grpc::GenericCallbackServerContext* context);

 private:
  friend class Visit;
  // How the call does at the node to which it went.
  class Upstream;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  // Finds the node for the first message and begins the call there.
  void Begin();
  void BeginAt(std::unique_ptr<Visit> visit);
  // It goes to no node.
  void Refuse(const grpc::Status& status);
  // The node has ended the call; tries another where that makes sense.
  void EndAt(const grpc::Status& status);

  Router& router_;
  const MethodRoute& route_;
  const server::Identity caller_;
  grpc::GenericCallbackServerContext* const context_;
  const CallRecord record_;
  grpc::ByteBuffer first_;    // the request, or the first of them
  grpc::ByteBuffer request_;  // a later one
  grpc::ByteBuffer response_;
  server::HeldAnswer held_;  // of the response
  absl::Status full_;        // why a response could not be passed on
  bool began_ = false;
  bool answered_ = false;  // something of an answer was passed on
  int tries_ = 0;
  std::vector<std::string> tried_;

  absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<Upstream> upstream_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PROXY_PROXY_CALL_H_
