// A session's file agent.
#include <poll.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/os/status.h"
#include "server/instant.h"
#include "server/jail_host.h"
#include "server/poll_until.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kSetupTimeout = absl::Seconds(15);
// Others may take the event that one waits for.
constexpr absl::Duration kLookInterval = absl::Milliseconds(5);

}  // namespace

absl::StatusOr<std::shared_ptr<sandbox::FileAgent>> JailHost::Files(
    CancelToken& cancel) {
  if (absl::Status attached = Attach("", "", cancel); !attached.ok()) {
    return attached;
  }
  absl::MutexLock opening(&opening_);
  {
    absl::MutexLock lock(&mutex_);
    if (files_ != nullptr && files_->alive()) return files_;
  }
  return OpenFiles(cancel);
}

absl::StatusOr<std::shared_ptr<sandbox::FileAgent>> JailHost::OpenFiles(
    CancelToken& cancel) {
  const Instant deadline = After(Now(), kSetupTimeout);
  bool asked = false;
  while (true) {
    int control = -1;
    {
      absl::MutexLock lock(&mutex_);
      Pump();
      if (ended_) return absl::CancelledError("the session has ended");
      if (!JailLives()) return absl::InternalError(death_);
      // What a call before didn't wait for comes first.
      if (!asked && files_due_ == 0) {
        if (absl::Status sent = jail_->OpenFiles(); !sent.ok()) return sent;
        ++files_due_;
        asked = true;
      } else if (asked && files_due_ == 0) {
        if (!files_told_.socket.valid()) {
          return absl::ResourceExhaustedError(
              absl::StrCat("the jail has no room for a process that works on "
                           "its files: ",
                           os::ErrorText(files_told_.error)));
        }
        files_ =
            std::make_shared<sandbox::FileAgent>(std::move(files_told_.socket));
        return files_;
      }
      control = jail_->jail().control_fd();
    }
    if (cancel.reason().has_value()) return absl::CancelledError("cancelled");
    if (Now() >= deadline) {
      return absl::UnavailableError("the jail's init doesn't answer");
    }
    struct pollfd fds[] = {{control, POLLIN, 0}, {cancel.fd(), POLLIN, 0}};
    PollUntil(fds, 2, std::min(deadline, After(Now(), kLookInterval)));
  }
}

void JailHost::ForgetFiles(const sandbox::FileAgent& agent) {
  absl::MutexLock lock(&mutex_);
  if (files_.get() == &agent) files_.reset();
}

}  // namespace sandglass::server
