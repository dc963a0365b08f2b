#ifndef SANDGLASS_SERVER_DAEMON_DAEMON_SIGNALS_H_
#define SANDGLASS_SERVER_DAEMON_DAEMON_SIGNALS_H_

#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// From here on SIGHUP ends nothing: what comes before TakeDaemonSignals is kept
// for HangUpCameEarly. Programs that are executed meanwhile inherit nothing of
// it (execve(2)).
void KeepHangUps();
bool HangUpCameEarly();

// SIGTERM, SIGINT and SIGHUP as events of a signalfd(2), for this thread and
// all that follow; SIGPIPE is ignored. INTERNAL when the kernel gives none.
absl::StatusOr<os::Fd> TakeDaemonSignals();

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_DAEMON_SIGNALS_H_
