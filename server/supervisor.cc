#include "server/supervisor.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/clock.h"
#include "server/log.h"

namespace sandglass::server {
namespace {

timespec Timespec(absl::Duration duration) {
  return absl::ToTimespec(std::max(duration, absl::ZeroDuration()));
}

// One daemon after the other, all signals taken synchronously.
class Supervisor {
 public:
  Supervisor(const std::function<int()>& daemon,
             const SupervisorOptions& options)
      : daemon_(daemon), options_(options) {
    sigemptyset(&signals_);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) {
      sigaddset(&signals_, signal);
    }
    ::sigprocmask(SIG_BLOCK, &signals_, &old_mask_);
  }

  int Run() {
    absl::Duration backoff = options_.first_backoff;
    while (true) {
      const MonotonicTime started = Monotonic::now();
      const pid_t child = Start();
      if (child < 0) {
        Log(LogLevel::kError, "supervisor_fork_failed",
            {{"error", strerror(errno)}});
      } else {
        const int status = WaitFor(child);
        if (stopping_ || status == 0 || status == kExitBadConfig) {
          return status;
        }
        if (Since(started) >= options_.healthy_after) {
          backoff = options_.first_backoff;
        }
        Log(LogLevel::kWarning, "daemon_died",
            {{"status", int64_t{status}},
             {"restart_in_ms", absl::ToInt64Milliseconds(backoff)}});
      }
      Pause(backoff);
      if (stopping_) return 0;
      backoff = std::min(backoff * 2, options_.longest_backoff);
    }
  }

 private:
  // In the child this does not return.
  pid_t Start() {
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
    if (!DieWithParent(self).ok()) ::_exit(1);
    ::_exit(daemon_());
  }

  // The child's exit status, 128 + n for signal n.
  int WaitFor(pid_t child) {
    while (true) {
      int status = 0;
      const pid_t ended = ::waitpid(child, &status, WNOHANG);
      if (ended == child) {
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      const int signal = ::sigwaitinfo(&signals_, nullptr);
      if (signal == SIGTERM || signal == SIGINT) stopping_ = true;
      if (signal > 0 && signal != SIGCHLD) ::kill(child, signal);
    }
  }

  void Pause(absl::Duration duration) {
    const MonotonicTime end =
        Monotonic::now() + absl::ToChronoNanoseconds(duration);
    while (!stopping_ && Until(end) > absl::ZeroDuration()) {
      const timespec rest = Timespec(Until(end));
      const int signal = ::sigtimedwait(&signals_, nullptr, &rest);
      if (signal == SIGTERM || signal == SIGINT) stopping_ = true;
    }
  }

  const std::function<int()>& daemon_;
  const SupervisorOptions options_;
  sigset_t signals_;
  sigset_t old_mask_;
  bool stopping_ = false;
};

}  // namespace

int Supervise(const std::function<int()>& daemon,
              const SupervisorOptions& options) {
  return Supervisor(daemon, options).Run();
}

absl::Status DieWithParent(pid_t parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    return absl::InternalError(
        absl::StrCat("prctl(PR_SET_PDEATHSIG): ", strerror(errno)));
  }
  // It may have died before the wish was heard.
  if (::getppid() != parent) {
    return absl::UnavailableError("the parent process has died");
  }
  return absl::OkStatus();
}

}  // namespace sandglass::server
