#ifndef SANDGLASS_SERVER_RPC_EXEC_CALLS_H_
#define SANDGLASS_SERVER_RPC_EXEC_CALLS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandglass/v1/exec.pb.h"
#include "server/base/errors.h"
#include "server/edge/answer_room.h"
#include "server/edge/grpc_status.h"
#include "server/edge/unary_call.h"
#include "server/exec/exec.h"
#include "server/exec/exec_table.h"
#include "server/identity/identity.h"

namespace sandglass::server {

// What calls that follow a command have in common. Everything after a call's
// beginning happens on the table's loop, where OnDone deletes it.
template <typename Reactor>
class ExecCall : public Reactor, protected ExecClient {
 protected:
  // `table` and `answers` must outlive the call.
  ExecCall(ExecTable& table, const Identity& caller, AnswerRoom& answers)
      : table_(table), caller_(caller), held_(answers) {}

  // Called on gRPC's threads.
  void OnCancel() override {
    table_.loop().Post([this] {
      gone_ = true;
      // What the call waits for will come, and then sees that the client is
      // gone.
      if (!waiting_) End(CallerGone());
    });
  }
  void OnDone() override {
    // This comes after everything that was posted before.
    table_.loop().Post([this] { delete this; });
  }
  // Begins a new command, or joins it, and follows it. Fields that errors name
  // begin with `prefix`.
  void Prepare(const v1::ExecSpec& spec, const std::string& prefix) {
    table_.Prepare(caller_, spec, prefix,
                   [this](absl::StatusOr<ExecTable::Ready> ready) {
                     Begin(std::move(ready));
                   });
  }

  // Called on the loop's thread.
  virtual void Follow(const std::shared_ptr<Exec>& exec, bool joined) = 0;
  void End(const absl::Status& status) {
    if (std::exchange(finished_, true)) return;
    table_.loop().Cancel(timer_);
    if (const std::shared_ptr<Exec> exec = std::exchange(exec_, nullptr)) {
      exec->Leave(this);
    }
    this->Finish(ToGrpcStatus(status));
  }

  ExecTable& table_;
  const Identity caller_;
  HeldAnswer held_;
  std::shared_ptr<Exec> exec_;
  uint64_t timer_ = 0;
  bool waiting_ = true;  // for the first message, or for the session
  bool gone_ = false;
  bool joined_ = false;
  bool finished_ = false;

 private:
  void Begin(absl::StatusOr<ExecTable::Ready> ready) {
    if (gone_) return End(CallerGone());
    if (!ready.ok()) return End(ready.status());
    const absl::StatusOr<ExecTable::Begun> begun =
        table_.Begin(*std::move(ready));
    if (!begun.ok()) return End(begun.status());
    Follow(begun->exec, begun->joined);
  }
};

// One call that waits for a command: StartExec, PollExec or StopExec.
class WaitExecCall final : public ExecCall<UnaryReactor> {
 public:
  // All arguments must outlive the call.
  WaitExecCall(ExecTable& table, const Identity& caller, AnswerRoom& answers,
               Bytes* response)
      : ExecCall(table, caller, answers), response_(response) {}

  // Call one of these, once.
  void Start(const v1::StartExecRequest& request);
  void Poll(const std::shared_ptr<v1::PollExecRequest>& request);
  void Stop(const v1::StopExecRequest& request);

 private:
  enum class Method { kStart, kPoll, kStop };

  // Called on gRPC's threads.
  void Refuse(const absl::Status& status);
  // Finds a session that lives and notes its use; wakes it if `awake`.
  absl::Status Wake(const std::string& session_id, bool awake);

  // Called on the loop's thread.
  void OnExecChange() override;
  void OnTooSlow() override {}
  absl::Status Write(Exec& exec, const v1::PollExecRequest& request) const;
  void Follow(const std::shared_ptr<Exec>& exec, bool joined) override;
  bool HasItAll() const;
  absl::StatusOr<Bytes> Answer();

  Bytes* const response_;
  Method method_ = Method::kStart;
  std::optional<absl::Duration> wait_;  // absent: until the command has ended
  bool any_output_ = false;
  bool time_is_up_ = false;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_EXEC_CALLS_H_
