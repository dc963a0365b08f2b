#include "server/identity/identity.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sandglass::server {
namespace {

constexpr size_t kMaxTenantBytes = 63;
constexpr size_t kMaxPrincipalBytes = 128;

}  // namespace

const char* NameOf(Proof proof) {
  switch (proof) {
    case Proof::kNone:
      return "none";
    case Proof::kUnixSocket:
      return "unix-socket";
    case Proof::kLoopback:
      return "loopback";
    case Proof::kCertificate:
      return "certificate";
    case Proof::kToken:
      return "token";
    case Proof::kJwt:
      return "jwt";
  }
  return "none";
}

std::string NameOf(absl::string_view tenant, absl::string_view principal) {
  return tenant == kLocalTenant ? std::string(principal)
                                : absl::StrCat(tenant, "/", principal);
}

absl::string_view TenantOf(absl::string_view name) {
  const size_t slash = name.find('/');
  if (slash == absl::string_view::npos) return kLocalTenant;
  const absl::string_view tenant = name.substr(0, slash);
  return IsTenantName(tenant) ? tenant : absl::string_view(kLocalTenant);
}

bool IsTenantName(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxTenantBytes && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
         });
}

bool IsPrincipalName(absl::string_view tenant, absl::string_view text) {
  for (const char* reserved :
       {"uid:", "tcp:", kStrangerPrefix, kGatewayPrefix}) {
    if (absl::StartsWith(text, reserved)) return false;
  }
  return text != "others" && !text.empty() &&
         text.size() <= kMaxPrincipalBytes && absl::ascii_isalnum(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) {
                       return absl::ascii_isalnum(c) ||
                              absl::StrContains("._@:/-", c);
                     }) &&
         (tenant != kLocalTenant || TenantOf(text) == kLocalTenant);
}

absl::string_view Identity::principal() const {
  absl::string_view rest = name;
  if (tenant != kLocalTenant) rest.remove_prefix(tenant.size() + 1);
  return rest;
}

bool Identity::Sees(absl::string_view owner) const {
  return SeesAll() || name == owner ||
         (shares_tenant && TenantOf(owner) == tenant);
}

Identity LocalIdentity(uid_t uid, gid_t gid) {
  Identity identity{.name = absl::StrCat("uid:", uid), .uid = uid, .gid = gid};
  identity.scopes = uid == 0 ? Scopes::All() : Scopes::Usual();
  identity.proof = Proof::kUnixSocket;
  return identity;
}

Identity OwnerNamed(std::string name) {
  Identity identity{.name = std::move(name)};
  identity.tenant = std::string(TenantOf(identity.name));
  return identity;
}

}  // namespace sandglass::server
