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

// How often a daemon's heartbeat is checked within the patience.
constexpr int kLooks = 6;
// How often a supervisor looks whether the daemon has sent its socket.
constexpr absl::Duration kListenerLook = absl::Milliseconds(200);

// The exit status of a child that died of a signal is this plus the signal's
// number, as in a shell.
constexpr int kDiedOf = 128;

timespec Timespec(absl::Duration duration) {
  return absl::ToTimespec(std::max(duration, absl::ZeroDuration()));
}

// Runs one daemon after the other, and takes all signals synchronously.
class Supervisor {
 public:
  explicit Supervisor(const SupervisorOptions& options) : options_(options) {
    sigemptyset(&signals_);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) {
      sigaddset(&signals_, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &signals_, &old_mask_);
    // The process that read our log may have gone.
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
    if (options_.listeners != nullptr) {
      const absl::Status open = options_.listeners->Open();
      if (!open.ok()) {
        Log(LogLevel::kWarning, "socket_not_kept",
            {{"error", std::string(open.message())}});
      }
    }
    absl::Duration backoff = options_.first_backoff;
    for (bool first = true;; first = false) {
      HandlePending();
      if (stopping_) return 0;
      const MonotonicTime started = Now();
      (*heartbeat)->Rest();
      const pid_t child = Start([&] { return daemon(**heartbeat); });
      if (child < 0) {
        Log(LogLevel::kError, "supervisor_fork_failed",
            {{"error", ErrorText(errno)}});
      } else {
        const int status = WaitFor(child, heartbeat->get());
        (void)CollectListeners();
        // A daemon that wasn't ready for signals yet dies of them.
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
        // The next one may fail as well. Until one serves, callers are told
        // that there is none; and it could not listen itself where a service
        // manager still does.
        if (options_.listeners != nullptr && (*heartbeat)->beats() == 0) {
          options_.listeners->Forget();
        }
        Log(LogLevel::kWarning, "daemon_died",
            {{"status", int64_t{status}},
             {"restart_in_ms", absl::ToInt64Milliseconds(backoff)}});
      }
      // Otherwise a service manager's watchdog would end us, and the first
      // daemon of our successor may not fail as ours may.
      NotifyServiceManager("WATCHDOG=1");
      Pause(backoff);
      if (stopping_) return 0;
      backoff = std::min(backoff * 2, options_.longest_backoff);
    }
  }

  void RunOnce(const std::function<int()>& function) {
    ReleaseListeners();
    if (const pid_t child = Start(function); child > 0) WaitFor(child);
  }

 private:
  void ReleaseListeners() {
    if (options_.listeners != nullptr) options_.listeners->Release();
  }

  // Whether nothing more is to come: all is there, or is not to be kept.
  bool CollectListeners() {
    return options_.listeners == nullptr || stopping_ ||
           options_.listeners->Collect();
  }

  // In the child, this does not return.
  pid_t Start(const std::function<int()>& function) {
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::sigaction(SIGPIPE, &old_pipe_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
    if (!os::DieWithParent(self)) ::_exit(1);
    ::_exit(function());
  }

  // Returns the child's exit status, or 128 + n if it died of signal n.
  int WaitFor(pid_t child, const Heartbeat* heartbeat = nullptr) {
    uint64_t seen = 0;
    int still = 0;  // checks in a row without a beat
    const absl::Duration look_every = options_.patience / kLooks;
    MonotonicTime next_look = Now();
    while (true) {
      // Waits for any child: as PID 1 of a container we get orphans, too.
      int status = 0;
      for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        if (ended != child) continue;
        return WIFEXITED(status) ? WEXITSTATUS(status)
                                 : kDiedOf + WTERMSIG(status);
      }
      if (Until(next_look) <= absl::ZeroDuration()) {
        next_look = After(Now(), look_every);
        const uint64_t beats = heartbeat == nullptr ? 0 : heartbeat->beats();
        still = beats != seen ? 0 : still + 1;
        seen = beats;
        const absl::Duration patience = PatienceWith(heartbeat, beats);
        // Time is counted in checks: if we both stood still, as in a container
        // that was paused, the daemon has time for another beat.
        if (still * look_every > patience) {
          still = 0;
          // Kill it first: the log may be what it hangs on.
          ::kill(child, SIGKILL);
          Log(LogLevel::kError,
              heartbeat == nullptr ? "clean_up_hangs" : "daemon_hangs",
              {{"pid", int64_t{child}},
               {"for_ms", absl::ToInt64Milliseconds(patience)}});
        }
      }
      siginfo_t info{};
      const int signal = WaitUntil(
          CollectListeners() ? next_look
                             : std::min(next_look, After(Now(), kListenerLook)),
          &info);
      const bool stop = signal == SIGTERM || signal == SIGINT;
      if (stop) {
        stopping_ = true;
        still = 0;
        // ORDER: before the daemon hears of it and closes its own, so that
        // nobody waits for one that won't come.
        ReleaseListeners();
      }
      // A signal from a terminal has already reached the child, and it would
      // take a second SIGINT as "at once". The clean-up gets no signals: it has
      // its time.
      if (heartbeat != nullptr && signal > 0 && signal != SIGCHLD &&
          info.si_code != SI_KERNEL) {
        ::kill(child, signal);
      }
      // ORDER: SIGCONT comes after the other signal, which then is the first
      // that the child sees.
      if (stop) ::kill(child, SIGCONT);
    }
  }

  // How long a child that has beaten so often may be silent.
  absl::Duration PatienceWith(const Heartbeat* heartbeat,
                              uint64_t beats) const {
    if (beats > 0) return options_.patience;
    return heartbeat == nullptr || stopping_ ? options_.end_patience
                                             : options_.start_patience;
  }

  // Returns the signal that came, or -1.
  int WaitUntil(MonotonicTime time, siginfo_t* info = nullptr) {
    const timespec rest = Timespec(Until(time));
    return ::sigtimedwait(&signals_, info, &rest);
  }

  // A pending signal from a terminal would be taken for one that the next child
  // has got, too.
  void HandlePending() {
    for (int signal = 0; (signal = WaitUntil(Now())) > 0;) {
      if (signal == SIGTERM || signal == SIGINT) stopping_ = true;
    }
  }

  void Pause(absl::Duration duration) {
    const MonotonicTime end = After(Now(), duration);
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
