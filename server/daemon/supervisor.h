#ifndef SANDGLASS_SERVER_DAEMON_SUPERVISOR_H_
#define SANDGLASS_SERVER_DAEMON_SUPERVISOR_H_

#include <functional>

#include "absl/time/time.h"
#include "server/daemon/heartbeat.h"

namespace sandglass::server {

// Exit status of a daemon that can't start as it is configured, or on this host
// as it is now (EX_CONFIG of sysexits.h).
inline constexpr int kExitBadConfig = 78;

// A daemon that has beaten once and then not for so long is killed.
inline constexpr absl::Duration kSupervisorsPatience = absl::Seconds(30);
// One that has not beaten yet, which is to say that starts.
inline constexpr absl::Duration kStartPatience = absl::Minutes(3);
// One that was told to end, and its clean-up. Less than the 60 s after which
// the service manager kills all (TimeoutStopSec= of deploy/systemd); a daemon
// that waits for programs beats meanwhile.
inline constexpr absl::Duration kEndPatience = absl::Seconds(45);

struct SupervisorOptions {
  absl::Duration first_backoff = absl::Milliseconds(100);
  absl::Duration longest_backoff = absl::Seconds(5);
  // A daemon that lived this long resets the backoff.
  absl::Duration healthy_after = absl::Seconds(10);
  absl::Duration patience = kSupervisorsPatience;
  absl::Duration start_patience = kStartPatience;
  absl::Duration end_patience = kEndPatience;
};

// Keeps a daemon running: calls `daemon` in a child process and again in a new
// one when that ends, until it ends with 0, or a SIGTERM or SIGINT came (which
// are passed on); then calls `clean_up` in one more child. kExitBadConfig ends
// it, too, but of the first daemon only: what could be started once can be
// again, when a file that is being edited is whole or the host has room. One
// whose heart stands still for `patience` is killed; before the first beat, and
// while it rests, for `start_patience`; after such a signal, with which one
// that is stopped (SIGSTOP) goes on again, for `end_patience` if it rests. So
// is a clean-up that takes as long.
// Between two it tells a service manager's watchdog that all goes on. Parses
// nothing. The children die with this process. Returns the
// exit status for this process; what the functions return is their child's.
// Preconditions: single-threaded; no gRPC object exists.
int Supervise(const std::function<int(Heartbeat&)>& daemon,
              const std::function<int()>& clean_up,
              const SupervisorOptions& options = {});

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_SUPERVISOR_H_
