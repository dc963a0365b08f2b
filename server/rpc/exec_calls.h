#ifndef SANDGLASS_SERVER_RPC_EXEC_CALLS_H_
#define SANDGLASS_SERVER_RPC_EXEC_CALLS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "sandglass/v1/exec.pb.h"
#include "server/exec/exec.h"
#include "server/exec/exec_table.h"
#include "server/identity/caller.h"
#include "server/rpc/answer_room.h"

namespace sandglass::server {

// One call that waits for a command: StartExec, PollExec or StopExec.
// Everything after its beginning happens on the table's loop, where OnDone
// deletes it.
class WaitExecCall final : public grpc::ServerUnaryReactor, ExecClient {
 public:
  // All arguments must outlive the call.
  WaitExecCall(ExecTable& table, const Caller& caller, AnswerRoom& answers,
               grpc::ByteBuffer* response)
      : table_(table),
        caller_(caller.name),
        held_(answers),
        response_(response) {}

  // Call one of these, once.
  void Start(const Caller& caller, const v1::StartExecRequest& request);
  void Poll(const Caller& caller,
            const std::shared_ptr<v1::PollExecRequest>& request);
  void Stop(const Caller& caller, const v1::StopExecRequest& request);

 private:
  enum class Method { kStart, kPoll, kStop };

  // Called on gRPC's threads.
  void OnCancel() override;
  void OnDone() override;
  void Refuse(const absl::Status& status);
  // Finds a session that lives and notes its use; wakes it if `awake`.
  absl::Status Wake(const Caller& caller, const std::string& session_id,
                    bool awake);

  // Called on the loop's thread.
  void OnExecChange() override;
  void OnTooSlow() override {}
  void Begin(absl::StatusOr<ExecTable::Ready> ready);
  absl::Status Write(Exec& exec, const v1::PollExecRequest& request) const;
  void Follow(const std::shared_ptr<Exec>& exec);
  bool HasItAll() const;
  absl::StatusOr<grpc::ByteBuffer> Answer();
  void End(const absl::Status& status);

  ExecTable& table_;
  const std::string caller_;
  HeldAnswer held_;
  grpc::ByteBuffer* const response_;
  Method method_ = Method::kStart;
  std::optional<absl::Duration> wait_;  // absent: until the command has ended
  bool any_output_ = false;

  std::shared_ptr<Exec> exec_;
  uint64_t timer_ = 0;
  bool waiting_ = true;  // for the session
  bool gone_ = false;
  bool joined_ = false;
  bool time_is_up_ = false;
  bool finished_ = false;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_EXEC_CALLS_H_
