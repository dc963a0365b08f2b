#include "server/session/jail_host.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "policy/verdict/verdict.h"
#include "sandbox/os/io.h"
#include "sandbox/os/status.h"
#include "server/base/monotonic.h"
#include "server/base/poll_until.h"
#include "server/base/strings.h"
#include "server/job/job_builder.h"
#include "server/session/cell_run.h"
#include "server/session/jail_host_times.h"

namespace sandglass::server {
namespace {

constexpr char kDaemonEnded[] = "the daemon was started anew";
// Allowed in addition, since files can have more names than there may be files.
constexpr uint32_t kMoreNames = 10'000;

std::string HowEnded(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    return absl::StrCat("it was ended by ",
                        policy::SignalName(WTERMSIG(wait_status)));
  }
  return absl::StrCat("it ended with exit code ", WEXITSTATUS(wait_status));
}

sandbox::ProcessSpec KernelProcess(const Job& start) {
  sandbox::ProcessSpec process;
  process.argv = start.argv;
  for (const auto& [name, value] : start.env) {
    process.env.push_back(absl::StrCat(name, "=", value));
  }
  process.with_stdin = true;
  process.with_channel = true;
  process.open_files = start.limits.open_files;
  process.file_size_bytes = start.limits.file_size_bytes;
  // Its runs have limits of their own; the kernel itself has none.
  process.cpu_time = kNoCpuLimit;
  return process;
}

// The parts with that caller's share of what all callers have together.
JailHostParts OfCaller(JailHostParts parts, const std::string& caller) {
  if (parts.fork_memory != nullptr) {
    parts.fork_memory = parts.fork_memory->ShareOf(caller);
  }
  return parts;
}

}  // namespace

JailHost::JailHost(const JailHostParts& parts, const SessionSpec& spec,
                   const SessionOrigin& origin)
    : parts_(OfCaller(parts, origin.caller)),
      spec_(spec),
      layer_(origin.layer),
      durable_(origin.copy == nullptr
                   ? nullptr
                   : std::make_unique<DurableFiles>(
                         origin.copy, spec.limits.max_files + kMoreNames,
                         spec.limits.workspace_bytes)),
      jail_(parts.denied,
            {.language = spec.language == nullptr ? "" : spec.language->id,
             .profile = spec.profile->name}),
      archive_(origin.archive) {
  for (const std::string& context : origin.lost_contexts) {
    Place& place = places_[context];
    place.status.context = context;
    place.status.state = KernelStatus::State::kDead;
    place.status.last_end = kDaemonEnded;
    place.why_ended = kDaemonEnded;
  }
}

const SessionSpec& JailHost::SpecOf(const Job& job) const {
  const SessionSpec* guest = GuestOf(job.target);
  return guest == nullptr ? spec_ : *guest;
}

absl::StatusOr<JobResult> JailHost::RunCell(const Job& job, CancelToken& cancel,
                                            RunListener* listener) {
  if (!SpecOf(job).language->kernel) return RunProgram(job, cancel, listener);
  const Instant began = Now();
  std::string state_lost;
  absl::StatusOr<Kernel*> ready = Ready(job, cancel, listener, state_lost);
  if (!ready.ok()) return ready.status();
  Kernel& kernel = **ready;
  const Instant started = Now();
  absl::StatusOr<JobResult> result =
      RunCellIn(*this, kernel, job, cancel, listener);

  absl::MutexLock lock(&jail_.mutex());
  Place& place = places_[ContextOf(job.target)];
  place.status.runs = kernel.runs;
  place.status.state = KernelStatus::State::kIdle;
  const bool ended = !result.ok() || result->cell->kernel_ended;
  if (ended) {
    place.started = false;
    place.status.state = KernelStatus::State::kDead;
    place.status.last_end = result.ok()
                                ? result->verdict.explanation
                                : std::string(result.status().message());
    if (place.why_ended.empty()) place.why_ended = place.status.last_end;
  }
  if (!result.ok()) return result;
  result->cell->state_lost = std::move(state_lost);
  result->libraries = libraries_;
  if (libraries_) {
    // This is reported only once.
    libraries_->installed = false;
    libraries_->wait = absl::ZeroDuration();
  }
  result->timings.acquire = Between(began, started);
  result->timings.warm = kernel.timings.warm || !kernel.fresh;
  result->timings.kind = kernel.timings.kind;
  kernel.fresh = false;
  return result;
}

absl::StatusOr<Kernel*> JailHost::Ready(const Job& job, CancelToken& cancel,
                                        RunListener* listener,
                                        std::string& state_lost) {
  const FirstUse use = {ContextOf(job.target), job.code, listener,
                        GuestOf(job.target)};
  if (absl::Status attached = Attach(use, cancel); !attached.ok()) {
    return attached;
  }
  Kernel* kernel = nullptr;
  {
    absl::MutexLock lock(&jail_.mutex());
    jail_.Pump();
    if (!jail_.Lives()) return absl::InternalError(jail_.death());
    Place& place = places_[ContextOf(job.target)];
    place.status.context = ContextOf(job.target);
    if (place.started) {
      const HostedJail::Process& process = jail_.process(place.kernel->process);
      if (process.stage == HostedJail::Process::Stage::kRunning) {
        place.status.state = KernelStatus::State::kBusy;
        // The kernel came with the jail, after a kernel whose state is lost.
        if (place.kernel->fresh) {
          state_lost = std::exchange(place.why_ended, "");
        }
        return place.kernel.get();
      }
      place.started = false;
      place.status.last_end = absl::StrCat(HowEnded(process.wait_status),
                                           " while no run went on in it");
      if (place.why_ended.empty()) place.why_ended = place.status.last_end;
    }
    if (place.kernel != nullptr) {
      jail_.ForgetProcess(place.kernel->process);
      ++place.status.restarts;
    }
    state_lost = std::exchange(place.why_ended, "");
    place.kernel = std::make_unique<Kernel>();
    place.kernel->process = jail_.NextProcess();
    place.status.state = KernelStatus::State::kBusy;
    place.status.runs = 0;
    kernel = place.kernel.get();
  }
  if (absl::Status spawned = StartKernel(job, cancel, *kernel); !spawned.ok()) {
    Kill(*kernel);
    absl::MutexLock lock(&jail_.mutex());
    Place& place = places_[ContextOf(job.target)];
    place.status.state = KernelStatus::State::kDead;
    place.why_ended = std::move(state_lost);
    return spawned;
  }
  absl::MutexLock lock(&jail_.mutex());
  places_[ContextOf(job.target)].started = true;
  return kernel;
}

absl::Status JailHost::StartKernel(const Job& job, CancelToken& cancel,
                                   Kernel& kernel) {
  const SessionSpec& spec = SpecOf(job);
  if (absl::Status prepared = parts_.languages->Prepared(*spec.language);
      !prepared.ok()) {
    return prepared;
  }
  const Instant deadline = After(Now(), kSetupTimeout);
  kernel.timings.kind = sandbox::kExecKind;
  kernel.commands = spec.language->kernel->commands;
  const Job start = MakeKernelJob(spec, job.code);
  if (absl::Status spawned =
          Spawn(KernelProcess(start), cancel, deadline, kernel);
      !spawned.ok()) {
    return spawned;
  }
  return AwaitReady(kernel, cancel, deadline);
}

absl::Status JailHost::AwaitReady(Kernel& kernel, CancelToken& cancel,
                                  int64_t deadline) {
  char text[1024];
  while (true) {
    if (cancel.reason().has_value()) {
      return absl::CancelledError("cancelled before the program started");
    }
    struct pollfd fds[] = {{kernel.events.get(), POLLIN, 0},
                           {cancel.fd(), POLLIN, 0}};
    // A kernel that keeps talking is late, too.
    if (!PollUntil(fds, 2, deadline) || Now() >= deadline) {
      return absl::InternalError("the kernel was not ready in time");
    }
    if (fds[0].revents == 0) continue;
    const ssize_t size = os::ReadNow(kernel.events.get(), text, sizeof(text));
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (size <= 0) break;
    // A kernel that wasn't asked for anything yet has only one thing to say.
    if (!kernel.lines.Append({text, static_cast<size_t>(size)})) {
      return absl::InternalError("the kernel said too much as it started");
    }
    const std::optional<std::string> line = kernel.lines.Next();
    if (!line.has_value()) continue;
    const absl::StatusOr<KernelEvent> event = ParseKernelEvent(*line);
    if (!event.ok()) return absl::InternalError(event.status().message());
    if (std::holds_alternative<KernelReady>(*event)) return absl::OkStatus();
    return absl::InternalError("the kernel said something before it was ready");
  }
  const ssize_t size = os::ReadNow(kernel.err.get(), text, sizeof(text));
  return absl::InternalError(absl::StrCat(
      "the kernel ended as it started; it wrote ",
      Quote({text, static_cast<size_t>(std::max<ssize_t>(size, 0))}, 400)));
}

KernelKeeper::Fate JailHost::Look(const Kernel& kernel) {
  absl::MutexLock lock(&jail_.mutex());
  jail_.Pump();
  Fate fate;
  if (jail_.get() == nullptr) {
    fate.jail_gone = true;
    return fate;
  }
  fate.jail = &jail_.get()->jail();
  fate.jail_gone = !jail_.death().empty();
  fate.control_fd = fate.jail_gone ? -1 : jail_.get()->jail().control_fd();
  const HostedJail::Process& process = jail_.process(kernel.process);
  if (process.stage == HostedJail::Process::Stage::kEnded) {
    fate.wait_status = process.wait_status;
  }
  return fate;
}

void JailHost::Signal(const Kernel& kernel) {
  absl::MutexLock lock(&jail_.mutex());
  SignalLocked(kernel);
}

void JailHost::SignalLocked(const Kernel& kernel) {
  if (!jail_.Lives() || kernel.pid <= 1) return;
  (void)jail_.get()->SendSignal(kernel.pid, SIGINT, /*to_group=*/true);
}

void JailHost::Kill(const Kernel& kernel) {
  absl::MutexLock lock(&jail_.mutex());
  KillLocked(kernel);
}

void JailHost::KillLocked(const Kernel& kernel) {
  if (!jail_.Lives()) return;
  // Not every caller waits for the death, so both ways are used: the control
  // group's kill may miss a process (Jail::KillRunByPid).
  if (kernel.kill.valid()) {
    (void)sandbox::KillGroup(kernel.kill);
    (void)jail_.get()->KillByPid(kernel.process);
  } else if (kernel.pid > 1) {
    (void)jail_.get()->SendSignal(kernel.pid, SIGKILL, /*to_group=*/false);
    (void)jail_.get()->SendSignal(kernel.pid, SIGKILL, /*to_group=*/true);
  } else if (jail_.process(kernel.process).stage !=
             HostedJail::Process::Stage::kFailed) {
    // The process never said who it is. (One that failed to start never
    // existed, and other processes in the jail don't end by it.)
    (void)jail_.get()->jail().KillRun();
    (void)jail_.get()->jail().KillRunByPid();
  }
}

bool JailHost::Interrupt(const std::string& context) {
  absl::MutexLock lock(&jail_.mutex());
  const auto it = places_.find(context);
  if (it == places_.end() || !it->second.started ||
      it->second.status.state != KernelStatus::State::kBusy) {
    return false;
  }
  SignalLocked(*it->second.kernel);
  return true;
}

void JailHost::EndKernel(const std::string& context, const std::string& why) {
  absl::MutexLock lock(&jail_.mutex());
  const auto it = places_.find(context);
  if (it == places_.end() || !it->second.started) return;
  Place& place = it->second;
  place.why_ended = why;
  KillLocked(*place.kernel);
  // A run that goes on in the kernel sees its end; otherwise nobody waits for
  // that.
  if (place.status.state == KernelStatus::State::kBusy) return;
  place.started = false;
  place.status.state = KernelStatus::State::kDead;
  place.status.last_end = why;
}

absl::Status JailHost::Freeze(bool frozen) { return jail_.Freeze(frozen); }

void JailHost::End() {
  ending_.Cancel(policy::KillReason::kCancelled);
  jail_.End();
}

std::vector<KernelStatus> JailHost::Kernels() const {
  absl::MutexLock lock(&jail_.mutex());
  jail_.Pump();
  std::vector<KernelStatus> kernels;
  for (const auto& [context, place] : places_) {
    kernels.push_back(place.status);
    if (place.started && jail_.process(place.kernel->process).stage ==
                             HostedJail::Process::Stage::kEnded) {
      kernels.back().state = KernelStatus::State::kDead;
    }
  }
  return kernels;
}

uint64_t JailHost::MemoryBytes() const { return jail_.MemoryBytes(); }

std::string JailHost::LayerId() const {
  absl::MutexLock lock(&jail_.mutex());
  return libraries_ && jail_.Lives() ? libraries_->layer_id : "";
}

std::string JailHost::Death() const {
  absl::MutexLock lock(&jail_.mutex());
  jail_.Pump();
  // After that, the next use gets another jail.
  return durable_ == nullptr ? jail_.death() : "";
}

absl::StatusOr<JobResult> RunRich(const JailHostParts& parts, const Job& job,
                                  CancelToken& cancel, RunListener* listener) {
  return JailHost(parts, std::get<OwnKernel>(job.target).spec,
                  {.layer = job.layer})
      .RunCell(job, cancel, listener);
}

}  // namespace sandglass::server
