#include "server/session/cell_run.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "policy/verdict/verdict.h"
#include "sandbox/os/clocks.h"
#include "server/base/clock.h"
#include "server/base/poll_until.h"
#include "server/job/death.h"
#include "server/job/limit_watch.h"
#include "server/job/output_pump.h"
#include "server/job/run_times.h"
#include "server/session/jail_kernels.h"
#include "server/session/jail_times.h"

namespace sandglass::server {
namespace {

constexpr size_t kMaxUnread = 4096;

class CellRun {
 public:
  CellRun(JailKernels& kernels, Kernel& kernel, const Job& job,
          CancelToken& cancel, RunListener* listener)
      : kernels_(kernels),
        kernel_(kernel),
        job_(job),
        cancel_(cancel),
        listener_(listener),
        last_(std::holds_alternative<OwnKernel>(job.target)),
        output_(kernel.fds.stdout_fd, kernel.fds.stderr_fd, job, listener),
        limit_watch_(job.limits) {}

  // Does one cell, step by step.
  absl::StatusOr<JobResult> Execute() {
    Begin();
    while (!IsOver()) {
      if (absl::Status status = PollOnce(); !status.ok()) {
        kernels_.Kill(kernel_);
        if (!limit_watch_.kill().has_value()) return status;
        // The interrupt may have left only half a line; it is already known why
        // the cell ends.
        kernel_.fds.channel.reset();
        patience_ = Now();
      }
      if (absl::Status status = CheckLimits(); !status.ok()) return status;
    }
    end_ = Now();
    drain_began_ = Now();
    if (last_) {
      if (absl::Status status = KillLeftovers(); !status.ok()) return status;
    }
    if (!done_) (void)ReadEvents();  // the last events it sent
    output_.Drain();
    return Finish();
  }

 private:
  bool IsOver() const {
    return done_ || fate_.wait_status.has_value() || fate_.jail_gone;
  }

  void Begin() {
    fate_ = kernels_.AskFate(kernel_);
    if (fate_.jail != nullptr) {
      before_ = fate_.jail->ReadCounters();
      had_yielded_ = fate_.jail->cpu_turn().Begin();
      network_before_ = fate_.jail->ReadNetworkUse();
      result_.facts.filesystems_before = fate_.jail->FilesystemFills();
    }
    cell_id_ = ++kernel_.cells;
    command_ =
        kernel_.is_program
            ? job_.stdin_data
            : RunCommand(kernel_.commands, cell_id_, job_.code, job_.stdin_data,
                         {.rich = job_.rich, .last = last_}, job_.cell_args);
    start_ = Now();
    start_time_ = os::WallNow();
    limit_watch_.Begin(start_);
    output_.Begin(start_);
    if (listener_ != nullptr) listener_->OnStarted(job_);
    Write();
  }

  absl::Status PollOnce() {
    MonotonicTime deadline = std::min(
        limit_watch_.next(), death_.has_value() ? death_->next() : patience_);
    const OutputPace& pace = output_.pace();
    const bool reads = !pace.Pauses(Now());
    if (!reads) deadline = std::min(deadline, pace.end());
    struct pollfd fds[] = {
        {fate_.control_fd, POLLIN, 0},
        {kernel_.fds.channel.get(), POLLIN, 0},
        {reads ? kernel_.fds.stdout_fd.get() : -1, POLLIN, 0},
        {reads ? kernel_.fds.stderr_fd.get() : -1, POLLIN, 0},
        {written_ < command_.size() ? kernel_.fds.stdin_fd.get() : -1, POLLOUT,
         0},
        {limit_watch_.kill().has_value() ? -1 : cancel_.fd(), POLLIN, 0},
    };
    PollUntil(fds, std::size(fds), deadline);
    // ORDER: output is read first, so that what is displayed comes after what
    // was written before it.
    output_.Read(fds[2].revents != 0, fds[3].revents != 0);
    if (fds[4].revents != 0) Write();
    if (fds[1].revents != 0) {
      if (absl::Status status = ReadEvents(); !status.ok()) return status;
    }
    if (!done_) fate_ = kernels_.AskFate(kernel_);
    return absl::OkStatus();
  }

  void Write() {
    while (written_ < command_.size()) {
      const ssize_t size =
          ::write(kernel_.fds.stdin_fd.get(), command_.data() + written_,
                  command_.size() - written_);
      if (size < 0 && errno == EINTR) continue;
      // A process that reads no more has ended, or ends at the wall limit.
      if (size < 0 && errno != EAGAIN) written_ = command_.size();
      if (size <= 0) return;
      written_ += static_cast<size_t>(size);
    }
    if (kernel_.is_program) kernel_.fds.stdin_fd.reset();
  }

  // A kernel that waits for these reads them at once; one that doesn't gets
  // only a few.
  void Acknowledge() {
    if (command_.size() - written_ > kMaxUnread) return;
    command_.erase(0, written_);
    written_ = 0;
    command_ += AckCommand();
    Write();
  }

  absl::Status ReadEvents() {
    const auto data = ReadPipe(kernel_.fds.channel.get());
    if (!data.has_value()) return absl::OkStatus();
    if (data->empty()) {
      // Either the kernel has ended, or nobody can hear it any more; then the
      // wall limit ends it.
      kernel_.fds.channel.reset();
      return absl::OkStatus();
    }
    if (!kernel_.lines.Append(*data)) {
      return absl::InternalError("the kernel said too much at once");
    }
    while (std::optional<std::string> line = kernel_.lines.Next()) {
      absl::StatusOr<KernelEvent> event = ParseKernelEvent(*line);
      if (!event.ok()) return absl::InternalError(event.status().message());
      Handle(*event);
    }
    return absl::OkStatus();
  }

  // A request to clear is ignored: what was streamed can't be taken back, and
  // the answer begins with it.
  void Handle(KernelEvent& event) {
    if (const auto* ready = std::get_if<KernelReady>(&event)) {
      // If init started the kernel, its pid is already known.
      if (kernel_.pid == 0) kernel_.pid = ready->pid;
    } else if (auto* display = std::get_if<KernelDisplay>(&event)) {
      if (display->left_out > 0) Drop(1, display->left_out_bytes);
      if (display->cell == cell_id_ && !display->output.data.empty()) {
        Show(std::move(display->output));
      }
      if (display->waits) Acknowledge();
    } else if (auto* error = std::get_if<KernelError>(&event)) {
      if (error->cell != cell_id_) return;
      // When there are two errors, the last one stays.
      error_redactions_.clear();
      RedactError(job_.redactor.get(), error->words, error_redactions_);
      cell_.error = std::move(error->words);
    } else if (const auto* dropped = std::get_if<KernelDropped>(&event)) {
      if (dropped->cell == cell_id_) Drop(dropped->count, dropped->bytes);
    } else if (const auto* done = std::get_if<KernelDone>(&event)) {
      // The last cell ends with its kernel.
      if (done->cell != cell_id_ || done_ || last_) return;
      done_ = true;
      exit_code_ = done->exit_code;
      ++kernel_.runs;  // counted here: a cell could forge the kernel's number
    }
  }

  void Show(RichOutput output) {
    policy::RedactionCounts redactions;
    RedactRich(job_.redactor.get(), output, redactions);
    uint64_t bytes = 0;
    for (const auto& [type, data] : output.data) {
      bytes += type.size() + data.size();
    }
    if (cell_.outputs.size() >= kMaxResults ||
        result_bytes_ + bytes > kMaxResultBytes) {
      return Drop(1, bytes);
    }
    result_bytes_ += bytes;
    policy::AddCounts(redactions, result_.redactions);
    output_.ReadWaiting();
    output.stdout_offset = output_.told_bytes(Stream::kStdout);
    output.stderr_offset = output_.told_bytes(Stream::kStderr);
    if (listener_ != nullptr) {
      listener_->OnRich(output, Between(start_, Now()));
    }
    cell_.outputs.push_back(std::move(output));
  }

  void Drop(uint32_t count, uint64_t bytes) {
    cell_.dropped = std::max(cell_.dropped, cell_.dropped + count);
    cell_.dropped_bytes =
        std::max(cell_.dropped_bytes, cell_.dropped_bytes + bytes);
  }

  absl::Status CheckLimits() {
    if (done_ || fate_.jail == nullptr) return absl::OkStatus();
    const MonotonicTime now = Now();
    const JailMeter meter(*fate_.jail, before_.cpu_total());
    if (limit_watch_.Check(now, meter, cancel_.reason(),
                           output_.written_bytes())) {
      // ORDER: the reason is recorded already when the signal is sent.
      // Nobody wants the state that an interrupt keeps when no cell follows.
      const bool at_once = kernel_.is_program || last_;
      patience_ = at_once ? now : After(now, kInterruptGrace);
      if (!at_once) kernels_.Signal(kernel_);
    }
    if (limit_watch_.is_long()) fate_.jail->cpu_turn().Yield();
    return now < patience_ ? absl::OkStatus() : Kill(now);
  }

  // Kills the kernel, and again until it is dead.
  absl::Status Kill(MonotonicTime now) {
    const Death::Step step =
        death_.has_value() ? death_->Check(now) : Death::Step::kKillByPid;
    if (step == Death::Step::kWait) return absl::OkStatus();
    if (step == Death::Step::kGiveUp) {
      return absl::InternalError("the kernel did not die after being killed");
    }
    if (!death_.has_value()) death_.emplace(now, kKernelDeath);
    kernels_.Kill(kernel_);
    // If even killing doesn't end the processes, the whole jail is ended.
    if (step != Death::Step::kKillByPid) {
      kernels_.EndJail("the processes of a run did not die after being killed");
    }
    return absl::OkStatus();
  }

  // Kills what the last cell's kernel has left, as where a program ends.
  // Returns when it is dead, so that what it wrote is in the pipes.
  absl::Status KillLeftovers() {
    if (fate_.jail == nullptr || fate_.jail->RunIsEmpty()) {
      return absl::OkStatus();
    }
    if (!limit_watch_.kill().has_value()) {
      // Those of a kernel with a group of its own, and others.
      result_.facts.leftover_processes =
          fate_.jail->LivingProcesses() + sandbox::CountGroup(kernel_.fds.list);
    }
    Death death(Now(), kKernelDeath);
    kernels_.KillAll();
    while (!fate_.jail_gone && !fate_.jail->RunIsEmpty()) {
      const Death::Step step = death.Check(Now());
      if (step == Death::Step::kGiveUp) {
        return absl::InternalError(
            "the processes of a run did not die after being killed");
      }
      if (step != Death::Step::kWait) kernels_.KillAll();
      if (step == Death::Step::kEndJail) kernels_.EndJail("its run has ended");
      output_.ReadWaiting();
      struct pollfd empty = {fate_.jail->run_events_fd(), POLLPRI, 0};
      PollUntil(&empty, 1, After(Now(), kLookInterval));
      fate_ = kernels_.AskFate(kernel_);
    }
    return absl::OkStatus();
  }

  void CollectFacts() {
    policy::RunFacts& facts = result_.facts;
    facts.wait_status = done_ ? exit_code_ << 8 : fate_.wait_status;
    facts.kill = limit_watch_.kill();
    facts.wall_time = Between(start_, end_);
    output_.CollectResult(result_);
    if (fate_.jail == nullptr) return;
    if (had_yielded_) fate_.jail->cpu_turn().Yield();
    const sandbox::JailCounters after = fate_.jail->ReadCounters();
    facts.counters = sandbox::Since(before_, after);
    facts.filesystems = fate_.jail->FilesystemFills();
    if (network_before_) {
      if (const auto now = fate_.jail->ReadNetworkUse()) {
        result_.network = sandbox::Since(*network_before_, *now);
      }
    }
    result_.cpu_user = after.cpu_user - before_.cpu_user;
    result_.cpu_system = after.cpu_system - before_.cpu_system;
    facts.cpu_time = result_.cpu_user + result_.cpu_system;
    limit_watch_.Sample(JailMeter(*fate_.jail));
    const LimitWatch::Peaks& peaks = limit_watch_.peaks();
    // If the jail's own peak rose during this cell, that is the cell's peak.
    // The last cell has the jail to itself, and nothing of it is left to be
    // measured.
    facts.peak_memory_bytes = peaks.anonymous_bytes + peaks.shared_bytes;
    if (last_ || after.peak_memory_bytes > before_.peak_memory_bytes) {
      facts.peak_memory_bytes =
          std::max(facts.peak_memory_bytes, after.peak_memory_bytes);
    }
    facts.peak_processes = std::max(peaks.processes, 1u);
    result_.peak_anonymous_bytes = peaks.anonymous_bytes;
    if (last_) {
      result_.peak_anonymous_bytes =
          std::max(peaks.anonymous_bytes,
                   facts.peak_memory_bytes -
                       std::min(facts.peak_memory_bytes, peaks.shared_bytes));
    }
    result_.peak_shared_bytes = peaks.shared_bytes;
  }

  JobResult Finish() {
    CollectFacts();
    result_.limits = job_.limits;
    result_.start_time = start_time_;
    policy::AddCounts(error_redactions_, result_.redactions);
    // A language also puts the words for a lack of memory into its error.
    const std::string why = cell_.error
                                ? absl::StrCat("\n", cell_.error->traceback)
                                : result_.stderr_result.data;
    result_.facts.runtime_words =
        policy::FindRuntimeWords(job_.out_of_memory, why);
    // If a command of the cell said that the disk is full, the error doesn't
    // say it.
    result_.facts.said_disk_full =
        policy::SaysDiskFull(why) ||
        policy::SaysDiskFull(result_.stderr_result.data);
    result_.verdict = policy::Decide(result_.facts, job_.limits);
    cell_.run_number = done_ ? kernel_.runs : kernel_.runs + 1;
    cell_.kernel_ended = !done_ && !kernel_.is_program;
    result_.cell = std::move(cell_);
    result_.timings.run = Between(start_, end_);
    result_.timings.drain = Between(drain_began_, Now());
    return std::move(result_);
  }

  JailKernels& kernels_;
  Kernel& kernel_;
  const Job& job_;
  CancelToken& cancel_;
  RunListener* const listener_;
  const bool last_;  // see CellMode
  JailKernels::Fate fate_;
  sandbox::JailCounters before_;
  bool had_yielded_ = false;  // the jail, before the cell
  // For a jail that has one.
  std::optional<sandbox::NetworkUse> network_before_;
  OutputPump output_;
  LimitWatch limit_watch_;

  uint64_t cell_id_ = 0;
  std::string command_;
  size_t written_ = 0;
  bool done_ = false;  // as the kernel says
  int exit_code_ = 0;
  CellResult cell_;
  uint64_t result_bytes_ = 0;
  policy::RedactionCounts error_redactions_;

  absl::Time start_time_;
  MonotonicTime start_;
  MonotonicTime end_;
  MonotonicTime drain_began_;
  MonotonicTime patience_ = kNever;  // when it will be killed
  std::optional<Death> death_;       // since it was
  JobResult result_;
};

}  // namespace

absl::StatusOr<JobResult> RunCellIn(JailKernels& kernels, Kernel& kernel,
                                    const Job& job, CancelToken& cancel,
                                    RunListener* listener) {
  return CellRun(kernels, kernel, job, cancel, listener).Execute();
}

}  // namespace sandglass::server
