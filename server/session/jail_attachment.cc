#include "server/session/jail_attachment.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/job/await_event.h"
#include "server/job/jail_source.h"
#include "server/job/job_builder.h"
#include "server/session/jail_files.h"
#include "server/session/jail_kernels.h"
#include "server/session/jail_times.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kAttachTimeout = absl::Seconds(15);

}  // namespace

absl::Status JailAttachment::Attach(const FirstUse& use, CancelToken& cancel) {
  absl::MutexLock attaching(&attaching_);
  return AttachLocked(use, cancel);
}

absl::Status JailAttachment::AttachLocked(const FirstUse& use,
                                          CancelToken& cancel) {
  {
    absl::MutexLock lock(&jail_.mutex());
    if (jail_.ended()) return absl::CancelledError("the session has ended");
    jail_.Pump();
    if (jail_.get() != nullptr) {
      // Another jail can follow one that is dead and that no run needs any
      // more.
      if (!replaceable_ || jail_.Lives() || kernels_.AnyIsBusy()) {
        return absl::OkStatus();
      }
      Discard(absl::StrCat("its jail ended: ", jail_.death()));
    }
  }
  if (absl::Status attached = AttachNew(use, cancel); !attached.ok()) {
    return attached;
  }
  absl::Status filled = files_.Fill(cancel);
  absl::MutexLock lock(&jail_.mutex());
  jail_.SetFilled(filled.ok());
  if (!filled.ok()) Discard("");
  return filled;
}

void JailAttachment::Discard(const std::string& why) {
  jail_.Discard();
  files_.LoseAgent();
  kernels_.Lose(why);
}

bool JailAttachment::GiveUpJail(const std::string& why) {
  absl::MutexLock attaching(&attaching_);
  absl::MutexLock lock(&jail_.mutex());
  if (!replaceable_ || !jail_.Lives() || kernels_.AnyIsBusy()) return false;
  Discard(why);
  return true;
}

absl::Status JailAttachment::AcquireLibraries(const FirstUse& use,
                                              CancelToken& cancel, Job& start) {
  if (!layer_.id.empty() || !spec_.libraries) {
    start.layer = layer_;
    return absl::OkStatus();
  }
  if (parts_.libraries == nullptr) {
    return LibrariesUnavailable(parts_.no_libraries);
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

absl::Status JailAttachment::AttachNew(const FirstUse& use,
                                       CancelToken& cancel) {
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
  // A session that isn't used by a run can wait for its jail.
  start.taker = use.taker.value_or(JailTaker{tenant_, /*is_first=*/false});
  if (absl::Status taken = AcquireLibraries(use, cancel, start); !taken.ok()) {
    return taken;
  }
  Timings timings;
  absl::StatusOr<std::unique_ptr<sandbox::Jail>> jail =
      AcquireJail(start, timings);
  if (!jail.ok()) return jail.status();
  const bool has_kernel = (*jail)->has_runner();
  absl::MutexLock lock(&jail_.mutex());
  if (jail_.ended()) return absl::CancelledError("the session has ended");
  jail_.Put(*std::move(jail));
  if (has_kernel) kernels_.AdoptKernel(use.context, std::move(timings));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<sandbox::Jail>> JailAttachment::AcquireJail(
    const Job& start, Timings& timings) {
  const MonotonicTime end = After(Now(), kAttachTimeout);
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

std::string JailAttachment::Death() const {
  absl::MutexLock lock(&jail_.mutex());
  jail_.Pump();
  // After that, the next use gets another jail.
  return replaceable_ ? "" : jail_.death();
}

std::string JailAttachment::LayerId() const {
  absl::MutexLock lock(&jail_.mutex());
  return libraries_ && jail_.Lives() ? libraries_->layer_id : "";
}

std::optional<UsedLibraries> JailAttachment::ReportLibraries() {
  absl::MutexLock lock(&jail_.mutex());
  std::optional<UsedLibraries> report = libraries_;
  if (libraries_) {
    libraries_->installed = false;
    libraries_->wait = absl::ZeroDuration();
  }
  return report;
}

}  // namespace sandglass::server
