#include "server/daemon/egress_start.h"

#include <string.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/egress/authority.h"
#include "sandbox/os/fd.h"
#include "server/base/certificate_file.h"
#include "server/live_policy/secret_files.h"

namespace sandglass::server {

absl::StatusOr<sandbox::EgressOptions> MakeEgressOptions(
    const EgressConfig& config) {
  sandbox::EgressOptions options;
  options.path = config.path;
  options.resolvers = config.resolvers;
  absl::StatusOr<std::map<std::string, os::Fd>> secrets =
      OpenSecrets(config.secrets_dir);
  if (!secrets.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("egress.secrets_dir: ", secrets.status().message()));
  }
  options.secrets = *std::move(secrets);
  absl::StatusOr<std::string> roots =
      ReadCertificates("egress.ca_file", config.ca_file);
  if (!roots.ok()) return roots.status();
  options.extra_roots = *std::move(roots);
  const absl::StatusOr<std::shared_ptr<egress::Authority>> authority =
      egress::Authority::Make();
  if (!authority.ok()) return authority.status();
  absl::StatusOr<std::string> certificate = (*authority)->CertificatePem();
  if (!certificate.ok()) return certificate.status();
  options.authority_certificate = *std::move(certificate);
  absl::StatusOr<std::string> key = (*authority)->KeyPem();
  if (!key.ok()) return key.status();
  options.authority_key = *std::move(key);
  return options;
}

std::set<std::string> SecretNames(const sandbox::EgressOptions& options) {
  std::set<std::string> names;
  for (const auto& [name, file] : options.secrets) names.insert(name);
  return names;
}

absl::StatusOr<std::unique_ptr<sandbox::EgressPort>> StartEgress(
    sandbox::EgressOptions options) {
  absl::StatusOr<std::unique_ptr<sandbox::EgressPort>> started =
      sandbox::EgressPort::Start(options);
  ::explicit_bzero(options.authority_key.data(), options.authority_key.size());
  return started;
}

}  // namespace sandglass::server
