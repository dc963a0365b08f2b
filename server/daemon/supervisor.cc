#include "server/daemon/supervisor.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "absl/status/statusor.h"
#include "sandbox/os/process.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/notify.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

// At a daemon's heart, within the patience.
constexpr int kLooks = 6;

// And the signal's number: the exit status of who died of one, as in a shell.
constexpr int kDiedOf = 128;

timespec Timespec(absl::Duration duration) {
  return absl::ToTimespec(std::max(duration, absl::ZeroDuration()));
}

// One daemon after the other, all signals taken synchronously.
class Supervisor {
 public:
  explicit Supervisor(const SupervisorOptions& options) : options_(options) {
    sigemptyset(&signals_);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) {
      sigaddset(&signals_, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &signals_, &old_mask_);
    // Whoever read our log may have gone.
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &old_pipe_);
  }

  // Returns the last daemon's exit status.
  int Run(const std::function<int(Heartbeat&)>& daemon) {
    const absl::StatusOr<std::unique_ptr<Heartbeat>> heartbeat =
        Heartbeat::Create();
    if (!heartbeat.ok()) {
      Log(LogLevel::kError, "start_failed",
          {{"error", std::string(heartbeat.status().message())}});
      return 1;
    }
    absl::Duration backoff = options_.first_backoff;
    for (bool first = true;; first = false) {
      TakePending();
      if (stopping_) return 0;
      const MonotonicTime started = Monotonic::now();
      (*heartbeat)->Rest();
      const pid_t child = Start([&] { return daemon(**heartbeat); });
      if (child < 0) {
        Log(LogLevel::kError, "supervisor_fork_failed",
            {{"error", ErrorText(errno)}});
      } else {
        const int status = WaitFor(child, heartbeat->get());
        // A daemon that wasn't yet ready for signals dies of them.
        if (stopping_ &&
            (status == kDiedOf + SIGTERM || status == kDiedOf + SIGINT)) {
          return 0;
        }
        if (stopping_ || status == 0 || (first && status == kExitBadConfig)) {
          return status;
        }
        if (Since(started) >= options_.healthy_after) {
          backoff = options_.first_backoff;
        }
        Log(LogLevel::kWarning, "daemon_died",
            {{"status", int64_t{status}},
             {"restart_in_ms", absl::ToInt64Milliseconds(backoff)}});
      }
      // A service manager's watchdog would end us, whose successor's first
      // daemon may not fail as ours may.
      NotifyServiceManager("WATCHDOG=1");
      Pause(backoff);
      if (stopping_) return 0;
      backoff = std::min(backoff * 2, options_.longest_backoff);
    }
  }

  void RunOnce(const std::function<int()>& function) {
    if (const pid_t child = Start(function); child > 0) WaitFor(child);
  }

 private:
  // In the child this does not return.
  pid_t Start(const std::function<int()>& function) {
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::sigaction(SIGPIPE, &old_pipe_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
    if (!os::DieWithParent(self)) ::_exit(1);
    ::_exit(function());
  }

  // The child's exit status, 128 + n for signal n.
  int WaitFor(pid_t child, const Heartbeat* heartbeat = nullptr) {
    uint64_t seen = 0;
    int still = 0;  // looks without a beat
    const absl::Duration look_every = options_.patience / kLooks;
    MonotonicTime next_look = Monotonic::now();
    while (true) {
      // Any child: as PID 1 of a container we get orphans too.
      int status = 0;
      for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        if (ended != child) continue;
        return WIFEXITED(status) ? WEXITSTATUS(status)
                                 : kDiedOf + WTERMSIG(status);
      }
      if (Until(next_look) <= absl::ZeroDuration()) {
        next_look = Monotonic::now() + absl::ToChronoNanoseconds(look_every);
        const uint64_t beats = heartbeat == nullptr ? 0 : heartbeat->beats();
        still = beats != seen ? 0 : still + 1;
        seen = beats;
        const absl::Duration patience = PatienceWith(heartbeat, beats);
        // Counted in looks: when both of us stood still, as a container that is
        // paused, it has time to beat once more.
        if (still * look_every > patience) {
          still = 0;
          // First: the log may be what it hangs on.
          ::kill(child, SIGKILL);
          Log(LogLevel::kError,
              heartbeat == nullptr ? "clean_up_hangs" : "daemon_hangs",
              {{"pid", int64_t{child}},
               {"for_ms", absl::ToInt64Milliseconds(patience)}});
        }
      }
      siginfo_t info{};
      const int signal = WaitUntil(next_look, &info);
      const bool stop = signal == SIGTERM || signal == SIGINT;
      if (stop) {
        stopping_ = true;
        still = 0;
      }
      // What a terminal sends the child has got as well, and a second SIGINT
      // would be "at once" to it. The clean-up isn't told: it has its time.
      if (heartbeat != nullptr && signal > 0 && signal != SIGCHLD &&
          info.si_code != SI_KERNEL) {
        ::kill(child, signal);
      }
      // ORDER: after it, which then is the first that the child sees.
      if (stop) ::kill(child, SIGCONT);
    }
  }

  // How long a child may be silent that has beaten so often.
  absl::Duration PatienceWith(const Heartbeat* heartbeat,
                              uint64_t beats) const {
    if (beats > 0) return options_.patience;
    return heartbeat == nullptr || stopping_ ? options_.end_patience
                                             : options_.start_patience;
  }

  // The signal that came; -1: none.
  int WaitUntil(MonotonicTime time, siginfo_t* info = nullptr) {
    const timespec rest = Timespec(Until(time));
    return ::sigtimedwait(&signals_, info, &rest);
  }

  // A terminal's would be taken for one that the next child has got, too.
  void TakePending() {
    for (int signal = 0; (signal = WaitUntil(Monotonic::now())) > 0;) {
      if (signal == SIGTERM || signal == SIGINT) stopping_ = true;
    }
  }

  void Pause(absl::Duration duration) {
    const MonotonicTime end =
        Monotonic::now() + absl::ToChronoNanoseconds(duration);
    while (!stopping_ && Until(end) > absl::ZeroDuration()) {
      const int signal = WaitUntil(end);
      if (signal == SIGTERM || signal == SIGINT) stopping_ = true;
    }
  }

  const SupervisorOptions options_;
  sigset_t signals_;
  sigset_t old_mask_;
  struct sigaction old_pipe_ {};
  bool stopping_ = false;
};

}  // namespace

int Supervise(const std::function<int(Heartbeat&)>& daemon,
              const std::function<int()>& clean_up,
              const SupervisorOptions& options) {
  Supervisor supervisor(options);
  const int status = supervisor.Run(daemon);
  supervisor.RunOnce(clean_up);
  return status;
}

}  // namespace sandglass::server
