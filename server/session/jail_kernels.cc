#include "server/session/jail_kernels.h"

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
#include "server/base/clock.h"
#include "server/base/poll_until.h"
#include "server/base/strings.h"
#include "server/job/job_builder.h"
#include "server/session/cell_files.h"
#include "server/session/cell_run.h"
#include "server/session/jail_times.h"

namespace sandglass::server {
namespace {

constexpr char kDaemonEnded[] = "the daemon was started anew";

std::string HowEnded(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    return absl::StrCat("it was ended by ",
                        policy::SignalName(WTERMSIG(wait_status)));
  }
  return absl::StrCat("it ended with exit code ", WEXITSTATUS(wait_status));
}

}  // namespace

sandbox::ProcessSpec JailKernels::ProcessOf(const Job& job) {
  sandbox::ProcessSpec process;
  process.argv = job.argv;
  for (const auto& [name, value] : job.env) {
    process.env.push_back(absl::StrCat(name, "=", value));
  }
  process.with_stdin = true;
  process.open_files = job.limits.open_files;
  process.file_size_bytes = job.limits.file_size_bytes;
  process.cpu_time = kNoCpuLimit;
  return process;
}

void JailKernels::Place::End(const std::string& how) {
  started = false;
  status.set_state(v1::KERNEL_STATE_DEAD);
  status.set_last_end(how);
  if (why_ended.empty()) why_ended = how;
}

JailKernels::JailKernels(const LanguageGate& languages, const SessionSpec& spec,
                         const std::vector<std::string>& lost_contexts,
                         HostedJail& jail, JailAttachment& attachment,
                         JailFiles& files)
    : languages_(languages),
      spec_(spec),
      jail_(jail),
      attachment_(attachment),
      files_(files) {
  for (const std::string& context : lost_contexts) {
    Place& place = places_[context];
    place.status.set_context(context);
    place.End(kDaemonEnded);
  }
}

const SessionSpec& JailKernels::SpecOf(const Job& job) const {
  const SessionSpec* guest = GuestOf(job.target);
  return guest == nullptr ? spec_ : *guest;
}

absl::StatusOr<JobResult> JailKernels::RunCell(const Job& job,
                                               CancelToken& cancel,
                                               RunListener* listener) {
  if (!SpecOf(job).language->kernel) return RunProgram(job, cancel, listener);
  const MonotonicTime began = Now();
  std::string state_lost;
  absl::StatusOr<Kernel*> ready = Ready(job, cancel, listener, state_lost);
  if (!ready.ok()) return ready.status();
  Kernel& kernel = **ready;
  const MonotonicTime started = Now();
  if (absl::Status put = PutFilesOf(job, cancel); !put.ok()) {
    absl::MutexLock lock(&jail_.mutex());
    Place& place = places_[ContextOf(job.target)];
    place.status.set_state(v1::KERNEL_STATE_IDLE);
    // For the first run in this kernel.
    if (kernel.fresh) place.why_ended = std::move(state_lost);
    return put;
  }
  absl::StatusOr<JobResult> result =
      RunCellIn(*this, kernel, job, cancel, listener);
  if (result.ok()) FetchFilesOf(job, *result);
  // The kernel is still busy, so that no other jail, with its libraries, comes.
  if (result.ok()) result->libraries = attachment_.ReportLibraries();

  absl::MutexLock lock(&jail_.mutex());
  Place& place = places_[ContextOf(job.target)];
  place.status.set_runs(kernel.runs);
  place.status.set_state(v1::KERNEL_STATE_IDLE);
  if (!result.ok()) {
    place.End(std::string(result.status().message()));
    return result;
  }
  if (result->cell->kernel_ended) place.End(result->verdict.explanation);
  result->cell->state_lost = std::move(state_lost);
  result->timings.acquire = Between(began, started);
  result->timings.warm = kernel.timings.warm || !kernel.fresh;
  result->timings.kind = kernel.timings.kind;
  kernel.fresh = false;
  return result;
}

absl::Status JailKernels::PutFilesOf(const Job& job, CancelToken& cancel) {
  if (!BringsFiles(job)) return absl::OkStatus();
  absl::StatusOr<SharedAgent> agent = files_.Agent(cancel);
  if (!agent.ok()) return agent.status();
  return PutFiles(job, **agent, cancel);
}

void JailKernels::FetchFilesOf(const Job& job, JobResult& result) {
  if (job.fetch.empty()) return;
  // As with other runs, the files of one that was cancelled are fetched, too.
  CancelToken never;
  absl::StatusOr<SharedAgent> agent = files_.Agent(never);
  FetchFiles(job, agent.ok() ? agent->get() : nullptr, result);
}

absl::StatusOr<Kernel*> JailKernels::Ready(const Job& job, CancelToken& cancel,
                                           RunListener* listener,
                                           std::string& state_lost) {
  const FirstUse use = {ContextOf(job.target), job.code, listener,
                        GuestOf(job.target), job.taker};
  if (absl::Status attached = attachment_.Attach(use, cancel); !attached.ok()) {
    return attached;
  }
  Kernel* kernel = nullptr;
  {
    absl::MutexLock lock(&jail_.mutex());
    jail_.Pump();
    if (!jail_.Lives()) return absl::InternalError(jail_.death());
    Place& place = places_[ContextOf(job.target)];
    place.status.set_context(ContextOf(job.target));
    if (place.started) {
      const Process& process = jail_.process(place.kernel->process);
      if (process.stage == Process::Stage::kRunning) {
        place.status.set_state(v1::KERNEL_STATE_BUSY);
        // The kernel came with the jail, after a kernel whose state is lost.
        if (place.kernel->fresh) {
          state_lost = std::exchange(place.why_ended, "");
        }
        return place.kernel.get();
      }
      place.End(absl::StrCat(HowEnded(process.wait_status),
                             " while no run went on in it"));
    }
    if (place.kernel != nullptr) {
      jail_.ForgetProcess(place.kernel->process);
      place.status.set_restarts(place.status.restarts() + 1);
    }
    state_lost = std::exchange(place.why_ended, "");
    place.kernel = std::make_unique<Kernel>();
    place.kernel->process = jail_.NextProcess();
    place.status.set_state(v1::KERNEL_STATE_BUSY);
    place.status.set_runs(0);
    kernel = place.kernel.get();
  }
  if (absl::Status spawned = StartKernel(job, cancel, *kernel); !spawned.ok()) {
    Kill(*kernel);
    absl::MutexLock lock(&jail_.mutex());
    Place& place = places_[ContextOf(job.target)];
    place.status.set_state(v1::KERNEL_STATE_DEAD);
    place.why_ended = std::move(state_lost);
    return spawned;
  }
  absl::MutexLock lock(&jail_.mutex());
  places_[ContextOf(job.target)].started = true;
  return kernel;
}

absl::Status JailKernels::StartKernel(const Job& job, CancelToken& cancel,
                                      Kernel& kernel) {
  const SessionSpec& spec = SpecOf(job);
  if (absl::Status prepared = languages_.Prepared(*spec.language);
      !prepared.ok()) {
    return prepared;
  }
  const MonotonicTime deadline = After(Now(), kSetupTimeout);
  kernel.timings.kind = sandbox::kExecKind;
  kernel.commands = spec.language->kernel->commands;
  sandbox::ProcessSpec process = ProcessOf(MakeKernelJob(spec, job.code));
  process.with_channel = true;
  if (absl::Status spawned = Spawn(process, cancel, deadline, kernel);
      !spawned.ok()) {
    return spawned;
  }
  return AwaitReady(kernel, cancel, deadline);
}

absl::Status JailKernels::Spawn(const sandbox::ProcessSpec& spec,
                                CancelToken& cancel, MonotonicTime deadline,
                                Kernel& kernel) {
  int control = -1;
  {
    absl::ReaderMutexLock unfrozen(&jail_.forking());
    absl::MutexLock lock(&jail_.mutex());
    jail_.process(kernel.process) = {};
    if (absl::Status asked = jail_.get()->Spawn(kernel.process, spec);
        !asked.ok()) {
      return asked;
    }
    control = jail_.get()->jail().control_fd();
  }
  while (true) {
    struct pollfd fds[] = {{control, POLLIN, 0}, {cancel.fd(), POLLIN, 0}};
    PollUntil(fds, 2, std::min(deadline, After(Now(), kLookInterval)));
    absl::MutexLock lock(&jail_.mutex());
    jail_.Pump();
    if (cancel.reason().has_value()) {
      return absl::CancelledError("cancelled before the program started");
    }
    if (!jail_.Lives()) return absl::InternalError(jail_.death());
    Process& process = jail_.process(kernel.process);
    if (process.stage == Process::Stage::kFailed) {
      const std::string why = absl::StrCat(
          kernel.is_program ? "the program" : "the kernel",
          " could not be started: ",
          sandbox::SetupStepName(static_cast<int>(process.failed.step)), ": ",
          os::ErrorText(process.failed.error));
      return os::IsShortage(process.failed.error)
                 ? absl::ResourceExhaustedError(absl::StrCat(
                       why,
                       "; the session, by its own limits, or the machine "
                       "has no room for one more"))
                 : absl::InternalError(why);
    }
    if (process.stage != Process::Stage::kAsked) {
      kernel.pid = process.spawned.pid;
      kernel.fds = std::move(process.spawned.fds);
      return absl::OkStatus();
    }
    if (Now() >= deadline) {
      return absl::InternalError("the kernel was not started in time");
    }
  }
}

absl::Status JailKernels::AwaitReady(Kernel& kernel, CancelToken& cancel,
                                     MonotonicTime deadline) {
  char text[1024];
  bool late = false;
  while (true) {
    if (cancel.reason().has_value()) {
      return absl::CancelledError("cancelled before the program started");
    }
    struct pollfd fds[] = {{kernel.fds.channel.get(), POLLIN, 0},
                           {cancel.fd(), POLLIN, 0}};
    // What has come by then counts, also where this process stood still; but a
    // kernel that keeps talking is late.
    if (late || !PollUntil(fds, 2, deadline)) {
      return absl::InternalError("the kernel was not ready in time");
    }
    late = Now() >= deadline;
    if (fds[0].revents == 0) continue;
    const ssize_t size =
        os::ReadNow(kernel.fds.channel.get(), text, sizeof(text));
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
  const ssize_t size =
      os::ReadNow(kernel.fds.stderr_fd.get(), text, sizeof(text));
  return absl::InternalError(absl::StrCat(
      "the kernel ended as it started; it wrote ",
      Quoted({text, static_cast<size_t>(std::max<ssize_t>(size, 0))}, 400)));
}

JailKernels::Fate JailKernels::AskFate(const Kernel& kernel) {
  absl::MutexLock lock(&jail_.mutex());
  jail_.Pump();
  if (jail_.get() == nullptr) return {.jail_gone = true};
  Fate fate;
  fate.jail = &jail_.get()->jail();
  fate.jail_gone = !jail_.death().empty();
  fate.control_fd = fate.jail_gone ? -1 : jail_.get()->jail().control_fd();
  const Process& process = jail_.process(kernel.process);
  if (process.stage == Process::Stage::kEnded) {
    fate.wait_status = process.wait_status;
  }
  return fate;
}

void JailKernels::Signal(const Kernel& kernel) {
  absl::MutexLock lock(&jail_.mutex());
  SignalLocked(kernel);
}

void JailKernels::SignalLocked(const Kernel& kernel) {
  if (!jail_.Lives() || kernel.pid <= 1) return;
  (void)jail_.get()->SendSignal(kernel.pid, SIGINT, /*to_group=*/true);
}

void JailKernels::Kill(const Kernel& kernel) {
  absl::MutexLock lock(&jail_.mutex());
  KillLocked(kernel);
}

void JailKernels::KillAll() {
  absl::MutexLock lock(&jail_.mutex());
  if (!jail_.Lives()) return;
  KillAllLocked();
}

void JailKernels::KillAllLocked() {
  (void)jail_.get()->jail().KillRun();
  (void)jail_.get()->jail().KillRunByPid();
}

void JailKernels::KillLocked(const Kernel& kernel) {
  if (!jail_.Lives()) return;
  // Not every caller waits for the death, so both ways are used: the control
  // group's kill may miss a process (Jail::KillRunByPid).
  if (kernel.fds.kill.valid()) {
    (void)sandbox::KillGroup(kernel.fds.kill);
    (void)jail_.get()->KillByPid(kernel.process);
  } else if (kernel.pid > 1) {
    (void)jail_.get()->SendSignal(kernel.pid, SIGKILL, /*to_group=*/false);
    (void)jail_.get()->SendSignal(kernel.pid, SIGKILL, /*to_group=*/true);
  } else if (jail_.process(kernel.process).stage != Process::Stage::kFailed) {
    // The process never said who it is. (One that failed to start never
    // existed, and other processes in the jail don't end by it.)
    KillAllLocked();
  }
}

bool JailKernels::Interrupt(const std::string& context) {
  absl::MutexLock lock(&jail_.mutex());
  const auto it = places_.find(context);
  if (it == places_.end() || !it->second.started ||
      it->second.status.state() != v1::KERNEL_STATE_BUSY) {
    return false;
  }
  SignalLocked(*it->second.kernel);
  return true;
}

void JailKernels::EndKernel(const std::string& context,
                            const std::string& why) {
  absl::MutexLock lock(&jail_.mutex());
  const auto it = places_.find(context);
  if (it == places_.end() || !it->second.started) return;
  Place& place = it->second;
  place.why_ended = why;
  KillLocked(*place.kernel);
  // A run that goes on in the kernel sees its end; otherwise nobody waits for
  // that.
  if (place.status.state() != v1::KERNEL_STATE_BUSY) place.End(why);
}

std::vector<v1::KernelInfo> JailKernels::Kernels() const {
  absl::MutexLock lock(&jail_.mutex());
  jail_.Pump();
  std::vector<v1::KernelInfo> kernels;
  for (const auto& [context, place] : places_) {
    kernels.push_back(place.status);
    if (place.started &&
        jail_.process(place.kernel->process).stage == Process::Stage::kEnded) {
      kernels.back().set_state(v1::KERNEL_STATE_DEAD);
    }
  }
  return kernels;
}

bool JailKernels::AnyIsBusy() const {
  jail_.mutex().AssertHeld();
  return std::ranges::any_of(places_, [](const auto& of) {
    return of.second.status.state() == v1::KERNEL_STATE_BUSY;
  });
}

void JailKernels::AdoptKernel(const std::string& context, Timings timings) {
  jail_.mutex().AssertHeld();
  Place& place = places_[context];
  place.kernel = std::make_unique<Kernel>();
  place.kernel->process = HostedJail::kMainProcess;
  sandbox::SessionJail& jail = *jail_.get();
  place.kernel->fds = {.stdin_fd = std::move(jail.jail().stdin_fd()),
                       .stdout_fd = std::move(jail.jail().stdout_fd()),
                       .stderr_fd = std::move(jail.jail().stderr_fd()),
                       .channel = jail.ReleaseReport()};
  place.kernel->timings = std::move(timings);
  place.status.set_context(context);
  place.started = true;
  jail_.process(HostedJail::kMainProcess).stage = Process::Stage::kRunning;
}

void JailKernels::Lose(const std::string& why) {
  jail_.mutex().AssertHeld();
  for (auto it = places_.begin(); it != places_.end();) {
    Place& place = it->second;
    const bool had = place.kernel != nullptr;
    place.kernel.reset();
    place.started = false;
    if (had && why.empty() && place.why_ended.empty()) {
      it = places_.erase(it);
      continue;
    }
    if (had && !why.empty()) {
      place.why_ended = why;
      place.End(why);
      place.status.set_restarts(place.status.restarts() + 1);
    }
    ++it;
  }
}

}  // namespace sandglass::server
