#include "server/identity/identity_config.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"
#include "policy/text/views.h"
#include "server/base/accounts.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

std::string ReadTenant(policy::JsonObject& object) {
  std::string tenant = object.String("tenant", kLocalTenant);
  if (!IsTenantName(tenant)) {
    object.AddError("tenant",
                    absl::StrCat(Quoted(tenant),
                                 " is not at most 63 of a-z, 0-9 and \"-\""));
  }
  return tenant;
}

void ReadAccount(policy::JsonObject& object, LocalAccounts& accounts) {
  LocalAccounts::Rule rule;
  rule.tenant = ReadTenant(object);
  if (object.Has("scopes")) rule.scopes = ReadScopes(object, {});
  const bool by_user = object.Has("user");
  if (by_user == object.Has("group")) {
    object.AddError("", "names either a \"user\" or a \"group\"");
    return;
  }
  const char* key = by_user ? "user" : "group";
  const std::string name = object.String(key);
  if (by_user) {
    const absl::StatusOr<uid_t> uid = ResolveUser(name);
    if (!uid.ok()) return object.AddError(key, StdView(uid.status().message()));
    rule.account = name;
    accounts.users[*uid] = std::move(rule);
  } else {
    const absl::StatusOr<gid_t> gid = ResolveGroup(name, 0);
    if (!gid.ok()) return object.AddError(key, StdView(gid.status().message()));
    rule.account = name;
    accounts.groups[*gid] = std::move(rule);
  }
}

void CheckCertificateName(const char* key, const std::string& name,
                          policy::JsonObject& object) {
  const size_t star = name.find('*');
  if (name.empty() || (star != std::string::npos && star + 1 != name.size())) {
    object.AddError(key, absl::StrCat(Quoted(name),
                                      " is not a certificate's URI or DNS "
                                      "name, at most with a * at its end"));
  }
}

// Whether a name in a configuration is that of this certificate.
bool Fits(absl::string_view rule, const std::string& name) {
  return absl::ConsumeSuffix(&rule, "*") ? absl::StartsWith(name, rule)
                                         : name == rule;
}

CertificateRule ReadCertificate(policy::JsonObject& object) {
  CertificateRule rule;
  rule.name = object.String("name");
  CheckCertificateName("name", rule.name, object);
  rule.tenant = ReadTenant(object);
  rule.scopes = ReadScopes(object, Scopes::Usual());
  return rule;
}

JwtIssuer ReadIssuer(policy::JsonObject& object) {
  JwtIssuer issuer;
  issuer.issuer = object.String("issuer");
  issuer.audience = object.String("audience");
  for (const char* key : {"issuer", "audience"}) {
    if (object.Has(key) && object.String(key).empty()) {
      object.AddError(key, "is empty");
    }
  }
  issuer.jwks = object.String("jwks");
  if (issuer.jwks.empty() || issuer.jwks.front() != '/') {
    object.AddError(
        "jwks", absl::StrCat(Quoted(issuer.jwks), " is not an absolute path"));
  }
  issuer.tenant_claim = object.String("tenant_claim", "");
  if (object.Has("tenant") == !issuer.tenant_claim.empty()) {
    object.AddError("", "names either a \"tenant\" or a \"tenant_claim\"");
  } else if (object.Has("tenant")) {
    issuer.tenant = ReadTenant(object);
  }
  // Parsed here, since a pointer that is none would throw later.
  const bool is_pointer = issuer.tenant_claim.empty() ||
                          (issuer.tenant_claim.front() == '/' &&
                           !absl::StrContains(issuer.tenant_claim, '~'));
  if (!is_pointer) {
    object.AddError("tenant_claim",
                    absl::StrCat(Quoted(issuer.tenant_claim),
                                 " is no JSON pointer such as "
                                 "\"/kubernetes.io/namespace\", without ~"));
    issuer.tenant_claim.clear();
  }
  issuer.scopes = ReadScopes(object, Scopes::Usual());
  return issuer;
}

}  // namespace

Scopes ReadScopes(policy::JsonObject& object, Scopes fallback) {
  if (!object.Has("scopes")) return fallback;
  Scopes scopes;
  for (const std::string& name : object.Strings("scopes")) {
    if (const std::optional<Scope> scope = ScopeOf(name)) {
      scopes.Add(*scope);
    } else {
      object.AddError("scopes", absl::StrCat(Quoted(name), " is none of ",
                                             AllScopeNames()));
    }
  }
  return scopes;
}

nlohmann::ordered_json ScopesToJson(Scopes scopes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Scope scope : scopes.List()) list.push_back(NameOf(scope));
  return list;
}

void ReadIdentityConfig(policy::JsonObject& root, IdentityConfig& config) {
  std::optional<policy::JsonObject> object = root.OptionalObject("identity");
  if (!object.has_value()) return;
  config.tokens_dir = object->String("tokens_dir", "");
  if (!config.tokens_dir.empty() && config.tokens_dir.front() != '/') {
    object->AddError("tokens_dir", absl::StrCat(Quoted(config.tokens_dir),
                                                " is not an absolute path"));
  }
  if (object->Has("accounts")) {
    for (policy::JsonObject& account : object->Objects("accounts")) {
      ReadAccount(account, config.accounts);
    }
  }
  if (object->Has("certificates")) {
    for (policy::JsonObject& each : object->Objects("certificates")) {
      config.certificates.push_back(ReadCertificate(each));
    }
  }
  if (object->Has("gateways")) {
    config.gateways = object->Strings("gateways");
    for (const std::string& name : config.gateways) {
      CheckCertificateName("gateways", name, *object);
    }
    if (!config.gateways.empty() && root.String("node_name", "").empty()) {
      root.AddError("node_name",
                    "is needed beside identity.gateways: ids of sessions and "
                    "runs tell gateways by it which node has them");
    }
  }
  if (object->Has("jwt")) {
    for (policy::JsonObject& each : object->Objects("jwt")) {
      config.jwt.push_back(ReadIssuer(each));
    }
  }
}

nlohmann::ordered_json IdentityToJson(const IdentityConfig& config) {
  nlohmann::ordered_json accounts = nlohmann::ordered_json::array();
  const auto add = [&](const char* key, const LocalAccounts::Rule& rule) {
    nlohmann::ordered_json account = {{key, rule.account},
                                      {"tenant", rule.tenant}};
    if (rule.scopes) account["scopes"] = ScopesToJson(*rule.scopes);
    accounts.push_back(std::move(account));
  };
  for (const auto& [uid, rule] : config.accounts.users) add("user", rule);
  for (const auto& [gid, rule] : config.accounts.groups) add("group", rule);
  nlohmann::ordered_json certificates = nlohmann::ordered_json::array();
  for (const CertificateRule& rule : config.certificates) {
    certificates.push_back({{"name", rule.name},
                            {"tenant", rule.tenant},
                            {"scopes", ScopesToJson(rule.scopes)}});
  }
  nlohmann::ordered_json issuers = nlohmann::ordered_json::array();
  for (const JwtIssuer& issuer : config.jwt) {
    issuers.push_back({{"issuer", issuer.issuer},
                       {"audience", issuer.audience},
                       {"jwks", issuer.jwks},
                       {"tenant", issuer.tenant},
                       {"tenant_claim", issuer.tenant_claim},
                       {"scopes", ScopesToJson(issuer.scopes)}});
  }
  return {{"tokens_dir", config.tokens_dir},
          {"accounts", std::move(accounts)},
          {"certificates", std::move(certificates)},
          {"gateways", config.gateways},
          {"jwt", std::move(issuers)}};
}

std::optional<Identity> IdentityOfCertificate(const IdentityConfig& config,
                                              const std::string& name) {
  for (const std::string& gateway : config.gateways) {
    if (!Fits(gateway, name) || !IsPrincipalName(kLocalTenant, name)) continue;
    Identity identity{.name = absl::StrCat(kGatewayPrefix, name)};
    identity.proof = Proof::kCertificate;
    identity.is_gateway = true;
    return identity;
  }
  for (const CertificateRule& rule : config.certificates) {
    if (!Fits(rule.name, name) || !IsPrincipalName(rule.tenant, name)) continue;
    Identity identity{.name = NameOf(rule.tenant, name)};
    identity.tenant = rule.tenant;
    identity.scopes = rule.scopes;
    identity.proof = Proof::kCertificate;
    return identity;
  }
  return std::nullopt;
}

}  // namespace sandglass::server
