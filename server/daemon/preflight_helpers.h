#ifndef SANDGLASS_SERVER_DAEMON_PREFLIGHT_HELPERS_H_
#define SANDGLASS_SERVER_DAEMON_PREFLIGHT_HELPERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/daemon/config.h"

namespace sandglass::server {

// FAILED_PRECONDITION unless `path` is the program `name` ("sandglass-spawner")
// of this daemon's own version, by what it answers to --version. UNAVAILABLE
// when it can't be asked now, says nothing within `wait`, or is killed.
// Runs it. `setting` is the key that names it, for the message.
absl::Status CheckHelper(const std::string& setting, const std::string& path,
                         const std::string& name,
                         absl::Duration wait = absl::Seconds(20));

// Of all that this configuration names.
std::vector<absl::Status> CheckHelpers(const Config& config);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_PREFLIGHT_HELPERS_H_
