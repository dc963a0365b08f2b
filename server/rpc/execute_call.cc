#include "server/rpc/execute_call.h"

#include <utility>

#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/edge/message_codec.h"
#include "server/exec/exec_answers.h"
#include "server/exec/exec_request.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kLongestYield = absl::Hours(24);

}  // namespace

// ---- on gRPC's threads ----

void ExecuteCall::OnReadDone(bool ok) {
  if (!ok) return table_.loop().Post([this] { NoMoreMessages(); });
  auto message = std::make_shared<v1::ExecuteRequest>();
  const absl::Status parsed = ParseMessage(incoming_, *message);
  incoming_.Clear();
  if (!parsed.ok()) {
    return table_.loop().Post([this, parsed] { End(parsed); });
  }
  if (!std::exchange(begun_, true)) return HandleFirst(*message);
  table_.loop().Post([this, message] { Handle(*message); });
}

void ExecuteCall::HandleFirst(const v1::ExecuteRequest& message) {
  absl::Status bad;
  if (message.has_start()) {
    const v1::ExecuteStart& start = message.start();
    next_sequence = start.from_sequence();
    if (start.has_yield_after()) {
      const absl::StatusOr<absl::Duration> wait =
          CheckWait(start.yield_after(), "start.yield_after", kLongestYield);
      bad = wait.status();
      if (wait.ok()) yield_after_ = *wait;
    }
    if (bad.ok()) {
      return Prepare(start.spec(), "start.spec.");
    }
  } else if (message.has_attach()) {
    bad = FindCommand(message.attach());
    if (bad.ok()) return;
  } else {
    bad = InvalidRequest({{"message", "start or attach must come first"}});
  }
  table_.loop().Post([this, bad] { End(bad); });
}

absl::Status ExecuteCall::FindCommand(const v1::ExecAttach& attach) {
  next_sequence = attach.from_sequence();
  const absl::StatusOr<std::shared_ptr<Session>> session =
      table_.Find(caller_, attach.session_id());
  if (!session.ok()) return session.status();
  if (absl::Status awake = (*session)->Resume(); !awake.ok()) return awake;
  table_.loop().Post(
      [this, session_id = attach.session_id(), exec_id = attach.exec_id()] {
        Join(table_.Find(session_id, exec_id));
      });
  return absl::OkStatus();
}

void ExecuteCall::OnWriteDone(bool ok) {
  table_.loop().Post([this, ok] {
    writing_ = false;
    outgoing_.Clear();
    held_.Release();
    if (!ok) return End(CallerGone());
    WriteNext();
  });
}

// ---- on the loop's thread ----

void ExecuteCall::Join(absl::StatusOr<std::shared_ptr<Exec>> exec) {
  if (gone_) return End(CallerGone());
  if (!exec.ok()) return End(exec.status());
  Follow(*exec, true);
}

void ExecuteCall::Follow(const std::shared_ptr<Exec>& exec, bool joined) {
  waiting_ = false;
  waits_for_all = true;
  keeps_alive = true;
  if (next_sequence == 0) next_sequence = 1;
  exec_ = exec;
  joined_ = joined;
  exec_->Attach(this);
  OnExecChange();
}

void ExecuteCall::OnExecChange() {
  WriteNext();
  ReadNext();
}

void ExecuteCall::OnTooSlow() {
  exec_ = nullptr;
  // Nothing else gets through to a client that doesn't read.
  context_->TryCancel();
}

void ExecuteCall::Handle(const v1::ExecuteRequest& message) {
  reading_ = false;
  if (finished_ || exec_ == nullptr) return;
  if (const absl::Status taken = HandleInput(message); !taken.ok()) {
    return End(taken);
  }
  ReadNext();
}

absl::Status ExecuteCall::HandleInput(const v1::ExecuteRequest& message) {
  switch (message.message_case()) {
    case v1::ExecuteRequest::kStdin: {
      absl::Status may = exec_->CheckStdin();
      if (may.ok()) {
        may = table_.CheckStdinRoom(exec_->session().caller(),
                                    message.stdin().size());
      }
      if (may.ok()) exec_->WriteStdin(message.stdin());
      return may;
    }
    case v1::ExecuteRequest::kCloseStdin:
      exec_->CloseStdin();
      return absl::OkStatus();
    case v1::ExecuteRequest::kResize: {
      const absl::StatusOr<TerminalRoom> room =
          CheckTerminalSize(message.resize(), "resize");
      if (room.ok()) exec_->Resize(*room);
      return room.status();
    }
    case v1::ExecuteRequest::kSignal: {
      absl::Status known = CheckSignal(message.signal(), "signal");
      if (known.ok()) exec_->Signal(message.signal());
      return known;
    }
    case v1::ExecuteRequest::kDetach:
      Yield();
      return absl::OkStatus();
    case v1::ExecuteRequest::kStart:
    case v1::ExecuteRequest::kAttach:
      return InvalidRequest({{"message", "start and attach come only first"}});
    case v1::ExecuteRequest::MESSAGE_NOT_SET:
      break;
  }
  return InvalidRequest({{"message", "is empty"}});
}

void ExecuteCall::NoMoreMessages() {
  reading_ = false;
  no_more_ = true;
  if (finished_) return;
  if (exec_ == nullptr) {
    if (!begun_) {
      End(InvalidRequest({{"message", "start or attach must come first"}}));
    }
    return;
  }
  // The next client may talk with a command that has a name, so its input stays
  // open.
  if (!joined_ && !exec_->plan().named && !exec_->background()) {
    exec_->CloseStdin();
  }
}

void ExecuteCall::Yield() {
  if (finished_ || exec_ == nullptr) return;
  exec_->GoOnInBackground();
  yield_at_ = exec_->output().SealNextSequence();
  WriteNext();
}

void ExecuteCall::ReadNext() {
  if (reading_ || no_more_ || finished_ || exec_ == nullptr || !told_start_ ||
      !exec_->stdin_taken()) {
    return;
  }
  reading_ = true;
  StartRead(&incoming_);
}

void ExecuteCall::WriteNext() {
  if (writing_ || finished_ || exec_ == nullptr) return;
  if (exec_->state() == Exec::State::kFailed) return End(exec_->status());
  if (exec_->starting()) return;
  v1::ExecuteResponse response;
  if (!std::exchange(told_start_, true)) {
    *response.mutable_started()->mutable_exec() = exec_->Describe();
    response.mutable_started()->set_joined(joined_);
    if (yield_after_ < absl::InfiniteDuration()) {
      timer_ = table_.loop().CallAt(After(Now(), yield_after_), [this] {
        timer_ = 0;
        Yield();
      });
    }
    return Write(response);
  }
  ExecOutput& output = exec_->output();
  if (const ExecOutput::Gap gap = output.GapAt(next_sequence);
      gap.next_sequence != 0) {
    FillGap(gap, *response.mutable_gap());
    next_sequence = gap.next_sequence;
    return Write(response);
  }
  const ExecOutput::Piece* piece = output.Find(next_sequence);
  if (piece != nullptr && (yield_at_ == 0 || piece->sequence < yield_at_)) {
    FillOutput(*piece, *response.mutable_output());
    next_sequence = piece->sequence + 1;
    Write(response);
    if (exec_ != nullptr) exec_->OutputTaken();
    return;
  }
  if (piece == nullptr && exec_->state() == Exec::State::kEnded) {
    if (!exec_->status().ok()) return End(exec_->status());
    *response.mutable_end() = exec_->end();
    return EndWith(response);
  }
  if (yield_at_ != 0) {
    response.mutable_yielded()->set_next_sequence(next_sequence);
    return EndWith(response);
  }
}

void ExecuteCall::Write(const v1::ExecuteResponse& response) {
  if (!Put(response)) return;
  writing_ = true;
  StartWrite(&outgoing_);
}

bool ExecuteCall::Put(const v1::ExecuteResponse& response) {
  const absl::Status put = held_.Put(
      caller_.name, SerializeMessage(response), &outgoing_,
      "the command goes on in the background: attach to it for the rest");
  if (put.ok()) return true;
  exec_->GoOnWithout(this);
  End(put);
  return false;
}

void ExecuteCall::EndWith(const v1::ExecuteResponse& response) {
  if (!Put(response)) return;
  finished_ = true;
  table_.loop().Cancel(timer_);
  const std::shared_ptr<Exec> exec = std::exchange(exec_, nullptr);
  exec->Detach(this);
  StartWriteAndFinish(&outgoing_, grpc::WriteOptions(), grpc::Status::OK);
}

}  // namespace sandglass::server
