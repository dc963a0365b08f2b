#ifndef SANDGLASS_SERVER_DAEMON_POLICY_ACCEPTANCE_H_
#define SANDGLASS_SERVER_DAEMON_POLICY_ACCEPTANCE_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "sandbox/host/host_probe.h"
#include "server/daemon/config.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// INVALID_ARGUMENT: a profile keeps its sessions' files, but the configuration
// names no place for them.
absl::Status CheckDurablePlace(const Config& config, const PolicySet& policy);

// Logs the profiles whose caps of disk I/O the host can't enforce.
void WarnOfDiskCaps(const PolicySet& policy, const sandbox::HostReport& host);

// Checks a policy that comes while the daemon runs with these secrets. An error
// says why this daemon can't work with the policy. Logs what the host can't
// enforce of one that it can work with.
absl::Status AcceptPolicy(const PolicySet& policy, const Config& config,
                          const sandbox::HostReport& host,
                          const std::set<std::string>& secrets);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_POLICY_ACCEPTANCE_H_
