#include "server/daemon/egress_start.h"

#include <string.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/egress/authority.h"
#include "server/base/certificate_file.h"
#include "server/live_policy/secret_files.h"

namespace sandglass::server {

std::set<std::string> EgressStart::SecretNames() const {
  std::set<std::string> names;
  for (const auto& [name, file] : secrets) names.insert(name);
  return names;
}

absl::StatusOr<EgressStart> MakeEgressStart(const EgressConfig& config) {
  EgressStart seed;
  absl::StatusOr<std::map<std::string, os::Fd>> secrets =
      OpenSecrets(config.secrets_dir);
  if (!secrets.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("egress.secrets_dir: ", secrets.status().message()));
  }
  seed.secrets = *std::move(secrets);
  absl::StatusOr<std::string> roots =
      ReadCertificates("egress.ca_file", config.ca_file);
  if (!roots.ok()) return roots.status();
  seed.extra_roots = *std::move(roots);
  const absl::StatusOr<std::shared_ptr<egress::Authority>> authority =
      egress::Authority::Make();
  if (!authority.ok()) return authority.status();
  absl::StatusOr<std::string> certificate = (*authority)->CertificatePem();
  if (!certificate.ok()) return certificate.status();
  seed.authority_certificate = *std::move(certificate);
  absl::StatusOr<std::string> key = (*authority)->KeyPem();
  if (!key.ok()) return key.status();
  seed.authority_key = *std::move(key);
  return seed;
}

absl::StatusOr<std::unique_ptr<sandbox::EgressPort>> StartEgress(
    const EgressConfig& config, EgressStart seed, uid_t uid,
    const std::vector<sandbox::JailTemplate>& templates, int template_ledger) {
  sandbox::EgressOptions options;
  options.path = config.path;
  options.uid = uid;
  options.templates = templates;
  options.template_ledger = template_ledger;
  options.resolvers = config.resolvers;
  options.secrets = std::move(seed.secrets);
  options.authority_certificate = std::move(seed.authority_certificate);
  options.authority_key = std::move(seed.authority_key);
  options.extra_roots = std::move(seed.extra_roots);
  absl::StatusOr<std::unique_ptr<sandbox::EgressPort>> started =
      sandbox::EgressPort::Start(options);
  ::explicit_bzero(options.authority_key.data(), options.authority_key.size());
  return started;
}

}  // namespace sandglass::server
