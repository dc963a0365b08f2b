#include "server/daemon/daemon_signals.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

volatile sig_atomic_t hang_up_came = 0;

}  // namespace

void KeepHangUps() {
  struct sigaction action = {};
  action.sa_handler = [](int) { hang_up_came = 1; };
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGHUP, &action, nullptr);
}

bool HangUpCameEarly() { return hang_up_came != 0; }

absl::StatusOr<os::Fd> OpenDaemonSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&signals, signal);
  }
  if (::pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) {
    return absl::InternalError("pthread_sigmask failed");
  }
  ::signal(SIGHUP, SIG_DFL);  // a blocked signal calls no handler
  ::signal(SIGPIPE, SIG_IGN);
  os::Fd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) {
    return absl::InternalError(absl::StrCat("signalfd: ", ErrorText(errno)));
  }
  return fd;
}

}  // namespace sandglass::server
