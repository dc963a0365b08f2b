#ifndef SANDGLASS_SERVER_DAEMON_PREFLIGHT_PLACES_H_
#define SANDGLASS_SERVER_DAEMON_PREFLIGHT_PLACES_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/daemon/config.h"

namespace sandglass::server {

// Whether the daemon of a configuration could use its places on this machine.
// All of it changes nothing; run as root.

// OK when all addresses of a configuration can be listened on, at a time.
absl::Status CheckPorts(const Config& config);

// Whether a daemon runs with this state directory.
bool IsInUse(const std::string& state_dir);

// One line for each thing that is wrong: a directory that can't be made or
// written, is another's, a kernel's or full; an address that is taken. Of a
// daemon that runs already with this configuration the addresses are left out.
std::vector<std::string> CheckPlaces(const Config& config, uid_t daemon);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_PREFLIGHT_PLACES_H_
