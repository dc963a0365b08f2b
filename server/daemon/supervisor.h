#ifndef SANDGLASS_SERVER_DAEMON_SUPERVISOR_H_
#define SANDGLASS_SERVER_DAEMON_SUPERVISOR_H_

#include <functional>

#include "absl/time/time.h"
#include "server/daemon/heartbeat.h"
#include "server/daemon/kept_listeners.h"

namespace sandglass::server {

// The exit status of a daemon that can't start with its configuration, or on
// this host as it is now (EX_CONFIG of sysexits.h).
inline constexpr int kExitBadConfig = 78;

// A daemon that has sent a heartbeat, and then none for so long, is killed.
inline constexpr absl::Duration kSupervisorsPatience = absl::Seconds(30);
// The same for a daemon that has not sent any heartbeat yet, because it is
// still starting.
inline constexpr absl::Duration kStartPatience = absl::Minutes(3);
// The same for a daemon that was told to end, and for its clean-up. It is less
// than the 60 s after which the service manager kills everything
// (TimeoutStopSec= of deploy/systemd); a daemon that waits for programs sends
// heartbeats meanwhile.
inline constexpr absl::Duration kEndPatience = absl::Seconds(45);

struct SupervisorOptions {
  absl::Duration first_backoff = absl::Milliseconds(100);
  absl::Duration longest_backoff = absl::Seconds(5);
  // If a daemon lived for so long, the backoff is reset.
  absl::Duration healthy_after = absl::Seconds(10);
  absl::Duration patience = kSupervisorsPatience;
  absl::Duration start_patience = kStartPatience;
  absl::Duration end_patience = kEndPatience;
  // What its daemons listen on, kept from one that has served to the next; or
  // null.
  KeptListeners* listeners = nullptr;
};

// Keeps a daemon running: calls `daemon` in a child process, and again in a new
// one when that ends. This goes on until the daemon ends with 0, or a SIGTERM
// or SIGINT has come (these are passed on to the child). Then it calls
// `clean_up` in one more child.
//
// kExitBadConfig ends it as well, but only from the first daemon: what could be
// started once can be started again, when a file that is being edited is
// complete or the host has room.
//
// A daemon without a heartbeat for `patience` is killed. Before the first beat,
// and while the heartbeat rests, it has `start_patience`; after a SIGTERM or
// SIGINT, if it rests, `end_patience`. With these signals a stopped daemon
// (SIGSTOP) is also made to go on. A clean-up that takes as long is killed,
// too.
//
// Between two daemons it tells a service manager's watchdog that all is well.
// It parses nothing. The children die with this process. Returns the exit
// status for this process; what the functions return is that of their child.
// Preconditions: single-threaded; no gRPC object exists.
int Supervise(const std::function<int(Heartbeat&)>& daemon,
              const std::function<int()>& clean_up,
              const SupervisorOptions& options = {});

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_SUPERVISOR_H_
