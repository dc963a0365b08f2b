#ifndef SANDGLASS_SERVER_DAEMON_PREFLIGHT_HELPERS_H_
#define SANDGLASS_SERVER_DAEMON_PREFLIGHT_HELPERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/daemon/config.h"

namespace sandglass::server {

// Checks that `path` is the program `name` ("sandglass-spawner") in this
// daemon's own version, by running it with --version. FAILED_PRECONDITION when
// it isn't. UNAVAILABLE when it can't be run now, says nothing within `wait`,
// or is killed. `setting` is the key that names the path, for the message.
absl::Status CheckHelper(const std::string& setting, const std::string& path,
                         const std::string& name,
                         absl::Duration wait = absl::Seconds(20));

// Checks all helpers that this configuration names.
std::vector<absl::Status> CheckHelpers(const Config& config);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_PREFLIGHT_HELPERS_H_
