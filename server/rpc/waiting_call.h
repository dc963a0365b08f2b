#ifndef SANDGLASS_SERVER_RPC_WAITING_CALL_H_
#define SANDGLASS_SERVER_RPC_WAITING_CALL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/base/call_threads.h"
#include "server/identity/caller.h"
#include "server/rpc/answer_room.h"
#include "server/rpc/grpc_status.h"

namespace sandglass::server {

// One call that waits on a thread of CallThreads and then has one answer.
// OnDone deletes it.
class WaitingCall final : public grpc::ServerUnaryReactor {
 public:
  // `answers` and `response` must outlive the call.
  WaitingCall(const Caller& caller, AnswerRoom& answers,
              grpc::ByteBuffer* response)
      : caller_(caller.name), held_(answers), response_(response) {}

  // `work` returns the answer. `key` and `bytes` are as for CallThreads::Add.
  void Start(CallThreads& threads, const CallKey& key, uint64_t bytes,
             std::function<absl::StatusOr<grpc::ByteBuffer>()> work) {
    const absl::Status added =
        threads.Add(key, bytes, [this, work = std::move(work)] {
          Finish(ToGrpcStatus(held_.Put(caller_, work(), response_)));
        });
    if (!added.ok()) Finish(ToGrpcStatus(added));
  }

 private:
  void OnDone() override { delete this; }

  const std::string caller_;
  HeldAnswer held_;
  grpc::ByteBuffer* const response_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_WAITING_CALL_H_
