#include "server/files/file_session.h"

#include <unistd.h>

#include <utility>

#include "server/base/errors.h"
#include "server/session/file_status.h"

namespace sandglass::server {
namespace {

using sandbox::FileCode;

constexpr absl::Duration kShortTimeout = absl::Seconds(10);
constexpr absl::Duration kLongTimeout = absl::Seconds(60);

}  // namespace

void FileCallStop::Stop() {
  cancel_.Cancel(policy::KillReason::kCancelled);
  os::Fd file;
  absl::MutexLock lock(&mutex_);
  file = std::move(file_);
}

void FileCallStop::Hold(os::Fd file) {
  absl::MutexLock lock(&mutex_);
  if (!stopped()) file_ = std::move(file);
}

std::optional<ssize_t> FileCallStop::Read(char* data, size_t size,
                                          uint64_t offset) {
  absl::MutexLock lock(&mutex_);
  if (!file_.valid()) return std::nullopt;
  return TEMP_FAILURE_RETRY(
      ::pread(file_.get(), data, size, static_cast<off_t>(offset)));
}

absl::StatusOr<std::unique_ptr<FileSession>> FileSession::Open(
    SessionTable& sessions, const Identity& caller,
    const std::string& session_id, std::shared_ptr<FileCallStop> stop) {
  absl::StatusOr<SharedSession> session = sessions.Find(caller, session_id);
  if (!session.ok()) return session.status();
  absl::StatusOr<SessionUse> use =
      SessionUse::Begin(*session, [stop] { stop->Stop(); });
  if (!use.ok()) return use.status();
  absl::StatusOr<SharedAgent> agent = (*session)->host().Files(stop->cancel());
  if (agent.ok()) {
    return std::unique_ptr<FileSession>(
        new FileSession(*std::move(use), std::move(stop), *std::move(agent)));
  }
  if (absl::Status lives = (*session)->Lives(); !lives.ok()) return lives;
  if (stop->stopped()) return CallerGone();
  return RunFailed(agent.status());
}

sandbox::FileLimits FileSession::Limits(Work work) const {
  return {.timeout = work == Work::kShort ? kShortTimeout : kLongTimeout,
          .cancel_fd = stop_->cancel().fd()};
}

absl::Status FileSession::Check(sandbox::FileResult result,
                                absl::string_view path, Work work) {
  if (result.ok()) return absl::OkStatus();
  if (result.code == FileCode::kCancelled ||
      result.code == FileCode::kAgentGone) {
    if (absl::Status lives = use_.session().Lives(); !lives.ok()) return lives;
    if (stop_->stopped()) return CallerGone();
  }
  if (result.code == FileCode::kAgentBroken ||
      (result.code == FileCode::kTimedOut && !Answers(work))) {
    use_.session().host().ForgetFiles(*agent_);
  }
  return FileStatus(result, path);
}

// The next agent ends the one before, and with it whatever that does for other
// calls. Long work is done beside the agent itself, so a short call shows
// whether the agent hangs.
bool FileSession::Answers(Work timed_out) {
  if (timed_out == Work::kShort) return false;
  const sandbox::FileResult asked =
      agent_->Stat("/", sandbox::FileAgent::Links::kFollow, Limits()).result;
  return asked.code != FileCode::kTimedOut &&
         asked.code != FileCode::kAgentBroken;
}

}  // namespace sandglass::server
