#ifndef SANDGLASS_SERVER_DAEMON_DAEMON_H_
#define SANDGLASS_SERVER_DAEMON_DAEMON_H_

#include "server/daemon/config.h"
#include "server/daemon/heartbeat.h"
#include "server/daemon/kept_listeners.h"

namespace sandglass::server {

// The page that an error names for which the daemon doesn't start.
inline constexpr char kStartPage[] = "troubleshooting.md";

// Starts, serves and drains. `supervisor`: what a supervisor that forked this
// process watches it by, whose death is also this one's; null: there is none.
// `listeners` are sockets that were kept for it. Returns the process's exit
// status: 0 after an orderly end, kExitBadConfig for what a restart would not
// help, else 1.
// Preconditions: single-threaded; no gRPC object exists.
int RunDaemon(const ConfigFlags& flags, Heartbeat* supervisor,
              KeptListeners& listeners);

// Has the daemon that runs with these flags reload its policy, and waits until
// it has. Needs root. Returns an exit status: 1 when the policy was refused and
// the one that was in force stays.
int ReloadDaemon(const ConfigFlags& flags);

// Removes what a daemon with these flags left on the host. Called after its
// end, because the daemon itself has no rights left to do it. Needs root.
// Returns an exit status.
int CleanUp(const ConfigFlags& flags);
// The same, and removes the state directory, too, unless it has what isn't a
// daemon's.
int CleanUpAll(const ConfigFlags& flags);

// Prints the effective configuration and what the host offers to stdout.
// Returns 0 when the daemon could start like this, otherwise kExitBadConfig,
// with the reason on stderr.
int CheckDaemon(const ConfigFlags& flags);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_DAEMON_H_
