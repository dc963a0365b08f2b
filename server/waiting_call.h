#ifndef SANDGLASS_SERVER_WAITING_CALL_H_
#define SANDGLASS_SERVER_WAITING_CALL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/call_threads.h"
#include "server/errors.h"

namespace sandglass::server {

// One call that waits on a thread of CallThreads and has one answer. OnDone
// deletes it.
class WaitingCall final : public grpc::ServerUnaryReactor {
 public:
  // `response` outlives the call.
  explicit WaitingCall(grpc::ByteBuffer* response) : response_(response) {}

  // `work` gives the answer. `key` and `bytes` as for CallThreads::Add.
  void Start(CallThreads& threads, const CallKey& key, uint64_t bytes,
             std::function<absl::StatusOr<grpc::ByteBuffer>()> work) {
    const absl::Status added =
        threads.Add(key, bytes, [this, work = std::move(work)] {
          absl::StatusOr<grpc::ByteBuffer> answer = work();
          const absl::Status status = answer.status();
          if (status.ok()) *response_ = *std::move(answer);
          Finish(ToGrpcStatus(status));
        });
    if (!added.ok()) Finish(ToGrpcStatus(added));
  }

 private:
  void OnDone() override { delete this; }

  grpc::ByteBuffer* const response_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_WAITING_CALL_H_
