#ifndef SANDGLASS_SERVER_RPC_EXECUTE_CALL_H_
#define SANDGLASS_SERVER_RPC_EXECUTE_CALL_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandglass/v1/exec.pb.h"
#include "server/edge/answer_room.h"
#include "server/edge/unary_call.h"
#include "server/exec/exec.h"
#include "server/exec/exec_table.h"
#include "server/identity/identity.h"
#include "server/rpc/exec_calls.h"

namespace sandglass::server {

// One Execute. What gRPC reports is passed on to the table's loop, on which
// everything else happens; OnDone deletes the call there. The next message is
// read when the command has taken the input of the last one, and the next piece
// of output is taken when the last one was written.
class ExecuteCall final : public ExecCall<BidiReactor> {
 public:
  // `table` and `answers` must outlive the call; `context` is that of the call.
  ExecuteCall(ExecTable& table, CallContext* context, const Identity& caller,
              AnswerRoom& answers)
      : ExecCall(table, caller, answers), context_(context) {}

  void Start() { StartRead(&incoming_); }

 private:
  // Called on gRPC's threads.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void HandleFirst(const v1::ExecuteRequest& message);
  absl::Status FindCommand(const v1::ExecAttach& attach);

  // Called on the loop's thread.
  void OnExecChange() override;
  void OnTooSlow() override;
  void Join(absl::StatusOr<std::shared_ptr<Exec>> exec);
  void Follow(const std::shared_ptr<Exec>& exec, bool joined) override;
  void Handle(const v1::ExecuteRequest& message);
  absl::Status HandleInput(const v1::ExecuteRequest& message);
  void NoMoreMessages();
  void Yield();
  void ReadNext();
  void WriteNext();
  void Write(const v1::ExecuteResponse& response);
  // Puts the message where gRPC takes it from. Returns false when the call is
  // over and the command goes on without it.
  bool Put(const v1::ExecuteResponse& response);
  // Writes the last message and ends the call.
  void EndWith(const v1::ExecuteResponse& response);

  CallContext* const context_;
  bool begun_ = false;  // the first message has come
  Bytes incoming_;      // belongs to gRPC while it is read
  Bytes outgoing_;      // … while it is written
  absl::Duration yield_after_ = absl::InfiniteDuration();
  uint64_t yield_at_ = 0;  // yield before this piece; 0: not at all
  bool told_start_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool no_more_ = false;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_EXECUTE_CALL_H_
