#include "server/job/one_use_job.h"

#include <poll.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/status.h"
#include "server/base/clock.h"
#include "server/base/poll_until.h"
#include "server/job/collect_files.h"
#include "server/job/death.h"
#include "server/job/end_marker.h"
#include "server/job/jail_source.h"
#include "server/job/limit_watch.h"
#include "server/job/output_pump.h"
#include "server/job/program_input.h"
#include "server/job/run_times.h"
#include "server/job/runner_inspection.h"

namespace sandglass::server {
namespace {

using sandbox::Jail;

constexpr int kMaxEventsAtOnce = 64;  // then deadlines are checked

class JobRun {
 public:
  JobRun(sandbox::Sandbox& sandbox, JailPool& pool, const Job& job,
         CancelToken& cancel, RunListener* listener)
      : source_(sandbox, pool, job),
        job_(job),
        cancel_(cancel),
        listener_(listener),
        look_(job),
        output_(stdout_, stderr_, job, listener),
        limit_watch_(job.limits) {}

  // Does one run, step by step.
  absl::StatusOr<JobResult> Execute() {
    began_ = Now();
    // A jail that was made in advance may die just when it is handed out.
    // Nothing has run in it, so the next jail will do; each try uses one up.
    while (!started_) {
      if (absl::Status status = Acquire(); !status.ok()) return status;
      if (look_.stopped()) return FinishUnstarted();
      if (absl::Status status = AwaitStart(); !status.ok()) return status;
      if (look_.stopped()) return FinishUnstarted();
    }
    if (absl::Status status = AwaitEnd(); !status.ok()) return status;
    if (absl::Status status = Drain(); !status.ok()) return status;
    CollectFacts();
    CollectFiles(gone_ ? nullptr : jail_.get(), job_, listener_, result_);
    return Finish();
  }

 private:
  absl::Status Acquire() {
    gone_ = false;
    jail_.reset();  // a jail that died gives up its slot
    MadeJail jail = source_.Next();
    if (!jail.ok()) return jail.status();
    jail_ = *std::move(jail);
    if (!look_.CanBeIn(*jail_)) return absl::OkStatus();
    if (jail_->is_ready()) AdoptStreams();
    // Sent before the jail is ready; init starts on it without a round trip.
    const absl::Status sent = jail_->StartProgram(ToProgram(job_, *jail_));
    gone_ = absl::IsUnavailable(sent);
    return gone_ ? absl::OkStatus() : sent;
  }

  absl::Status AwaitStart() {
    const MonotonicTime deadline = After(began_, kStartTimeout);
    while (!started_ && !gone_ && !look_.stopped()) {
      if (cancel_.reason().has_value()) {
        return absl::CancelledError("cancelled before the program started");
      }
      struct pollfd fds[3] = {{jail_->control_fd(), POLLIN, 0},
                              {cancel_.fd(), POLLIN, 0},
                              {jail_->runner_fd(), POLLIN, 0}};
      PollUntil(fds, 3, std::min(deadline, look_.deadline()));
      if (Now() >= look_.deadline()) {
        look_.HandleTimeout();
        return absl::OkStatus();
      }
      // What has come by then counts, also where this process stood still.
      const bool late = Now() >= deadline;
      if (absl::Status status = HandleEvents(); !status.ok()) return status;
      if (late && !started_ && !gone_ && !look_.stopped()) {
        return absl::InternalError(
            absl::StrCat("the jail was not ready within ",
                         absl::FormatDuration(kStartTimeout)));
      }
    }
    if (started_ || look_.stopped()) return absl::OkStatus();
    if (look_.HandleDeath(*jail_)) return absl::OkStatus();
    // Init died before the program started. If a memory limit is too small even
    // for that, it's the caller's fault; everything else is ours.
    if (jail_->SawOomKill()) {
      MarkStarted(Now());
    } else if (!source_.warm()) {
      return absl::InternalError("the jail's init died during set-up");
    }
    return absl::OkStatus();
  }

  absl::Status AwaitEnd() {
    limit_watch_.Begin(start_);
    while (!exited_ && !gone_ && !ending_) {
      const MonotonicTime wake = std::min(limit_watch_.next(), oom_check_);
      if (absl::Status status = PollOnce(wake); !status.ok()) return status;
      if (exited_ || gone_) break;
      const MonotonicTime now = Now();
      if (now >= oom_check_) CheckForOomKill();
      // ORDER: a kill by the kernel is a fact, while ours are decisions; a fact
      // that is already there comes first.
      if (oom_after_.has_value() ||
          limit_watch_.Check(now, JailMeter(*jail_), cancel_.reason(),
                             output_.written_bytes())) {
        Kill();
      }
      if (limit_watch_.is_long()) jail_->cpu_turn().Yield();
    }
    return absl::OkStatus();
  }

  void Kill() {
    ending_ = true;
    // ORDER: the reason is recorded already when the signal is sent.
    if (!jail_->KillRun().ok()) (void)jail_->KillJail();
  }

  // Lasts from the program's end (or its kill) until group and pipes are empty.
  absl::Status Drain() {
    drain_began_ = Now();
    // A program that said that it is done only has memory to give back, for
    // which nobody needs to wait. Its end is awaited only if it isn't alone,
    // files have to be at rest, or init has refused calls to report.
    if (done_ && !(job_.fetch.empty() && jail_->RunIsOneProcess() &&
                   !jail_->traces_calls())) {
      exited_ = false;
      const MonotonicTime deadline = After(drain_began_, kRunnerEndTimeout);
      while (!exited_ && !gone_ && Now() < deadline) {
        absl::Status status = PollOnce(deadline);
        if (!status.ok()) return status;
      }
      exited_ = true;
      done_ = false;
      end_ = Now();  // the program may have gone on after saying so
    }
    if (exited_ && !done_ && !jail_->RunIsEmpty()) {
      leftover_ = jail_->LivingProcesses();
      (void)jail_->KillRun();
    }
    if (gone_) (void)jail_->KillJail();
    Death death(Now(), kProgramDeath);
    while (!done_ && !(jail_->RunIsEmpty() && (exited_ || gone_))) {
      const Death::Step step = death.Check(Now());
      if (step == Death::Step::kKillByPid) (void)jail_->KillRunByPid();
      if (step == Death::Step::kEndJail) (void)jail_->KillJail();
      if (step == Death::Step::kEndPidNamespace) jail_->EndNamespace();
      if (step == Death::Step::kGiveUp) {
        return absl::InternalError(
            "the program's processes did not die after being killed");
      }
      // Check again even if no notice of the last process's death comes.
      const MonotonicTime wake = After(Now(), kSampleInterval);
      if (absl::Status status = PollOnce(wake); !status.ok()) return status;
    }
    // What is in the pipes now is all that counts: nobody can write any more,
    // or the program said that it is done, even if it goes on writing.
    output_.Drain();
    HandleEndMarker();
    end_of_drain_ = Now();
    return absl::OkStatus();
  }

  // Waits for any event and handles what came.
  absl::Status PollOnce(MonotonicTime deadline) {
    const OutputPace& pace = output_.pace();
    const bool reads = !pace.Pauses(Now());
    if (!reads) deadline = std::min(deadline, pace.end());
    // poll(2) skips negative descriptors.
    struct pollfd fds[] = {
        {gone_ ? -1 : jail_->control_fd(), POLLIN, 0},
        {reads ? stdout_.get() : -1, POLLIN, 0},
        {reads ? stderr_.get() : -1, POLLIN, 0},
        {input_.fd(), POLLOUT, 0},
        {ending_ ? -1 : cancel_.fd(), POLLIN, 0},
        {oom_after_.has_value() ? -1 : jail_->oom_fd(),
         jail_->oom_poll_events(), 0},
        {ending_ || exited_ ? jail_->run_events_fd() : -1, POLLPRI, 0},
        {done_ ? -1 : jail_->runner_fd(), POLLIN, 0},
    };
    PollUntil(fds, std::size(fds), deadline);
    if (fds[5].revents != 0) NoticeOom();
    if (fds[0].revents != 0 || fds[7].revents != 0) {
      if (absl::Status status = HandleEvents(); !status.ok()) return status;
    }
    output_.Read(fds[1].revents != 0, fds[2].revents != 0);
    HandleEndMarker();
    if (fds[3].revents != 0) input_.Write();
    return absl::OkStatus();
  }

  // The kernel announces a lack of memory before it kills, and also when it
  // only refuses; so its kill counter is checked again and again.
  void NoticeOom() {
    jail_->AcknowledgeOom();
    oom_wait_ = kShortestOomCheck;
    CheckForOomKill();
  }

  void CheckForOomKill() {
    if (started_ && jail_->SawOomKill()) {
      oom_after_ = Between(start_, Now());
      oom_check_ = kNever;
      return;
    }
    oom_check_ = After(Now(), oom_wait_);
    oom_wait_ = std::min(oom_wait_ * 2, kSampleInterval);
  }

  absl::Status HandleEvents() {
    for (int i = 0; i < kMaxEventsAtOnce; ++i) {
      absl::StatusOr<std::optional<sandbox::JailEvent>> event =
          jail_->NextEvent();
      if (!event.ok()) {
        (void)jail_->KillJail();
        return event.status();
      }
      if (!event->has_value()) return absl::OkStatus();
      if (absl::Status status = Handle(**event); !status.ok()) return status;
      if (gone_) return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  absl::Status Handle(sandbox::JailEvent& event) {
    if (std::holds_alternative<sandbox::ReadyEvent>(event)) {
      AdoptStreams();
    } else if (const auto* failed = std::get_if<sandbox::FailedEvent>(&event)) {
      return SetupError(*failed);
    } else if (const auto* facts = std::get_if<sandbox::FactsEvent>(&event)) {
      const absl::StatusOr<bool> starts = look_.Decide(facts->text, *jail_);
      if (!starts.ok()) return starts.status();
      if (*starts) MarkStarted(Now());
    } else if (const auto* started =
                   std::get_if<sandbox::StartedEvent>(&event)) {
      MarkStarted(FromNanos(started->monotonic_ns));
    } else if (const auto* done = std::get_if<sandbox::DoneEvent>(&event)) {
      if (!done_) MarkDone(done->exit_code, Now());
    } else if (auto* exited = std::get_if<sandbox::ExitedEvent>(&event)) {
      result_.refused = std::move(exited->refused);
      const bool known =
          std::exchange(exited_, true) || wait_status_.has_value();
      if (known) return absl::OkStatus();
      wait_status_ = exited->wait_status;
      // Use the time that init gave, unless it can't be true.
      end_ = std::clamp(FromNanos(exited->monotonic_ns), start_, Now());
    } else if (std::holds_alternative<sandbox::GoneEvent>(event)) {
      gone_ = true;
      end_ = Now();
    }
    return absl::OkStatus();
  }

  bool WasReady() const { return ready_ != MonotonicTime(); }

  void AdoptStreams() {
    ready_ = Now();
    look_.Begin();
    stdout_ = std::move(jail_->stdout_fd());
    stderr_ = std::move(jail_->stderr_fd());
    EndMarker note;
    // If there is nothing to write, the daemon's end is closed at once.
    input_.Open(std::move(jail_->stdin_fd()), WaitingFrame(job_, *jail_, note),
                job_.stdin_data);
    output_.ExpectNote(std::move(note));
  }

  void MarkStarted(MonotonicTime when) {
    input_.Write();
    started_ = true;
    start_ = std::clamp(when, began_, Now());
    output_.Begin(start_);
    end_ = std::max(end_, start_);     // a runner's end may be reported first
    if (!WasReady()) ready_ = start_;  // the jail died before it was ready
    start_time_ = os::WallNow() - Between(start_, Now());
    if (listener_ != nullptr) listener_->OnStarted(job_);
  }

  // `when` is measured here, so a program can't shorten its time.
  void MarkDone(int exit_code, MonotonicTime when) {
    done_ = exited_ = true;
    wait_status_ = exit_code << 8;  // in the form of wait(2)
    end_ = when;
  }

  // The interpreter may have noted on stdout that the program is over.
  void HandleEndMarker() {
    if (output_.noted_exit_code() && !done_ && !exited_ && !ending_) {
      MarkDone(*output_.noted_exit_code(), output_.noted_at());
    }
  }

  void CollectFacts() {
    policy::RunFacts& facts = result_.facts;
    facts.phase = job_.phase;
    const sandbox::JailCounters counters = jail_->ReadCounters();
    facts.wait_status = wait_status_;
    facts.kill = limit_watch_.kill();
    facts.counters = sandbox::Since({}, counters);
    facts.oom_seen_after = oom_after_;
    facts.filesystems = jail_->FilesystemFills();
    facts.wall_time = Between(start_, end_);
    facts.cpu_time = counters.cpu_total();
    facts.peak_memory_bytes = counters.peak_memory_bytes;
    facts.leftover_processes = leftover_;
    output_.CollectResult(result_);
    facts.runtime_words = policy::FindRuntimeWords(job_.out_of_memory,
                                                   result_.stderr_result.data);
    limit_watch_.Sample(JailMeter(*jail_));
    const LimitWatch::Peaks& peaks = limit_watch_.peaks();
    facts.peak_processes =
        std::max({jail_->PeakProcesses().value_or(0), peaks.processes, 1u});
    result_.network = jail_->ReadNetworkUse();
    result_.cpu_user = counters.cpu_user;
    result_.cpu_system = counters.cpu_system;
    result_.peak_shared_bytes = peaks.shared_bytes;
    // A run that is shorter than a sampling interval has no sample of its own
    // memory; it is then what the peak leaves beside the files at the end.
    const uint64_t derived =
        counters.peak_memory_bytes -
        std::min(counters.peak_memory_bytes, peaks.shared_bytes);
    result_.peak_anonymous_bytes = std::max(peaks.anonymous_bytes, derived);
    result_.verdict = policy::Decide(facts, job_.limits);
  }

  // Makes the result of a run whose program was not allowed to start.
  JobResult FinishUnstarted() {
    start_time_ = os::WallNow();
    if (!WasReady()) ready_ = Now();
    return Result();
  }

  JobResult Finish() {
    Timings& timings = result_.timings;
    // Readiness is noted when we hear of it; init tells when the start was.
    timings.stage_in = std::max(Between(ready_, start_), absl::ZeroDuration());
    timings.run = Between(start_, end_);
    timings.drain = Between(end_, end_of_drain_);
    timings.stage_out = Between(end_of_drain_, Now());
    timings.setup_steps = jail_->steps();
    return Result();
  }

  // What a result says whether or not the program started.
  JobResult Result() {
    result_.limits = job_.limits;
    result_.start_time = start_time_;
    result_.timings.warm = source_.warm();
    result_.timings.kind = source_.kind();
    result_.timings.acquire = Between(began_, ready_);
    look_.Fill(result_);
    result_.jail = std::move(jail_);
    return std::move(result_);
  }

  JailSource source_;
  const Job& job_;
  CancelToken& cancel_;
  RunListener* const listener_;
  RunnerInspection look_;
  std::unique_ptr<Jail> jail_;
  os::Fd stdout_, stderr_;
  OutputPump output_;
  ProgramInput input_;
  LimitWatch limit_watch_;

  MonotonicTime began_;
  MonotonicTime ready_;
  MonotonicTime start_;  // of the user's code
  MonotonicTime end_;
  MonotonicTime drain_began_;
  MonotonicTime end_of_drain_;
  absl::Time start_time_;

  bool started_ = false;
  bool exited_ = false;
  bool done_ = false;    // the program said so; its process may still be ending
  bool gone_ = false;    // init is dead
  bool ending_ = false;  // a kill was sent
  std::optional<int> wait_status_;
  std::optional<absl::Duration> oom_after_;
  MonotonicTime oom_check_ = kNever;
  absl::Duration oom_wait_ = kShortestOomCheck;
  uint32_t leftover_ = 0;
  JobResult result_;
};

}  // namespace

absl::StatusOr<JobResult> RunJob(sandbox::Sandbox& sandbox, JailPool& pool,
                                 const Job& job, CancelToken& cancel,
                                 RunListener* listener) {
  return JobRun(sandbox, pool, job, cancel, listener).Execute();
}

}  // namespace sandglass::server
