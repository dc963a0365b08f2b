#include "server/session/jail_files.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "sandbox/os/status.h"
#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/base/poll_until.h"
#include "server/session/jail_times.h"

namespace sandglass::server {
namespace {

// As large as a workspace may be.
constexpr absl::Duration kFillTimeout = absl::Seconds(120);
constexpr absl::Duration kSaveTimeout = absl::Seconds(30);
// All processes are stopped meanwhile.
constexpr absl::Duration kPackTimeout = absl::Seconds(30);
constexpr absl::Duration kFreezeTimeout = absl::Seconds(5);
constexpr absl::Duration kFreezeLook = absl::Microseconds(200);

absl::Status NotFilled(const absl::Status& cause) {
  if (cause.ok() || absl::IsCancelled(cause) || absl::IsUnavailable(cause)) {
    return cause;
  }
  const std::string message = absl::StrCat(
      "the session's files could not be put into its jail: ", cause.message());
  return absl::IsDataLoss(cause) ? absl::DataLossError(message)
                                 : absl::InternalError(message);
}

}  // namespace

absl::StatusOr<SharedAgent> JailFiles::Agent(CancelToken& cancel) {
  absl::MutexLock attaching(&attachment_.attaching());
  if (absl::Status attached = attachment_.AttachLocked(FirstUse(), cancel);
      !attached.ok()) {
    return attached;
  }
  {
    absl::MutexLock lock(&jail_.mutex());
    if (agent_ != nullptr && agent_->alive()) return agent_;
  }
  return OpenAgent(cancel);
}

absl::StatusOr<SharedAgent> JailFiles::OpenAgent(CancelToken& cancel) {
  const MonotonicTime deadline = After(Now(), kSetupTimeout);
  bool asked = false;
  while (true) {
    int control = -1;
    {
      absl::MutexLock lock(&jail_.mutex());
      jail_.Pump();
      if (jail_.ended()) return absl::CancelledError("the session has ended");
      if (!jail_.Lives()) return absl::InternalError(jail_.death());
      // The answer for which an earlier call didn't wait comes first.
      if (!asked && jail_.files_due() == 0) {
        if (absl::Status sent = jail_.OpenFiles(); !sent.ok()) return sent;
        asked = true;
      } else if (asked && jail_.files_due() == 0) {
        if (!jail_.files_told().socket.valid()) {
          return absl::ResourceExhaustedError(
              absl::StrCat("the jail has no room for a process that works on "
                           "its files: ",
                           os::ErrorText(jail_.files_told().error)));
        }
        agent_ = std::make_shared<sandbox::FileAgent>(
            std::move(jail_.files_told().socket));
        return agent_;
      }
      control = jail_.get()->jail().control_fd();
    }
    if (cancel.reason().has_value()) return absl::CancelledError("cancelled");
    if (Now() >= deadline) {
      return absl::UnavailableError("the jail's init doesn't answer");
    }
    struct pollfd fds[] = {{control, POLLIN, 0}, {cancel.fd(), POLLIN, 0}};
    PollUntil(fds, 2, std::min(deadline, After(Now(), kLookInterval)));
  }
}

absl::Status JailFiles::Fill(CancelToken& cancel) {
  attachment_.attaching().AssertHeld();
  SharedArchive archive;
  {
    absl::MutexLock lock(&jail_.mutex());
    archive = archive_;
  }
  if (durable_ == nullptr && archive == nullptr) return absl::OkStatus();
  absl::MutexLock keeping(&keeping_);
  if (archive == nullptr) {
    const absl::StatusOr<bool> empty = durable_->Empty();
    if (!empty.ok()) return NotFilled(empty.status());
    if (*empty) return absl::OkStatus();
  }
  const absl::StatusOr<SharedAgent> agent = OpenAgent(cancel);
  if (!agent.ok()) return agent.status();
  const sandbox::FileLimits limits = {.timeout = kFillTimeout,
                                      .cancel_fd = cancel.fd()};
  if (archive == nullptr) {
    absl::Status restored = durable_->Restore(*agent, limits);
    if (restored.ok()) durable_->LogMissing();
    return NotFilled(restored);
  }
  if (absl::Status done = archive->Unpack(**agent, limits); !done.ok()) {
    return NotFilled(done);
  }
  absl::MutexLock lock(&jail_.mutex());
  archive_.reset();
  return absl::OkStatus();
}

absl::Status JailFiles::Save() {
  if (durable_ == nullptr) return absl::OkStatus();
  {
    absl::MutexLock lock(&jail_.mutex());
    // Nothing has happened since the copy was read or made.
    if (jail_.get() == nullptr) return absl::OkStatus();
  }
  saves_.Lock();
  // A saving that began before this call may have missed what this call is for.
  const uint64_t mine = saves_begun_ + 1;
  while (saves_over_ < mine) {
    if (saving_) {
      save_over_.Wait(&saves_);
      continue;
    }
    saving_ = true;
    const uint64_t number = ++saves_begun_;
    saves_.Unlock();
    absl::Status result = SaveNow();
    saves_.Lock();
    saving_ = false;
    saves_over_ = number;
    save_result_ = std::move(result);
    save_over_.SignalAll();
  }
  absl::Status result = save_result_;
  saves_.Unlock();
  return result;
}

absl::Status JailFiles::SaveNow() {
  absl::Status result;
  // The program's code may have ended the agent since the last time, by mistake
  // or not.
  for (int tries = 0; tries < 2; ++tries) {
    {
      absl::MutexLock lock(&jail_.mutex());
      jail_.Pump();
      if (!jail_.Lives()) {
        return absl::UnavailableError(
            "its jail ended; they are as they were saved last");
      }
    }
    const absl::StatusOr<SharedAgent> agent = Agent(ending_);
    if (!agent.ok()) return agent.status();
    {
      absl::MutexLock keeping(&keeping_);
      result = durable_->Save(
          *agent, {.timeout = kSaveTimeout, .cancel_fd = ending_.fd()});
    }
    if (result.ok()) return result;
    if (absl::IsDeadlineExceeded(result)) ForgetAgent(**agent);
    if ((*agent)->alive() && !absl::IsUnavailable(result)) return result;
  }
  return result;
}

absl::StatusOr<SharedArchive> JailFiles::Fork(CancelToken& cancel) {
  absl::MutexLock forking(&jail_.forking());
  {
    absl::MutexLock lock(&jail_.mutex());
    // The jail was never used: its files are those that it begins with.
    if (jail_.get() == nullptr) return archive_;
  }
  // Get the agent before all processes are stopped: init may wait for one of
  // them.
  const absl::StatusOr<SharedAgent> agent = Agent(cancel);
  if (!agent.ok()) return RunFailed(agent.status());
  if (absl::Status frozen = jail_.Freeze(true); !frozen.ok()) {
    return RunFailed(frozen);
  }
  const absl::Cleanup thaw = [this] { (void)jail_.Freeze(false); };
  if (absl::Status still = AwaitFrozen(cancel); !still.ok()) return still;
  if (durable_ != nullptr) {
    if (absl::Status saved = Save(); !saved.ok()) {
      return FilesNotSaved("the session to fork", saved);
    }
    return SharedArchive();
  }
  return FileArchive::Pack(**agent, fork_memory_,
                           {.timeout = kPackTimeout, .cancel_fd = cancel.fd()});
}

absl::Status JailFiles::AwaitFrozen(CancelToken& cancel) {
  const MonotonicTime deadline = After(Now(), kFreezeTimeout);
  while (true) {
    {
      absl::MutexLock lock(&jail_.mutex());
      jail_.Pump();
      if (!jail_.Lives()) {
        return RunFailed(absl::UnavailableError(jail_.death()));
      }
      if (jail_.get()->IsFrozen()) return absl::OkStatus();
    }
    if (cancel.reason().has_value()) return CallerGone();
    if (Now() >= deadline) {
      return RunFailed(absl::UnavailableError(
          "its processes could not be made to stand still"));
    }
    absl::SleepFor(kFreezeLook);
  }
}

void JailFiles::ForgetAgent(const sandbox::FileAgent& agent) {
  absl::MutexLock lock(&jail_.mutex());
  if (agent_.get() == &agent) agent_.reset();
}

void JailFiles::LoseAgent() {
  jail_.mutex().AssertHeld();
  agent_.reset();
}

void JailFiles::EndSaving() { ending_.Cancel(policy::KillReason::kCancelled); }

}  // namespace sandglass::server
