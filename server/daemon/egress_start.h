#ifndef SANDGLASS_SERVER_DAEMON_EGRESS_START_H_
#define SANDGLASS_SERVER_DAEMON_EGRESS_START_H_

#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "sandbox/yard/egress_port.h"
#include "server/daemon/egress_config.h"

namespace sandglass::server {

// What the daemon, while it is root, passes to the egress proxy at the start
// and doesn't keep: secrets, as files that nobody here reads, and a new
// certificate authority. The caller sets uid, templates and template_ledger.
// INVALID_ARGUMENT: secrets or certificates can't be read as configured.
absl::StatusOr<sandbox::EgressOptions> MakeEgressOptions(
    const EgressConfig& config);

std::set<std::string> SecretNames(const sandbox::EgressOptions& options);

// Starts the proxy, of whose options nothing is left here afterwards: no
// secret's file stays open. Errors and preconditions are those of
// EgressPort::Start.
absl::StatusOr<std::unique_ptr<sandbox::EgressPort>> StartEgress(
    sandbox::EgressOptions options);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_EGRESS_START_H_
