#include "server/session/cell_run.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "policy/verdict/verdict.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/io.h"
#include "server/base/monotonic.h"
#include "server/base/poll_until.h"
#include "server/job/run_output.h"
#include "server/job/uncharged_watch.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kSampleInterval = absl::Milliseconds(20);
constexpr absl::Duration kShortestCpuCheck = absl::Milliseconds(2);
// How long an interrupted cell may take to tidy up, and a killed kernel to die.
constexpr absl::Duration kInterruptGrace = absl::Seconds(1);
constexpr absl::Duration kKillEvery = absl::Milliseconds(100);
constexpr absl::Duration kEndJailAfter = absl::Seconds(8);
constexpr absl::Duration kDeathTimeout = absl::Seconds(10);
constexpr size_t kReadBytes = 64 * 1024;
constexpr size_t kMostUnread = 4096;

class CellRun {
 public:
  CellRun(KernelKeeper& keeper, Kernel& kernel, const Job& job,
          CancelToken& cancel, JobObserver* observer)
      : keeper_(keeper),
        kernel_(kernel),
        job_(job),
        cancel_(cancel),
        observer_(observer),
        out_{kernel.out, RunOutput(Stream::kStdout, job)},
        err_{kernel.err, RunOutput(Stream::kStderr, job)} {}

  // Does one cell, step by step.
  absl::StatusOr<JobResult> Execute() {
    Begin();
    while (!done_ && !fate_.wait_status.has_value() && !fate_.jail_gone) {
      if (absl::Status status = PollOnce(NextWake()); !status.ok()) {
        keeper_.Kill(kernel_);
        if (!kill_.has_value()) return status;
        // The interrupt may have left only half a line; it is already known why
        // the cell ends.
        kernel_.events.reset();
        patience_ = Now();
      }
      CheckLimits();
      if (ending_ && Now() >= give_up_) {
        return absl::InternalError("the kernel did not die after being killed");
      }
    }
    end_ = Now();
    if (!done_) (void)ReadEvents();  // the last events it sent
    Drain();
    return Finish();
  }

 private:
  struct Output {
    os::Fd& fd;
    RunOutput output;
  };

  void Begin() {
    fate_ = keeper_.Look(kernel_);
    if (fate_.jail != nullptr) {
      before_ = fate_.jail->ReadCounters();
      network_before_ = fate_.jail->ReadNetworkUse();
      result_.facts.filesystems_before = fate_.jail->FilesystemFills();
    }
    cell_id_ = ++kernel_.cells;
    command_ = kernel_.is_program
                   ? job_.stdin_data
                   : RunCommand(kernel_.commands, cell_id_, job_.code,
                                job_.stdin_data, job_.rich);
    start_ = Now();
    start_time_ = os::WallNow();
    wall_deadline_ = After(start_, job_.limits.wall_time);
    next_cpu_check_ = NextCpuCheck(absl::ZeroDuration());
    next_sample_ = After(start_, kSampleInterval);
    if (observer_ != nullptr) observer_->OnStarted();
    Write();
  }

  Instant NextWake() const {
    const Instant next = std::min(next_sample_, next_cpu_check_);
    if (ending_) return std::min({next, give_up_, kill_again_});
    if (kill_.has_value()) return std::min(next, patience_);
    return std::min(next, wall_deadline_);
  }

  absl::Status PollOnce(Instant wake) {
    struct pollfd fds[] = {
        {fate_.control_fd, POLLIN, 0},
        {kernel_.events.get(), POLLIN, 0},
        {kernel_.out.get(), POLLIN, 0},
        {kernel_.err.get(), POLLIN, 0},
        {written_ < command_.size() ? kernel_.in.get() : -1, POLLOUT, 0},
        {kill_.has_value() ? -1 : cancel_.fd(), POLLIN, 0},
    };
    PollUntil(fds, std::size(fds), wake);
    // ORDER: output is read first, so that what is displayed comes after what
    // was written before it.
    if (fds[2].revents != 0) Read(out_);
    if (fds[3].revents != 0) Read(err_);
    if (fds[4].revents != 0) Write();
    if (fds[1].revents != 0) {
      if (absl::Status status = ReadEvents(); !status.ok()) return status;
    }
    if (!done_) fate_ = keeper_.Look(kernel_);
    return absl::OkStatus();
  }

  void Write() {
    while (written_ < command_.size()) {
      const ssize_t size = ::write(kernel_.in.get(), command_.data() + written_,
                                   command_.size() - written_);
      if (size < 0 && errno == EINTR) continue;
      // A process that reads no more has ended, or ends at the wall limit.
      if (size < 0 && errno != EAGAIN) written_ = command_.size();
      if (size <= 0) return;
      written_ += static_cast<size_t>(size);
    }
    if (kernel_.is_program) kernel_.in.reset();
  }

  // A kernel that waits for these reads them at once; one that doesn't gets
  // only a few.
  void Acknowledge() {
    if (command_.size() - written_ > kMostUnread) return;
    command_.erase(0, written_);
    written_ = 0;
    command_ += AckCommand();
    Write();
  }

  // Reads a bounded amount, so that limits are checked in between. Returns true
  // while there may be more.
  bool Read(Output& pipe) {
    static thread_local std::unique_ptr<char[]> buffer(new char[kReadBytes]);
    const ssize_t size = os::ReadNow(pipe.fd.get(), buffer.get(), kReadBytes);
    if (size < 0 && errno == EINTR) return true;
    if (size < 0 && errno == EAGAIN) return false;
    if (size <= 0) {
      pipe.fd.reset();
      return false;
    }
    const std::string_view data(buffer.get(), static_cast<size_t>(size));
    pipe.output.Take(data, listener(), Between(start_, Now()));
    return true;
  }

  // The observer, while it is still told of output; otherwise null.
  JobObserver* listener() const {
    return written() <= job_.limits.output_total_bytes ? observer_ : nullptr;
  }

  // Reads everything that is there now.
  void ReadWaiting(Output& pipe) {
    const uint64_t all =
        pipe.output.written_bytes() + os::WaitingBytes(pipe.fd.get());
    while (pipe.output.written_bytes() < all && Read(pipe)) {
    }
  }

  absl::Status ReadEvents() {
    static thread_local std::unique_ptr<char[]> buffer(new char[kReadBytes]);
    const ssize_t size =
        os::ReadNow(kernel_.events.get(), buffer.get(), kReadBytes);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) {
      return absl::OkStatus();
    }
    if (size <= 0) {
      // Either the kernel has ended, or nobody can hear it any more; then the
      // wall limit ends it.
      kernel_.events.reset();
      return absl::OkStatus();
    }
    if (!kernel_.lines.Append({buffer.get(), static_cast<size_t>(size)})) {
      return absl::InternalError("the kernel said too much at once");
    }
    while (std::optional<std::string> line = kernel_.lines.Next()) {
      absl::StatusOr<KernelEvent> event = ParseKernelEvent(*line);
      if (!event.ok()) return absl::InternalError(event.status().message());
      Take(*event);
    }
    return absl::OkStatus();
  }

  // A request to clear is ignored: what was streamed can't be taken back, and
  // the answer begins with it.
  void Take(KernelEvent& event) {
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
      if (error->cell == cell_id_) TakeError(error->words);
    } else if (const auto* dropped = std::get_if<KernelDropped>(&event)) {
      if (dropped->cell == cell_id_) Drop(dropped->count, dropped->bytes);
    } else if (const auto* done = std::get_if<KernelDone>(&event)) {
      if (done->cell != cell_id_ || done_) return;
      done_ = true;
      exit_code_ = done->exit_code;
      ++kernel_.runs;  // counted here: a cell could forge the kernel's number
    }
  }

  void TakeError(ErrorWords& words) {
    // When there are two errors, the last one stays.
    error_redactions_.clear();
    RedactError(job_.redactor.get(), words, error_redactions_);
    cell_.error = std::move(words);
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
    ReadWaiting(out_);
    ReadWaiting(err_);
    output.stdout_offset = out_.output.told_bytes();
    output.stderr_offset = err_.output.told_bytes();
    if (observer_ != nullptr) {
      observer_->OnRich(output, Between(start_, Now()));
    }
    cell_.outputs.push_back(std::move(output));
  }

  void Drop(uint32_t count, uint64_t bytes) {
    cell_.dropped = std::max(cell_.dropped, cell_.dropped + count);
    cell_.dropped_bytes =
        std::max(cell_.dropped_bytes, cell_.dropped_bytes + bytes);
  }

  void CheckLimits() {
    if (done_ || fate_.jail == nullptr) return;
    const Instant now = Now();
    if (now >= next_sample_) {
      Sample();
      uncharged_.Look(*fate_.jail, now);
      next_sample_ = After(now, kSampleInterval);
    }
    absl::Duration used;
    if (now >= next_cpu_check_) {
      used = UsedCpu();
      next_cpu_check_ = NextCpuCheck(used);
    }
    if (kill_.has_value()) return Insist(now);
    if (const auto reason = cancel_.reason(); reason.has_value()) {
      Stop(*reason, 0);
    } else if (written() > job_.limits.output_total_bytes) {
      Stop(policy::KillReason::kOutput, written());
    } else if (const auto& excess = uncharged_.excess(); excess.has_value()) {
      Stop(excess->reason, excess->bytes);
    } else if (now >= wall_deadline_) {
      Stop(policy::KillReason::kWallTime, static_cast<uint64_t>(now - start_));
    } else if (used >= job_.limits.cpu_time) {
      Stop(policy::KillReason::kCpuTime,
           static_cast<uint64_t>(absl::ToInt64Nanoseconds(used)));
    }
  }

  absl::Duration UsedCpu() const {
    return fate_.jail->ReadCounters().cpu_total() - before_.cpu_total();
  }

  Instant NextCpuCheck(absl::Duration used) const {
    const double processors =
        std::max(1.0, static_cast<double>(job_.limits.cpu_millis) / 1000.0);
    const absl::Duration left = (job_.limits.cpu_time - used) / processors;
    return After(Now(), std::max(left, kShortestCpuCheck));
  }

  void Stop(policy::KillReason reason, uint64_t measured) {
    // ORDER: the reason is recorded before the signal is sent.
    kill_ = policy::Kill{reason, Between(start_, Now()), measured};
    next_cpu_check_ = kNever;
    if (kernel_.is_program) return Insist(patience_ = Now());
    patience_ = After(Now(), kInterruptGrace);
    keeper_.Signal(kernel_);
  }

  void Insist(Instant now) {
    if (now < (ending_ ? kill_again_ : patience_)) return;
    if (!ending_) {
      end_jail_ = After(now, kEndJailAfter);
      give_up_ = After(now, kDeathTimeout);
    }
    ending_ = true;
    kill_again_ = After(now, kKillEvery);
    keeper_.Kill(kernel_);
    // If even killing doesn't end the processes, the whole jail is ended.
    if (now >= end_jail_) {
      keeper_.EndJail("the processes of a run did not die after being killed");
    }
  }

  void Drain() {
    drain_began_ = Now();
    for (Output* pipe : {&out_, &err_}) {
      ReadWaiting(*pipe);
      pipe->output.Finish(listener(), Between(start_, Now()));
    }
  }

  void Sample() {
    const sandbox::MemorySample sample = fate_.jail->SampleMemory();
    peak_anonymous_ = std::max(peak_anonymous_, sample.anonymous_bytes);
    peak_shared_ = std::max(peak_shared_, sample.shared_bytes);
    peak_processes_ = std::max(peak_processes_, fate_.jail->ProcessCount());
  }

  uint64_t written() const {
    return out_.output.written_bytes() + err_.output.written_bytes();
  }

  void CollectFacts() {
    policy::RunFacts& facts = result_.facts;
    facts.wait_status = done_ ? exit_code_ << 8 : fate_.wait_status;
    facts.kill = kill_;
    facts.wall_time = Between(start_, end_);
    facts.stdout_bytes = out_.output.written_bytes();
    facts.stderr_bytes = err_.output.written_bytes();
    if (fate_.jail == nullptr) return;
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
    Sample();
    // If the jail's own peak rose during this cell, that is the cell's peak.
    facts.peak_memory_bytes = peak_anonymous_ + peak_shared_;
    if (after.peak_memory_bytes > before_.peak_memory_bytes) {
      facts.peak_memory_bytes =
          std::max(facts.peak_memory_bytes, after.peak_memory_bytes);
    }
    facts.peak_processes = std::max(peak_processes_, 1u);
    result_.peak_anonymous_bytes = peak_anonymous_;
    result_.peak_shared_bytes = peak_shared_;
  }

  JobResult Finish() {
    CollectFacts();
    result_.limits = job_.limits;
    result_.start_time = start_time_;
    result_.stdout_result = out_.output.TakeResult(result_.redactions);
    result_.stderr_result = err_.output.TakeResult(result_.redactions);
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

  KernelKeeper& keeper_;
  Kernel& kernel_;
  const Job& job_;
  CancelToken& cancel_;
  JobObserver* const observer_;
  KernelKeeper::Fate fate_;
  sandbox::JailCounters before_;
  // For a jail that has one.
  std::optional<sandbox::NetworkUse> network_before_;
  Output out_;
  Output err_;

  uint64_t cell_id_ = 0;
  std::string command_;
  size_t written_ = 0;
  bool done_ = false;  // as the kernel says
  int exit_code_ = 0;
  CellResult cell_;
  uint64_t result_bytes_ = 0;
  policy::RedactionCounts error_redactions_;

  absl::Time start_time_;
  Instant start_ = 0;
  Instant end_ = 0;
  Instant drain_began_ = 0;
  Instant wall_deadline_ = kNever;
  Instant next_cpu_check_ = kNever;
  Instant next_sample_ = kNever;
  Instant patience_ = kNever;  // when it will be killed
  Instant kill_again_ = kNever;
  Instant end_jail_ = kNever;
  Instant give_up_ = kNever;
  bool ending_ = false;  // a kill was sent
  std::optional<policy::Kill> kill_;
  UnchargedWatch uncharged_;
  uint64_t peak_anonymous_ = 0;
  uint64_t peak_shared_ = 0;
  uint32_t peak_processes_ = 0;
  JobResult result_;
};

}  // namespace

absl::StatusOr<JobResult> RunCellIn(KernelKeeper& keeper, Kernel& kernel,
                                    const Job& job, CancelToken& cancel,
                                    JobObserver* observer) {
  return CellRun(keeper, kernel, job, cancel, observer).Execute();
}

}  // namespace sandglass::server
