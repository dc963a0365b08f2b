#ifndef SANDGLASS_SERVER_DAEMON_EGRESS_START_H_
#define SANDGLASS_SERVER_DAEMON_EGRESS_START_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"
#include "sandbox/yard/egress_port.h"
#include "server/daemon/egress_config.h"

namespace sandglass::server {

// What the daemon, while it is root, passes to the egress proxy at the start
// and doesn't keep.
struct EgressStart {
  std::map<std::string, os::Fd> secrets;  // files that nobody here reads
  // Those of a new certificate authority; see EgressOptions.
  std::string authority_certificate;
  std::string authority_key;
  std::string extra_roots;

  std::set<std::string> SecretNames() const;
};

// INVALID_ARGUMENT: secrets or certificates can't be read as configured.
absl::StatusOr<EgressStart> MakeEgressStart(const EgressConfig& config);

// Starts the proxy and passes it the whole seed, of which nothing is left here
// afterwards: no secret's file stays open. `uid`, `templates` and
// `template_ledger` are those of EgressOptions. Errors and preconditions are
// those of EgressPort::Start.
absl::StatusOr<std::unique_ptr<sandbox::EgressPort>> StartEgress(
    const EgressConfig& config, EgressStart seed, uid_t uid,
    const std::vector<sandbox::JailTemplate>& templates, int template_ledger);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_EGRESS_START_H_
