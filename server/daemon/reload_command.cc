#include <signal.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/strings.h"
#include "server/daemon/daemon.h"
#include "server/daemon/preflight_places.h"
#include "server/daemon/reload_record.h"
#include "server/daemon/resolved_config.h"

namespace sandglass::server {
namespace {

// A service manager gives a reload as long as a start, 90 s by default.
constexpr absl::Duration kReloadWait = absl::Seconds(60);
constexpr absl::Duration kReloadLook = absl::Milliseconds(20);

absl::Status NoDaemon(const std::string& state_dir) {
  return absl::FailedPreconditionError(absl::StrCat(
      "no sandglassd runs with the state directory ", Quoted(state_dir, 256)));
}

// The record of the daemon that runs. One that still starts may have read the
// policy before it was changed, so it is to reload, too.
absl::StatusOr<ReloadRecord::State> AwaitRecord(const std::string& state_dir,
                                                MonotonicTime end) {
  while (IsInUse(state_dir)) {
    absl::StatusOr<ReloadRecord::State> record = ReloadRecord::Read(state_dir);
    if (!absl::IsUnavailable(record.status())) return record;
    if (Until(end) <= absl::ZeroDuration()) return record.status();
    absl::SleepFor(kReloadLook);
  }
  return NoDaemon(state_dir);
}

absl::Status Reload(const std::string& state_dir) {
  const MonotonicTime end = After(Now(), kReloadWait);
  const absl::StatusOr<ReloadRecord::State> before =
      AwaitRecord(state_dir, end);
  if (!before.ok()) return before.status();
  if (::kill(before->pid, SIGHUP) != 0) return NoDaemon(state_dir);
  while (IsInUse(state_dir)) {
    const absl::StatusOr<ReloadRecord::State> now =
        ReloadRecord::Read(state_dir);
    if (now.ok() && now->pid != before->pid) break;
    // One that was under way may have read the files before they changed.
    if (now.ok() && now->ended > before->begun) {
      if (now->error.empty()) return absl::OkStatus();
      return absl::FailedPreconditionError(
          absl::StrCat("the policy that was in force stays: ", now->error));
    }
    if (Until(end) <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(absl::StrCat(
          "the daemon, pid ", before->pid, ", has not reloaded within ",
          absl::FormatDuration(kReloadWait)));
    }
    absl::SleepFor(kReloadLook);
  }
  return absl::UnavailableError(absl::StrCat("the daemon, pid ", before->pid,
                                             ", ended before it had reloaded"));
}

}  // namespace

int ReloadDaemon(const ConfigFlags& flags) {
  const absl::StatusOr<Config> config = LoadConfig(flags);
  absl::Status done = config.status();
  if (done.ok()) done = RequireRoot();
  if (done.ok()) done = Reload(config->state_dir);
  if (done.ok()) return 0;
  Log(LogLevel::kError, "reload_failed",
      {{"error", std::string(done.message())}});
  return 1;
}

}  // namespace sandglass::server
