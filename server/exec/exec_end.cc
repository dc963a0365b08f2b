// How a command is ended: signals, limits, and what is then known about it.
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "sandbox/os/terminal.h"
#include "server/base/errors.h"
#include "server/exec/exec.h"
#include "server/exec/exec_answers.h"
#include "server/job/jail_network.h"
#include "server/job/limit_watch.h"
#include "server/job/run_times.h"

namespace sandglass::server {
namespace {

// Reads what the group of one command has used.
class GroupMeter final : public RunMeter {
 public:
  explicit GroupMeter(const os::Fd& cpu) : cpu_(cpu) {}
  absl::Duration CpuTime() const override {
    const sandbox::GroupCpu used = sandbox::GroupCpuTime(cpu_);
    return used.user + used.system;
  }

 private:
  const os::Fd& cpu_;
};

// Whether it was killed by the kernel or by itself, or, as its shell reports, a
// child of it was.
bool LooksKilled(std::optional<int> wait_status) {
  return wait_status.has_value() &&
         ((WIFSIGNALED(*wait_status) && WTERMSIG(*wait_status) == SIGKILL) ||
          (WIFEXITED(*wait_status) &&
           WEXITSTATUS(*wait_status) == 128 + SIGKILL));
}

}  // namespace

void Exec::Signal(int signal) {
  if (state_ != State::kRunning) return;
  pid_t group = pid_;
  if (plan_.on_terminal() && out_.fd.valid()) {
    if (const pid_t front = os::ForegroundGroup(out_.fd.get()); front > 1) {
      group = front;
    }
  }
  host_->SignalProcess(group, signal, /*to_group=*/true);
}

void Exec::Stop(int signal, absl::Duration grace) {
  if (state_ == State::kStarting) return Kill(policy::KillReason::kCancelled);
  if (state_ != State::kRunning || limit_watch_.kill().has_value()) return;
  // ORDER: the reason is recorded before the signal is sent.
  limit_watch_.Record(Now(), policy::KillReason::kCancelled);
  Signal(signal);
  if (plan_.on_terminal()) {
    // Besides the foreground group, the group of the command's own process gets
    // a signal. An interactive shell reacts only to SIGHUP.
    if (signal == SIGTERM) signal = SIGHUP;
    host_->SignalProcess(pid_, signal, /*to_group=*/true);
    if (signal == SIGHUP && grace > kHangUpAgain) {
      grace_left_ = grace - kHangUpAgain;
      SetTimer(kill_timer_, After(Now(), kHangUpAgain), &Exec::HangUpAgain);
      return;
    }
  }
  SetTimer(kill_timer_, After(Now(), grace), &Exec::GraceIsOver);
}

void Exec::HangUpAgain() {
  if (state_ != State::kRunning) return;
  host_->SignalProcess(pid_, SIGHUP, /*to_group=*/true);
  SetTimer(kill_timer_, After(Now(), grace_left_), &Exec::GraceIsOver);
}

void Exec::GraceIsOver() {
  if (state_ == State::kRunning) Kill(policy::KillReason::kCancelled);
}

void Exec::Kill(policy::KillReason reason, uint64_t measured) {
  // ORDER: the reason is recorded before the signal is sent.
  limit_watch_.RecordKill(Now(), reason, measured);
  if (state_ != State::kRunning) return;
  StopTimer(limit_timer_);
  (void)sandbox::KillGroup(fds_.kill);
  AwaitDeath();
}

void Exec::AwaitDeath() {
  if (death_.has_value()) return;
  death_.emplace(Now(), kCommandDeath);
  SetTimer(kill_timer_, death_->next(), &Exec::InsistOnDeath);
}

void Exec::InsistOnDeath() {
  const Death::Step step = death_->Check(Now());
  if (step == Death::Step::kGiveUp) {
    // If even killing doesn't end the processes, the whole jail is ended.
    host_->EndJail("a command's processes did not die after being killed");
    return GiveUp();
  }
  // The control group's kill may have missed it.
  if (step == Death::Step::kKillByPid) host_->KillProcess(process_);
  SetTimer(kill_timer_, death_->next(), &Exec::InsistOnDeath);
}

void Exec::GiveUp() {
  const auto self = shared_from_this();
  if (state_ == State::kStarting) {
    return Fail(
        RunFailed(absl::UnavailableError("the jail's init doesn't answer")));
  }
  gave_up_ = true;
  Exited(std::nullopt, Now());
}

void Exec::CheckLimits() {
  if (const auto kill =
          limit_watch_.Check(Now(), GroupMeter(fds_.cpu), {}, written())) {
    Kill(kill->reason, kill->measured);
  }
}

void Exec::CheckLimitsInTime() {
  CheckLimits();
  if (limit_watch_.is_long()) host_->YieldTurn();
  SetTimer(limit_timer_, limit_watch_.next(), &Exec::CheckLimitsInTime);
}

void Exec::SetTimer(uint64_t& timer, MonotonicTime when, void (Exec::*call)()) {
  StopTimer(timer);
  if (when == kNever) return;
  timer = around_.loop->CallAt(when, [weak = weak_from_this(), &timer, call] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    timer = 0;
    (self.get()->*call)();
  });
}

void Exec::StopTimer(uint64_t& timer) {
  around_.loop->Cancel(std::exchange(timer, 0));
}

void Exec::Fail(const absl::Status& status) {
  state_ = State::kFailing;
  status_ = status;
  StopTimer(kill_timer_);
  StopWriting();
  around_.keeper->BeforeEnd(
      shared_from_this(), [self = shared_from_this()](const ExecSaved& saved) {
        if (!saved.recorded.ok()) self->status_ = saved.recorded;
        self->state_ = State::kFailed;
        self->around_.keeper->RecordOver(*self);
        self->use_.reset();
        self->Changed();
      });
}

void Exec::Conclude() {
  state_ = State::kSaving;
  StopTimer(stall_timer_);
  out_.fd.reset();
  err_.fd.reset();
  fds_ = {};
  const JailFacts after = host_->Facts();
  policy::Limits limits = plan_.limits;
  // Output that was not kept doesn't count as cut, since clients could read it
  // in time.
  limits.output_bytes = kNoByteLimit;
  policy::RedactionCounts redacted = out_.redaction.counts();
  policy::AddCounts(err_.redaction.counts(), redacted);
  const std::string tail = output_.Tail(policy::kHintScanBytes);
  end_ = MakeExecEnd(CollectFacts(after), limits, cpu_, redacted,
                     {.stderr_tail = tail,
                      .stdin_given = plan_.process.with_stdin,
                      .has_network = plan_.has_network,
                      .libraries = plan_.library_offer});
  if (before_.network && after.network) {
    FillNetwork(sandbox::Since(*before_.network, *after.network),
                *end_.mutable_network());
  }
  around_.keeper->BeforeEnd(
      shared_from_this(), [self = shared_from_this()](const ExecSaved& saved) {
        self->Publish(saved);
      });
}

void Exec::Publish(const ExecSaved& saved) {
  state_ = State::kEnded;
  end_.set_files_not_saved(saved.files_not_saved);
  end_.set_trace_id(plan_.trace_id);
  status_ = saved.recorded;
  LogExecEnd(session().id(), plan_.exec_id, end_);
  around_.keeper->RecordOver(*this);
  // Whoever gets the answer may rely on the session being free again.
  use_.reset();
  Changed();
}

policy::RunFacts Exec::CollectFacts(const JailFacts& after) const {
  policy::RunFacts facts;
  facts.wait_status = wait_status_;
  facts.kill = limit_watch_.kill();
  facts.wall_time = RunTime();
  facts.cpu_time = cpu_.user + cpu_.system;
  facts.stdout_bytes = out_.redaction.taken_bytes();
  facts.stderr_bytes = err_.redaction.taken_bytes();
  facts.leftover_processes = leftover_;
  facts.filesystems = after.filesystems;
  facts.filesystems_before = before_.filesystems;
  facts.said_disk_full = policy::SaysDiskFull(output_.Tail(policy::kEndBytes));
  facts.counters = sandbox::Since(before_.counters, after.counters);
  // The counters are those of the whole session.
  const bool alone =
      !had_company_ && !before_.kernel_busy && !after.kernel_busy;
  if (!alone && !LooksKilled(wait_status_)) facts.counters.oom_kills = 0;
  if (jail_out_of_memory_) facts.counters.oom_kills = 1;
  // The peak that is counted is the session's. If it rose, the command was
  // there; else nobody knows the command's own.
  if (after.counters.peak_memory_bytes > before_.counters.peak_memory_bytes) {
    facts.peak_memory_bytes = after.counters.peak_memory_bytes;
  }
  facts.peak_processes = leftover_ + 1;
  return facts;
}

}  // namespace sandglass::server
