#ifndef SANDGLASS_SERVER_DAEMON_DAEMON_SIGNALS_H_
#define SANDGLASS_SERVER_DAEMON_DAEMON_SIGNALS_H_

#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// From now on SIGHUP ends nothing: a SIGHUP that comes before OpenDaemonSignals
// is remembered for HangUpCameEarly. Programs that are executed meanwhile don't
// inherit this (execve(2)).
void KeepHangUps();
bool HangUpCameEarly();

// Returns a signalfd(2) that delivers SIGTERM, SIGINT and SIGHUP, for this
// thread and all that it starts later; SIGPIPE is ignored. INTERNAL when the
// kernel can't make one.
absl::StatusOr<os::Fd> OpenDaemonSignals();

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_DAEMON_SIGNALS_H_
