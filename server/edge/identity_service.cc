#include "server/edge/identity_service.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "policy/text/names.h"
#include "sandglass/v1/identity_service.grpc.pb.h"
#include "server/base/errors.h"
#include "server/base/proto_time.h"
#include "server/base/strings.h"
#include "server/edge/unary_call.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kUsualLifetime = absl::Hours(24 * 90);
constexpr absl::Duration kMaxLifetime = absl::Hours(24 * 3653);
constexpr size_t kMaxNoteBytes = 256;
constexpr int kMaxProfiles = 64;

using RawIdentityService = v1::IdentityService::WithRawCallbackMethod_WhoAmI<
    v1::IdentityService::WithRawCallbackMethod_CreateToken<
        v1::IdentityService::WithRawCallbackMethod_ListTokens<
            v1::IdentityService::WithRawCallbackMethod_RevokeToken<
                v1::IdentityService::Service>>>>;

template <typename Message>
void SetScopes(const Scopes& scopes, Message& message) {
  for (const Scope scope : scopes.List()) {
    message.add_scopes(static_cast<v1::Scope>(scope));
  }
}

v1::WhoAmIResponse WhoIs(const Identity& caller) {
  v1::WhoAmIResponse who;
  who.set_tenant(caller.tenant);
  who.set_principal(std::string(caller.principal()));
  who.set_caller(caller.name);
  SetScopes(caller.scopes, who);
  who.mutable_profiles()->Assign(caller.profiles.begin(),
                                 caller.profiles.end());
  who.set_read_only(caller.read_only);
  who.set_proof(static_cast<v1::Proof>(caller.proof));
  if (caller.expires != absl::InfiniteFuture()) {
    *who.mutable_expire_time() = ToProto(caller.expires);
  }
  who.set_token_id(caller.token_id);
  return who;
}

v1::Token Describe(const Token& token) {
  v1::Token answer;
  answer.set_id(token.id);
  answer.set_tenant(token.tenant);
  answer.set_principal(token.principal);
  SetScopes(token.scopes, answer);
  answer.mutable_profiles()->Assign(token.profiles.begin(),
                                    token.profiles.end());
  answer.set_read_only(token.read_only);
  *answer.mutable_create_time() = ToProto(token.created);
  if (token.expires != absl::InfiniteFuture()) {
    *answer.mutable_expire_time() = ToProto(token.expires);
  }
  answer.set_note(token.note);
  return answer;
}

Scopes ReadScopes(const Identity& caller, const v1::CreateTokenRequest& request,
                  std::vector<policy::FieldViolation>& violations) {
  Scopes scopes;
  if (request.scopes().empty()) {
    for (const Scope scope : Scopes::Usual().List()) {
      if (caller.scopes.Has(scope)) scopes.Add(scope);
    }
    if (scopes.empty()) {
      violations.push_back({"scopes",
                            "are to be named: of the usual ones you "
                            "have none yourself"});
    }
    return scopes;
  }
  for (const int number : request.scopes()) {
    if (number <= 0 || !v1::Scope_IsValid(number)) {
      violations.push_back(
          {"scopes", absl::StrCat(number, " is no scope of this version")});
    } else if (!caller.scopes.Has(static_cast<Scope>(number))) {
      violations.push_back(
          {"scopes", absl::StrCat(NameOf(static_cast<Scope>(number)),
                                  " is none of your own")});
    } else {
      scopes.Add(static_cast<Scope>(number));
    }
  }
  return scopes;
}

// What the request asks for, without what the store makes.
absl::StatusOr<Token> ReadRequest(const Identity& caller,
                                  const v1::CreateTokenRequest& request) {
  std::vector<policy::FieldViolation> violations;
  Token token;
  token.tenant = request.tenant().empty() ? caller.tenant : request.tenant();
  if (!caller.SeesAll() && token.tenant != caller.tenant) {
    violations.push_back(
        {"tenant", absl::StrCat("is not your own, ", caller.tenant,
                                ": that takes the scope operate")});
  }
  if (!IsTenantName(token.tenant)) {
    violations.push_back(
        {"tenant", absl::StrCat(Quoted(request.tenant(), 64),
                                " is not at most 63 of a-z, 0-9 and "
                                "\"-\"")});
  }
  token.principal = request.principal();
  if (!token.principal.empty() &&
      (!IsPrincipalName(token.tenant, token.principal) ||
       absl::StartsWith(token.principal, "token:"))) {
    violations.push_back(
        {"principal",
         absl::StrCat(Quoted(token.principal, 64),
                      " is not at most 128 of letters, digits and "
                      "\"._@:/-\", or begins as those that others have by "
                      "themselves, such as \"uid:\"")});
  }
  token.scopes = ReadScopes(caller, request, violations);
  if (request.profiles().empty()) token.profiles = caller.profiles;
  for (const std::string& profile : request.profiles()) {
    if (!caller.profiles.empty() &&
        std::ranges::find(caller.profiles, profile) == caller.profiles.end()) {
      violations.push_back({"profiles", absl::StrCat(Quoted(profile, 64),
                                                     " is none of your own")});
    }
    if (!policy::IsPolicyName(profile)) {
      violations.push_back({"profiles", absl::StrCat(Quoted(profile, 64),
                                                     " is no profile's name")});
    }
    token.profiles.push_back(profile);
  }
  if (request.profiles_size() > kMaxProfiles) {
    violations.push_back({"profiles", "has more than 64"});
  }
  token.read_only = request.read_only() || caller.read_only;
  const absl::Duration lifetime =
      request.has_lifetime() ? FromProto(request.lifetime()) : kUsualLifetime;
  if (lifetime < absl::Seconds(1) || lifetime > kMaxLifetime) {
    violations.push_back(
        {"lifetime", absl::StrCat(absl::FormatDuration(lifetime),
                                  " is not between 1s and ten years")});
  }
  token.expires = absl::FromUnixSeconds(
      absl::ToUnixSeconds(std::min(absl::Now() + lifetime, caller.expires) +
                          absl::Milliseconds(999)));
  token.note = request.note();
  if (token.note.size() > kMaxNoteBytes) {
    violations.push_back(
        {"note", absl::StrCat("has ", token.note.size(), " bytes, over 256")});
  }
  if (!violations.empty()) return InvalidRequest(violations);
  return token;
}

class IdentityServiceImpl final : public RawIdentityService {
 public:
  IdentityServiceImpl(CallThreads& threads, const PeerTable& peers)
      : threads_(threads), peers_(peers) {}

  UnaryReactor* WhoAmI(CallContext* context, const Bytes* request,
                       Bytes* response) override {
    return Serve<v1::WhoAmIRequest>(
        peers_, context, request, response,
        [](const Identity& caller, const auto&) { return WhoIs(caller); });
  }

  UnaryReactor* CreateToken(CallContext* context, const Bytes* request,
                            Bytes* response) override {
    return OnTokens<v1::CreateTokenRequest, v1::CreateTokenResponse>(
        context, request, response, Create);
  }

  UnaryReactor* ListTokens(CallContext* context, const Bytes* request,
                           Bytes* response) override {
    return OnTokens<v1::ListTokensRequest, v1::ListTokensResponse>(
        context, request, response, List);
  }

  UnaryReactor* RevokeToken(CallContext* context, const Bytes* request,
                            Bytes* response) override {
    return OnTokens<v1::RevokeTokenRequest, v1::RevokeTokenResponse>(
        context, request, response, Revoke);
  }

 private:
  // Does something with the tokens on another thread: it may wait for the disk.
  template <typename Request, typename Response>
  UnaryReactor* OnTokens(CallContext* context, const Bytes* request,
                         Bytes* response,
                         absl::StatusOr<Response> method(Credentials&,
                                                         const Identity&,
                                                         const Request&)) {
    Request message;
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, message);
    if (!caller.ok()) return Refuse(context, caller.status());
    auto* call = new AnsweredCall(peers_, *caller, response);
    const size_t bytes = message.ByteSizeLong();
    call->EndOn(
        threads_, {caller->name, "tokens"}, bytes,
        [&peers = peers_, caller = *caller, message = std::move(message),
         method] {
          return Serialize(method(peers.credentials(), caller, message));
        });
    return call;
  }

  static absl::StatusOr<v1::CreateTokenResponse> Create(
      Credentials& credentials, const Identity& caller,
      const v1::CreateTokenRequest& request) {
    absl::StatusOr<Token> token = ReadRequest(caller, request);
    if (!token.ok()) return token.status();
    absl::StatusOr<std::string> value = credentials.CreateToken(caller, *token);
    if (!value.ok()) return value.status();
    v1::CreateTokenResponse answer;
    *answer.mutable_token() = Describe(*token);
    answer.set_value(*std::move(value));
    return answer;
  }

  static absl::StatusOr<v1::ListTokensResponse> List(
      Credentials& credentials, const Identity& caller,
      const v1::ListTokensRequest& request) {
    const absl::StatusOr<std::vector<Token>> tokens = credentials.ListTokens();
    if (!tokens.ok()) return tokens.status();
    v1::ListTokensResponse answer;
    for (const Token& token : *tokens) {
      if (!caller.SeesAll() && token.tenant != caller.tenant) continue;
      if (request.tenant().empty() || request.tenant() == token.tenant) {
        *answer.add_tokens() = Describe(token);
      }
    }
    return answer;
  }

  static absl::StatusOr<v1::RevokeTokenResponse> Revoke(
      Credentials& credentials, const Identity& caller,
      const v1::RevokeTokenRequest& request) {
    if (absl::Status revoked = credentials.RevokeToken(caller, request.id());
        !revoked.ok()) {
      return revoked;
    }
    return v1::RevokeTokenResponse();
  }

  CallThreads& threads_;
  const PeerTable& peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeIdentityService(CallThreads& threads,
                                                   const PeerTable& peers) {
  return std::make_unique<IdentityServiceImpl>(threads, peers);
}

}  // namespace sandglass::server
