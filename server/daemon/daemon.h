#ifndef SANDGLASS_SERVER_DAEMON_DAEMON_H_
#define SANDGLASS_SERVER_DAEMON_DAEMON_H_

#include "server/daemon/config.h"
#include "server/daemon/heartbeat.h"

namespace sandglass::server {

// Starts the daemon, serves and drains. A supervisor that forked this process
// watches it through `supervisor`, and when the supervisor dies, so does this
// process; null when there is no supervisor. Returns the process's exit status:
// 0 after an orderly end, kExitBadConfig when a restart would not help,
// otherwise 1. Preconditions: single-threaded; no gRPC object exists.
int RunDaemon(const ConfigFlags& flags, Heartbeat* supervisor);

// Removes what a daemon with these flags left on the host. Called after its
// end, because the daemon itself has no rights left to do it. Needs root.
// Returns an exit status.
int CleanUp(const ConfigFlags& flags);

// Prints the effective configuration and what the host offers to stdout.
// Returns 0 when the daemon could start like this, otherwise kExitBadConfig,
// with the reason on stderr.
int CheckDaemon(const ConfigFlags& flags);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_DAEMON_H_
