// How a session gets its jail.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/job/await_event.h"
#include "server/job/jail_source.h"
#include "server/job/job_builder.h"
#include "server/session/jail_host.h"
#include "server/session/jail_host_times.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kAttachTimeout = absl::Seconds(15);

}  // namespace

absl::Status JailHost::Attach(const FirstUse& use, CancelToken& cancel) {
  absl::MutexLock attaching(&attaching_);
  return AttachLocked(use, cancel);
}

absl::Status JailHost::AttachLocked(const FirstUse& use, CancelToken& cancel) {
  {
    absl::MutexLock lock(&jail_.mutex());
    if (jail_.ended()) return absl::CancelledError("the session has ended");
    if (jail_.get() != nullptr) jail_.Pump();
    if (jail_.get() != nullptr && !CanFollow()) return absl::OkStatus();
    if (jail_.get() != nullptr) {
      Discard(absl::StrCat("its jail ended: ", jail_.death()));
    }
  }
  if (absl::Status attached = AttachNew(use, cancel); !attached.ok()) {
    return attached;
  }
  absl::Status filled = Fill(cancel);
  absl::MutexLock lock(&jail_.mutex());
  jail_.SetFilled(filled.ok());
  if (!filled.ok()) Discard("");
  return filled;
}

absl::Status JailHost::TakeLibraries(const FirstUse& use, CancelToken& cancel,
                                     Job& start) {
  if (!layer_.id.empty() || !spec_.libraries) {
    start.layer = layer_;
    return absl::OkStatus();
  }
  if (parts_.libraries == nullptr) {
    return LibrariesUnavailable("this daemon installs no libraries");
  }
  absl::StatusOr<FoundLibraries> found = parts_.libraries->Get(
      *spec_.libraries,
      [&use](std::string_view line) {
        if (use.listener != nullptr) use.listener->OnLibraryProgress(line);
      },
      cancel);
  if (!found.ok()) return found.status();
  start.layer = found->layer;
  if (use.guest == nullptr && !start.zygote.empty() && !found->zygote.empty()) {
    start.zygote = found->zygote;
  }
  absl::MutexLock lock(&jail_.mutex());
  libraries_ = Used(*spec_.libraries, *found);
  return absl::OkStatus();
}

absl::Status JailHost::AttachNew(const FirstUse& use, CancelToken& cancel) {
  if (cancel.reason().has_value()) {
    return absl::CancelledError("cancelled before the program started");
  }
  Job start;
  const SessionSpec& spec = use.guest == nullptr ? spec_ : *use.guest;
  if (spec.language != nullptr && spec.language->kernel) {
    start = MakeKernelJob(spec, use.code);
  } else {
    start.template_name = spec_.profile->run_template();
    start.limits = spec_.limits;
  }
  if (absl::Status taken = TakeLibraries(use, cancel, start); !taken.ok()) {
    return taken;
  }
  Timings timings;
  absl::StatusOr<std::unique_ptr<sandbox::Jail>> jail =
      TakeJail(start, timings);
  if (!jail.ok()) return jail.status();
  const bool has_kernel = (*jail)->has_runner();
  absl::MutexLock lock(&jail_.mutex());
  if (jail_.ended()) return absl::CancelledError("the session has ended");
  jail_.Put(*std::move(jail));
  if (!has_kernel) return absl::OkStatus();
  Place& place = places_[use.context];
  place.kernel = std::make_unique<Kernel>();
  place.kernel->process = HostedJail::kMainProcess;
  place.kernel->in = std::move(jail_.get()->jail().stdin_fd());
  place.kernel->out = std::move(jail_.get()->jail().stdout_fd());
  place.kernel->err = std::move(jail_.get()->jail().stderr_fd());
  place.kernel->events = jail_.get()->TakeReport();
  place.kernel->timings = std::move(timings);
  place.status.context = use.context;
  place.started = true;
  jail_.process(HostedJail::kMainProcess).stage =
      HostedJail::Process::Stage::kRunning;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<sandbox::Jail>> JailHost::TakeJail(
    const Job& start, Timings& timings) {
  const MonotonicTime end =
      Monotonic::now() + absl::ToChronoNanoseconds(kAttachTimeout);
  JailSource source(*parts_.sandbox, *parts_.pool, start);
  while (true) {
    absl::StatusOr<std::unique_ptr<sandbox::Jail>> jail = source.Next();
    if (!jail.ok()) return jail.status();
    absl::Status ready;
    if ((*jail)->has_runner()) {
      sandbox::ProgramSpec program = ToProgram(start, **jail);
      // Its runs have limits of their own; the kernel itself has none.
      program.cpu_time = kNoCpuLimit;
      ready = (*jail)->StartProgram(program);
      if (ready.ok()) {
        ready = AwaitEvent<sandbox::StartedEvent>(**jail, end,
                                                  "no kernel was started");
      }
    } else if (!(*jail)->is_ready()) {
      ready = AwaitEvent<sandbox::ReadyEvent>(**jail, end,
                                              "the jail was not ready");
    }
    if (ready.ok()) {
      timings.warm = source.warm();
      timings.kind = source.kind();
      return jail;
    }
    // A jail that was made in advance may die just when it is handed out.
    if (!absl::IsUnavailable(ready) || !source.warm()) return ready;
  }
}

}  // namespace sandglass::server
