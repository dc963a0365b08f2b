#ifndef SANDGLASS_SERVER_IDENTITY_IDENTITY_CONFIG_H_
#define SANDGLASS_SERVER_IDENTITY_IDENTITY_CONFIG_H_

#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "policy/text/json_reader.h"
#include "server/identity/jwt.h"
#include "server/identity/local_accounts.h"

namespace sandglass::server {

// Whose client certificates are accepted: those with a name that begins with
// `name` where that ends with "*", else exactly that one. Names are the URI SAN
// or, without one, the DNS SAN.
struct CertificateRule {
  std::string name;
  std::string tenant = kLocalTenant;
  Scopes scopes = Scopes::Usual();
};

// The configuration's "identity": who callers are.
struct IdentityConfig {
  std::string tokens_dir;  // empty: there are no tokens
  LocalAccounts accounts;
  // The first that fits counts.
  std::vector<CertificateRule> certificates;
  // The certificates, by names as those of rules have them, whose connections
  // are gateways'. These count before the rules.
  std::vector<std::string> gateways;
  std::vector<JwtIssuer> jwt;
};

void ReadIdentityConfig(policy::JsonObject& root, IdentityConfig& config);
nlohmann::ordered_json IdentityToJson(const IdentityConfig& config);

// Reads a list of scopes' names.
Scopes ReadScopes(policy::JsonObject& object, Scopes fallback);
nlohmann::ordered_json ScopesToJson(Scopes scopes);

// Who has a certificate with this name, as far as the rules know it.
std::optional<Identity> IdentityOfCertificate(const IdentityConfig& config,
                                              const std::string& name);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IDENTITY_IDENTITY_CONFIG_H_
