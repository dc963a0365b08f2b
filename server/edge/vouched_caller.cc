#include "server/edge/vouched_caller.h"

#include "sandglass/node/v1/node.pb.h"
#include "sandglass/v1/identity.pb.h"

namespace sandglass::server {
namespace {

constexpr size_t kMaxBytes = 16 << 10;

// nullopt: there is no such scope in this version, which a later gateway's
// caller may have. It is left out.
std::optional<Scope> ToScope(int number) {
  if (number == v1::SCOPE_UNSPECIFIED || !v1::Scope_IsValid(number)) {
    return std::nullopt;
  }
  return static_cast<Scope>(number);
}

}  // namespace

std::string ToCallerMetadata(const Identity& caller) {
  node::v1::Caller message;
  message.set_tenant(caller.tenant);
  message.set_principal(std::string(caller.principal()));
  for (const Scope scope : caller.scopes.List()) {
    message.add_scopes(static_cast<v1::Scope>(scope));
  }
  for (const std::string& profile : caller.profiles) {
    message.add_profiles(profile);
  }
  message.set_read_only(caller.read_only);
  message.set_proof(static_cast<v1::Proof>(caller.proof));
  message.set_token_id(caller.token_id);
  message.set_address(caller.address);
  return message.SerializeAsString();
}

std::optional<Identity> FromCallerMetadata(absl::string_view value) {
  node::v1::Caller message;
  if (value.size() > kMaxBytes ||
      !message.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
      !IsTenantName(message.tenant()) ||
      !IsPrincipalName(message.tenant(), message.principal()) ||
      message.proof() == v1::PROOF_UNSPECIFIED ||
      !v1::Proof_IsValid(message.proof())) {
    return std::nullopt;
  }
  Identity caller{.name = NameOf(message.tenant(), message.principal())};
  caller.tenant = message.tenant();
  for (const int scope : message.scopes()) {
    if (const auto known = ToScope(scope)) caller.scopes.Add(*known);
  }
  caller.profiles = {message.profiles().begin(), message.profiles().end()};
  caller.read_only = message.read_only();
  caller.proof = static_cast<Proof>(message.proof());
  caller.token_id = message.token_id();
  caller.address = message.address();
  return caller;
}

}  // namespace sandglass::server
