#ifndef SANDGLASS_SANDBOX_EGRESS_SERVICE_H_
#define SANDGLASS_SANDBOX_EGRESS_SERVICE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "internal/egress.pb.h"
#include "policy/network/network.h"
#include "sandbox/egress/proxy.h"
#include "sandbox/egress/secrets.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/template_book.h"

namespace sandglass::egress {

// What the proxy's process does for the daemon: it serves jails by the rules of
// their templates. The daemon faces the network and isn't trusted: rules only
// come from root's files.
class Service {
 public:
  using Policy = std::shared_ptr<const policy::NetworkPolicy>;

  // INVALID_ARGUMENT: the configuration has invalid rules or invalid name
  // servers. Without a ledger (an invalid descriptor) no templates can come
  // later.
  static absl::StatusOr<std::unique_ptr<Service>> Create(
      const internal::EgressConfig& config, Secrets secrets,
      os::Fd template_ledger);

  // Answers one request. INVALID_ARGUMENT: it is malformed, and the channel
  // must not be used any further.
  absl::StatusOr<internal::EgressAnswer> Answer(os::Packet packet);

 private:
  Service(std::unique_ptr<Proxy> proxy, os::Fd template_ledger);

  absl::Status Open(const internal::OpenLease& open, os::Packet packet);
  // NOT_FOUND: no template of that name has a network.
  absl::StatusOr<Policy> FindPolicy(const std::string& template_name);

  std::unique_ptr<Proxy> proxy_;
  std::map<std::string, Policy> policies_;  // by template
  sandbox::TemplateBook later_;
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_SERVICE_H_
