#include "server/exec/exec.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sandbox/os/clocks.h"
#include "sandbox/os/io.h"
#include "sandbox/os/terminal.h"
#include "server/base/errors.h"
#include "server/base/proto_time.h"
#include "server/exec/exec_answers.h"
#include "server/job/output_pump.h"
#include "server/job/run_times.h"

namespace sandglass::server {
namespace {

// A client that keeps a command waiting for so long is given up.
constexpr absl::Duration kPatience = absl::Seconds(30);
// For a terminal it can't be told how many bytes wait in it, so this bounds
// what is read at the end.
constexpr uint64_t kMaxInTerminal = uint64_t{1} << 20;
constexpr char kEndOfInput = 4;  // ^D

}  // namespace

Exec::Exec(uint64_t number, ExecPlan plan, SessionUse use,
           const ExecSurroundings& around)
    : number_(number),
      plan_(std::move(plan)),
      around_(around),
      use_(std::move(use)),
      host_(use_->session().host().processes()),
      background_(plan_.background),
      out_{Stream::kStdout, OutputRedaction(plan_.redactor)},
      err_{Stream::kStderr, OutputRedaction(plan_.redactor)},
      output_(plan_.limits.output_bytes, *around.kept),
      limit_watch_(plan_.limits, kShortestCommandCpuCheck,
                   absl::InfiniteDuration()) {}

Exec::~Exec() {
  StopWatching(out_);
  StopWatching(err_);
  StopWriting();
  around_.loop->Forget(events_watch_);
  for (uint64_t* timer :
       {&limit_timer_, &kill_timer_, &stall_timer_, &pause_timer_}) {
    StopTimer(*timer);
  }
}

// ---- its process ----

absl::Status Exec::Start(const ProcessNewsHandler& take) {
  // ORDER: this comes before its process starts, whose first connection counts.
  before_ = host_->Facts();
  asked_ = Now();
  sandbox::ProcessSpec process = plan_.process;
  process.argv.insert(process.argv.begin(), plan_.starter.begin(),
                      plan_.starter.end());
  absl::Status asked = host_->StartProcess(process, take);
  if (absl::IsFailedPrecondition(asked)) {
    // The session was paused just now.
    if (absl::Status thawed = session().Thaw(); !thawed.ok()) return thawed;
    asked = host_->StartProcess(process, take);
  }
  if (!asked.ok()) return asked;
  SetTimer(kill_timer_, After(Now(), kStartTimeout), &Exec::GiveUp);
  WriteStdin(plan_.stdin_data);
  if (!plan_.open_stdin) stdin_closing_ = true;
  KeepForShow(plan_);
  return absl::OkStatus();
}

void Exec::Handle(ProcessNews& news) {
  const auto self = shared_from_this();
  if (auto* spawned = std::get_if<sandbox::SpawnedEvent>(&news)) {
    Started(*spawned);
  } else if (const auto* failed =
                 std::get_if<sandbox::SpawnFailedEvent>(&news)) {
    Fail(StartFailure(*failed, plan_));
  } else if (const auto* exited =
                 std::get_if<sandbox::ProcessExitedEvent>(&news)) {
    Exited(exited->wait_status, FromNanos(exited->monotonic_ns));
  } else if (const auto* froze = std::get_if<JailFroze>(&news)) {
    Froze(froze->frozen);
  } else if (const auto* died = std::get_if<JailDied>(&news)) {
    jail_out_of_memory_ = died->out_of_memory;
    if (state_ == State::kStarting) {
      const absl::Status over = session().Lives();
      Fail(!over.ok() ? over : RunFailed(absl::UnavailableError(died->how)));
    } else {
      gave_up_ = true;
      Exited(std::nullopt, Now());
    }
  }
}

void Exec::Started(sandbox::SpawnedEvent& event) {
  if (state_ != State::kStarting) {  // the command was given up meanwhile
    (void)sandbox::KillGroup(event.fds.kill);
    host_->KillProcess(event.id);
    return;
  }
  const MonotonicTime now = Now();
  state_ = State::kRunning;
  StopTimer(kill_timer_);
  process_ = event.id;
  pid_ = event.pid;
  // Use the time that init gave, unless it can't be true.
  start_ = std::clamp(FromNanos(event.monotonic_ns), asked_, now);
  start_time_ = os::WallNow() - Between(start_, now);
  fds_ = std::move(event.fds);
  if (plan_.on_terminal()) {
    out_.fd = std::move(fds_.terminal);
    // A descriptor of its own, since it is watched for other events.
    stdin_fd_.reset(::fcntl(out_.fd.get(), F_DUPFD_CLOEXEC, 0));
  } else {
    out_.fd = std::move(fds_.stdout_fd);
    err_.fd = std::move(fds_.stderr_fd);
    stdin_fd_ = std::move(fds_.stdin_fd);
  }
  ChangeUse();
  limit_watch_.Begin(start_);
  had_yielded_ = host_->BeginTurn();
  if (limit_watch_.kill().has_value()) return Kill(limit_watch_.kill()->reason);
  SetTimer(limit_timer_, limit_watch_.next(), &Exec::CheckLimitsInTime);
  WriteSome();
  WatchOutput();
  Changed();
}

void Exec::Exited(std::optional<int> wait_status, MonotonicTime when) {
  if (state_ == State::kEnding && gave_up_) FinishWhenAlone();
  if (state_ != State::kRunning) return;
  ended_ = std::clamp(when, start_, Now());
  limit_watch_.End(ended_);
  if (had_yielded_) host_->YieldTurn();
  state_ = State::kEnding;
  wait_status_ = wait_status;
  cpu_ = sandbox::GroupCpuTime(fds_.cpu);
  StopTimer(limit_timer_);
  StopWriting();
  if (!limit_watch_.kill().has_value() && !sandbox::GroupIsEmpty(fds_.events)) {
    leftover_ = sandbox::CountGroup(fds_.list);
  }
  // Kills what the command left behind.
  (void)sandbox::KillGroup(fds_.kill);
  AwaitDeath();
  events_watch_ = Watch(fds_.events, EPOLLPRI, &Exec::FinishWhenAlone);
  FinishWhenAlone();
}

void Exec::FinishWhenAlone() {
  if (state_ != State::kEnding) return;
  if (!gave_up_ && !sandbox::GroupIsEmpty(fds_.events)) return;
  gave_up_ = true;
  around_.loop->Forget(std::exchange(events_watch_, 0));
  StopTimer(kill_timer_);
  StopTimer(pause_timer_);
  for (Source* source : {&out_, &err_}) {
    StopWatching(*source);
    // Other processes may still have its pipe open, but that doesn't keep the
    // command from ending.
    source->left = plan_.on_terminal() ? kMaxInTerminal
                                       : os::WaitingBytes(source->fd.get());
  }
  Drain();
}

void Exec::Drain() {
  if (state_ != State::kEnding) return;
  for (Source* source : {&out_, &err_}) {
    // It waits for no client: the end is for all of them, and what is left here
    // is little.
    while (source->left > 0 && source->fd.valid()) {
      const uint64_t before = source->redaction.taken_bytes();
      if (!ReadOnce(*source)) break;
      source->left -=
          std::min(source->left, source->redaction.taken_bytes() - before);
    }
    source->left = 0;
  }
  for (Source* source : {&out_, &err_}) {
    AppendOutput(*source, source->redaction.Rest());
  }
  Conclude();
}

void Exec::Froze(bool frozen) {
  if (frozen == limit_watch_.paused() || state_ != State::kRunning) return;
  if (frozen) {
    limit_watch_.Pause(Now());
  } else {
    limit_watch_.Resume(Now());
  }
  SetTimer(limit_timer_, limit_watch_.next(), &Exec::CheckLimitsInTime);
}

// ---- its clients ----

void Exec::Changed() {
  const std::vector<ExecClient*> clients = clients_;
  for (ExecClient* client : clients) {
    if (std::find(clients_.begin(), clients_.end(), client) != clients_.end()) {
      client->OnExecChange();
    }
  }
}

void Exec::ChangeUse() {
  if (!use_.has_value()) return;
  const bool attended = !background_ && !clients_.empty();
  // A process that is being started must not be frozen.
  use_->Change(attended || state_ == State::kStarting
                   ? Session::UseKind::kCommand
                   : Session::UseKind::kBackground);
}

void Exec::Attach(ExecClient* client) {
  clients_.push_back(client);
  ChangeUse();
}

void Exec::Detach(ExecClient* client) {
  std::erase(clients_, client);
  ChangeUse();
  OutputTaken();
}

void Exec::Leave(ExecClient* client) {
  const auto self = shared_from_this();
  std::erase(clients_, client);
  const bool kept = background_ || plan_.named || OtherKeepsAlive(client);
  if (runs() && !kept) Kill(policy::KillReason::kCancelled);
  ChangeUse();
  OutputTaken();
}

void Exec::GoOnInBackground() {
  background_ = true;
  ChangeUse();
}

bool Exec::OtherKeepsAlive(const ExecClient* client) const {
  return std::ranges::any_of(clients_, [client](const ExecClient* other) {
    return other != client && other->keeps_alive;
  });
}

void Exec::GoOnWithout(const ExecClient* client) {
  if (!OtherKeepsAlive(client)) GoOnInBackground();
}

uint64_t Exec::WantedFrom() const {
  uint64_t from = ~uint64_t{0};
  for (const ExecClient* client : clients_) {
    if (client->waits_for_all) from = std::min(from, client->next_sequence);
  }
  return from;
}

v1::ExecInfo Exec::Describe() {
  v1::ExecInfo info = InfoOf(plan_);
  info.set_state(state_ == State::kEnded ? v1::EXEC_STATE_ENDED
                                         : v1::EXEC_STATE_RUNNING);
  info.set_background(background_);
  info.set_pid(pid_);
  *info.mutable_start_time() = ToProto(start_time_);
  info.set_last_sequence(output_.SealNextSequence() - 1);
  info.set_first_sequence(output_.first_sequence());
  if (state_ == State::kEnded && status_.ok()) *info.mutable_end() = end_;
  info.set_attached(static_cast<uint32_t>(clients_.size()));
  return info;
}

// ---- what it writes ----

bool Exec::MustWait() const {
  const std::optional<policy::Kill>& kill = limit_watch_.kill();
  if (kill.has_value() && kill->reason == policy::KillReason::kShutdown) {
    return false;
  }
  return output_.full() && output_.first_sequence() >= WantedFrom();
}

void Exec::OutputTaken() {
  if (state_ == State::kRunning) WatchOutput();
}

void Exec::WatchOutput() {
  const bool waits = MustWait();
  const bool pauses = pace_.Pauses(Now());
  for (Source* source : {&out_, &err_}) {
    if (waits || pauses || !source->fd.valid()) {
      StopWatching(*source);
    } else if (source->watch == 0) {
      source->watch = Watch(source->fd, EPOLLIN,
                            [source](Exec& exec) { exec.ReadSome(*source); });
    }
  }
  if (pauses && pause_timer_ == 0) {
    SetTimer(pause_timer_, pace_.end(), &Exec::ReadAfterPause);
  }
  if (!waits) return StopTimer(stall_timer_);
  if (stall_timer_ == 0) {
    SetTimer(stall_timer_, After(Now(), kPatience), &Exec::Stalled);
  }
}

void Exec::ReadAfterPause() {
  if (state_ != State::kRunning && state_ != State::kEnding) return;
  const bool err_first = pace_.last_stream() == Stream::kStderr;
  ReadSome(err_first ? err_ : out_);
  ReadSome(err_first ? out_ : err_);
}

uint64_t Exec::Watch(const os::Fd& fd, uint32_t events,
                     std::function<void(Exec&)> call) {
  return around_.loop->Watch(
      fd.get(), events,
      [weak = weak_from_this(), call = std::move(call)](uint32_t) {
        if (const auto self = weak.lock()) call(*self);
      });
}

void Exec::StopWatching(Source& source) {
  around_.loop->Forget(std::exchange(source.watch, 0));
}

void Exec::ReadSome(Source& source) {
  if (!source.fd.valid() || state_ == State::kSaving) return;
  if (!MustWait() && ReadOnce(source)) Changed();
  if (state_ == State::kRunning || state_ == State::kEnding) WatchOutput();
}

bool Exec::ReadOnce(Source& source) {
  const size_t max = output_.piece_bytes();
  const auto data = ReadPipe(source.fd.get(), max);
  if (!data.has_value()) return false;
  if (data->empty()) {
    StopWatching(source);
    source.fd.reset();
    return false;
  }
  // A terminal gives little at a time, however much comes.
  if (!plan_.on_terminal()) {
    pace_.Record(source.stream, data->size(), max, Now());
  }
  AppendOutput(source, source.redaction.Feed(*data));
  CheckLimits();
  return true;
}

void Exec::AppendOutput(const Source& source, std::string_view data) {
  if (data.empty()) return;
  if (around_.kept->full()) around_.keeper->MakeRoom();
  const absl::Duration since = std::max(RunTime(), absl::ZeroDuration());
  // Output that was held back comes together, and redaction marks may be longer
  // than what they replace.
  for (const size_t max = output_.piece_bytes(); !data.empty();
       data.remove_prefix(std::min(max, data.size()))) {
    output_.Append(source.stream, data.substr(0, max), since, WantedFrom());
  }
}

void Exec::Stalled() {
  const std::vector<ExecClient*> clients = clients_;
  for (ExecClient* client : clients) {
    if (!client->waits_for_all ||
        client->next_sequence > output_.first_sequence()) {
      continue;
    }
    client->OnTooSlow();
    Leave(client);
  }
}

// ---- what it reads ----

absl::Status Exec::CheckStdin() const {
  if (plan_.open_stdin) return absl::OkStatus();
  return InvalidRequest(
      {{"stdin", "the command was started without open_stdin"}});
}

void Exec::WriteStdin(std::string_view data) {
  // Input that comes too late is lost, as in a pipe that nobody reads.
  if (stdin_closing_ || stdin_closed_) return;
  stdin_.append(data);
  around_.stdin_waiting->Force(data.size());
  ExpectAnswer();
  if (state_ == State::kRunning) WriteSome();
}

void Exec::CloseStdin() {
  if (plan_.on_terminal()) return WriteStdin({&kEndOfInput, 1});
  stdin_closing_ = true;
  ExpectAnswer();
  if (state_ == State::kRunning) WriteSome();
}

void Exec::ExpectAnswer() {
  pace_.ReadPromptly();
  if (pause_timer_ == 0) return;
  StopTimer(pause_timer_);
  if (state_ == State::kRunning) WatchOutput();
}

void Exec::WriteSome() {
  while (stdin_fd_.valid() && stdin_written_ < stdin_.size()) {
    const ssize_t size =
        os::WriteNow(stdin_fd_.get(), stdin_.data() + stdin_written_,
                     stdin_.size() - stdin_written_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {
      if (stdin_watch_ != 0) return;
      stdin_watch_ = Watch(stdin_fd_, EPOLLOUT, [](Exec& exec) {
        exec.WriteSome();
        if (exec.stdin_taken()) exec.Changed();
      });
      return;
    }
    if (size < 0) return StopWriting();  // nobody reads it
    stdin_written_ += static_cast<size_t>(size);
  }
  DropStdin();
  if (stdin_closing_) StopWriting();
}

void Exec::DropStdin() {
  around_.loop->Forget(std::exchange(stdin_watch_, 0));
  around_.stdin_waiting->Release(stdin_.size());
  std::string().swap(stdin_);
  stdin_written_ = 0;
}

void Exec::StopWriting() {
  DropStdin();
  stdin_closed_ = true;
  stdin_fd_.reset();
}

void Exec::Resize(const TerminalRoom& room) {
  if (!plan_.on_terminal() || !out_.fd.valid()) return;
  (void)os::SetTerminalSize(out_.fd.get(), room.rows, room.columns);
}

}  // namespace sandglass::server
