#include "server/rpc/exec_calls.h"

#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/clock.h"
#include "server/edge/message_codec.h"
#include "server/exec/exec_answers.h"
#include "server/exec/exec_request.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kLongestWait = absl::Minutes(10);
constexpr absl::Duration kDefaultGrace = absl::Seconds(5);
constexpr absl::Duration kLongestGrace = absl::Minutes(1);
constexpr absl::Duration kRetryAfter = absl::Milliseconds(100);
// Together with the rest of the answer, this stays below the 4 MiB that clients
// accept by default.
constexpr uint64_t kSnapshotBytes = uint64_t{3584} << 10;
constexpr uint64_t kPieceOverhead = 64;

void FillSnapshot(Exec& exec, uint64_t from, v1::ExecSnapshot& proto) {
  *proto.mutable_exec() = exec.Describe();
  ExecOutput& output = exec.output();
  uint64_t next = from == 0 ? 1 : from;
  if (const ExecOutput::Gap gap = output.GapAt(next); gap.next_sequence != 0) {
    FillGap(gap, *proto.mutable_gap());
    next = gap.next_sequence;
  }
  uint64_t bytes = 0;
  while (const ExecOutput::Piece* piece = output.Find(next)) {
    bytes += piece->data.size() + kPieceOverhead;
    if (bytes > kSnapshotBytes) break;
    FillOutput(*piece, *proto.add_output());
    next = piece->sequence + 1;
  }
  proto.set_next_sequence(next);
  proto.set_complete(exec.state() == Exec::State::kEnded &&
                     next >= output.next_sequence());
}

}  // namespace

// ---- on gRPC's threads ----

void WaitExecCall::Start(const v1::StartExecRequest& request) {
  if (request.has_wait()) {
    const absl::StatusOr<absl::Duration> wait =
        CheckWait(request.wait(), "wait", kLongestWait);
    if (!wait.ok()) return Refuse(wait.status());
    wait_ = *wait;
  }
  Prepare(request.spec(), "spec.");
}

void WaitExecCall::Poll(const std::shared_ptr<v1::PollExecRequest>& request) {
  method_ = Method::kPoll;
  wait_ = absl::ZeroDuration();
  absl::Status checked;
  if (request->has_wait()) {
    const absl::StatusOr<absl::Duration> wait =
        CheckWait(request->wait(), "wait", kLongestWait);
    checked = wait.status();
    if (wait.ok()) wait_ = *wait;
  }
  if (checked.ok() && request->has_resize()) {
    checked = CheckTerminalSize(request->resize(), "resize").status();
  }
  if (checked.ok()) {
    checked = Wake(request->session_id(), !request->stdin().empty() ||
                                              request->close_stdin() ||
                                              request->has_resize());
  }
  if (!checked.ok()) return Refuse(checked);
  any_output_ = request->any_output();
  next_sequence = request->from_sequence();
  table_.loop().Post([this, request] {
    const absl::StatusOr<std::shared_ptr<Exec>> exec =
        table_.Find(request->session_id(), request->exec_id());
    if (!exec.ok()) return End(exec.status());
    if (const absl::Status written = Write(**exec, *request); !written.ok()) {
      return End(written);
    }
    Follow(*exec, false);
  });
}

void WaitExecCall::Stop(const v1::StopExecRequest& request) {
  method_ = Method::kStop;
  const int signal = request.signal() == 0 ? SIGTERM : request.signal();
  absl::Status checked = CheckSignal(signal, "signal");
  absl::Duration grace = kDefaultGrace;
  if (checked.ok() && request.has_grace()) {
    const absl::StatusOr<absl::Duration> wished =
        CheckWait(request.grace(), "grace", kLongestGrace);
    checked = wished.status();
    if (wished.ok()) grace = *wished;
  }
  if (checked.ok()) checked = Wake(request.session_id(), true);
  if (!checked.ok()) return Refuse(checked);
  table_.loop().Post([this, signal, grace, session_id = request.session_id(),
                      exec_id = request.exec_id()] {
    const absl::StatusOr<std::shared_ptr<Exec>> exec =
        table_.Find(session_id, exec_id);
    if (!exec.ok()) return End(exec.status());
    (*exec)->Stop(signal, grace);
    Follow(*exec, false);
  });
}

absl::Status WaitExecCall::Wake(const std::string& session_id, bool awake) {
  const absl::StatusOr<std::shared_ptr<Session>> session =
      table_.Find(caller_, session_id);
  if (!session.ok()) return session.status();
  if (awake) return (*session)->Resume();
  (*session)->Touch();
  return absl::OkStatus();
}

void WaitExecCall::Refuse(const absl::Status& status) {
  table_.loop().Post([this, status] { End(status); });
}

// ---- on the loop's thread ----

absl::Status WaitExecCall::Write(Exec& exec,
                                 const v1::PollExecRequest& request) const {
  if (request.has_resize()) {
    const absl::StatusOr<TerminalRoom> room =
        CheckTerminalSize(request.resize(), "resize");
    if (room.ok()) exec.Resize(*room);
  }
  if (!request.stdin().empty()) {
    if (absl::Status may = exec.CheckStdin(); !may.ok()) return may;
    if (absl::Status may = table_.CheckStdinRoom(exec.session().caller(),
                                                 request.stdin().size());
        !may.ok()) {
      return may;
    }
    if (!exec.stdin_taken()) {
      return TooManyExecs("the command has not read its earlier input",
                          kRetryAfter);
    }
    exec.WriteStdin(request.stdin());
  }
  if (request.close_stdin()) exec.CloseStdin();
  return absl::OkStatus();
}

void WaitExecCall::Follow(const std::shared_ptr<Exec>& exec, bool joined) {
  waiting_ = false;
  if (gone_) return End(CallerGone());
  exec_ = exec;
  joined_ = joined;
  keeps_alive = method_ == Method::kStart;
  exec_->Attach(this);
  if (wait_.has_value()) {
    timer_ = table_.loop().CallAt(After(Now(), *wait_), [this] {
      timer_ = 0;
      time_is_up_ = true;
      OnExecChange();
    });
    time_is_up_ = *wait_ == absl::ZeroDuration();
  }
  OnExecChange();
}

bool WaitExecCall::HasItAll() const {
  if (exec_->starting()) return false;
  if (exec_->over() || time_is_up_) return true;
  return any_output_ && exec_->output().next_sequence() > 1 &&
         exec_->output().next_sequence() > next_sequence;
}

void WaitExecCall::OnExecChange() {
  if (finished_ || exec_ == nullptr || !HasItAll()) return;
  if (exec_->over() && !exec_->status().ok()) return End(exec_->status());
  if (method_ == Method::kStart && !exec_->over()) exec_->GoOnInBackground();
  absl::StatusOr<Bytes> answer = Answer();
  const std::string advice =
      absl::StrCat("PollExec tells of the command ", exec_->plan().exec_id);
  std::exchange(exec_, nullptr)->Detach(this);
  End(held_.Put(caller_.name, std::move(answer), response_, advice));
}

absl::StatusOr<Bytes> WaitExecCall::Answer() {
  switch (method_) {
    case Method::kStart: {
      v1::StartExecResponse response;
      FillSnapshot(*exec_, next_sequence, *response.mutable_snapshot());
      response.set_joined(joined_);
      return SerializeMessage(response);
    }
    case Method::kPoll: {
      v1::PollExecResponse response;
      FillSnapshot(*exec_, next_sequence, *response.mutable_snapshot());
      return SerializeMessage(response);
    }
    case Method::kStop: {
      v1::StopExecResponse response;
      *response.mutable_exec() = exec_->Describe();
      return SerializeMessage(response);
    }
  }
  return absl::InternalError("no such method");
}

}  // namespace sandglass::server
