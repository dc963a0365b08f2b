#ifndef SANDGLASS_GATEWAY_PROXY_EVERY_CALL_H_
#define SANDGLASS_GATEWAY_PROXY_EVERY_CALL_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "gateway/proxy/call_recorder.h"
#include "gateway/proxy/method_routes.h"
#include "gateway/proxy/router.h"
#include "google/protobuf/message.h"
#include "grpcpp/client_context.h"
#include "grpcpp/impl/codegen/async_generic_service.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/edge/answer_room.h"
#include "server/identity/identity.h"

namespace sandglass::gateway {

// The page tokens of several nodes in one, for a list that all of them have a
// part of: by the names of those that have more.
using NodeTokens = std::map<std::string, std::string>;
std::string JoinTokens(const NodeTokens& tokens);
// nullopt: no gateway made that.
std::optional<NodeTokens> SplitTokens(std::string_view text);

// The trailer with the names of the nodes of which an answer has nothing,
// because they gave none; each has one of its own.
inline constexpr char kMissingNodes[] = "sandglass-missing-node";

// One unary call that every node answers its part of: lists one after another,
// in the order of the nodes' names; numbers of the last. Of a list with pages
// each node gives an even part of the page. What some nodes don't have, another
// may: only where none answers, it is an error. Deletes itself.
class EveryCall final : public grpc::ServerGenericBidiReactor {
 public:
  // `router`, `recorder` and `answers` must outlive the call.
  EveryCall(Router& router, CallRecorder& recorder, server::AnswerRoom& answers,
            const MethodRoute& route, server::Identity caller,
            grpc::GenericCallbackServerContext* context);

 private:
  // The call at one node.
  struct Part {
    std::unique_ptr<Visit> visit;
    grpc::ClientContext context;
    grpc::ByteBuffer request, response;
    grpc::Status status;
  };

  void OnReadDone(bool ok) override;
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone() override { delete this; }

  // The requests of each node. INVALID_ARGUMENT: the page token is none.
  absl::Status MakeParts();
  void Start();
  void EndPart() ABSL_LOCKS_EXCLUDED(mutex_);
  void Answer();
  void Fail(const grpc::Status& status);

  Router& router_;
  const MethodRoute& route_;
  const server::Identity caller_;
  grpc::GenericCallbackServerContext* const context_;
  const CallRecord record_;
  grpc::ByteBuffer request_, response_;
  server::HeldAnswer held_;
  std::vector<std::unique_ptr<Part>> parts_;
  absl::Mutex mutex_;
  size_t pending_ ABSL_GUARDED_BY(mutex_) = 0;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PROXY_EVERY_CALL_H_
