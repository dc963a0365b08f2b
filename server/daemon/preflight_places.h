#ifndef SANDGLASS_SERVER_DAEMON_PREFLIGHT_PLACES_H_
#define SANDGLASS_SERVER_DAEMON_PREFLIGHT_PLACES_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/daemon/config.h"

namespace sandglass::server {

// Checks whether the daemon of a configuration could use its places on this
// machine. None of these functions changes anything; run them as root.

// OK when it is possible to listen on all addresses of a configuration at the
// same time.
absl::Status CheckPorts(const Config& config);

// Whether a daemon is running with this state directory.
bool IsInUse(const std::string& state_dir);

// Returns one line for each thing that is wrong: a directory that can't be made
// or written, belongs to somebody else or to the kernel, or is full; an address
// that is taken. If a daemon already runs with this configuration, addresses
// are left out.
std::vector<std::string> CheckPlaces(const Config& config, uid_t daemon);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_PREFLIGHT_PLACES_H_
