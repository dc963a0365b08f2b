#include "server/identity/credentials.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/digest.h"
#include "server/identity/identity_errors.h"

namespace sandglass::server {
namespace {

constexpr absl::string_view kScheme = "bearer ";
// Longer than any token or JWT that anybody makes.
constexpr size_t kMaxBearerBytes = 8 << 10;
constexpr size_t kMaxRight = 4096;

// The value after "Bearer "; nullopt for anything else.
std::optional<absl::string_view> BearerValue(absl::string_view text) {
  if (text.size() > kMaxBearerBytes || text.size() <= kScheme.size() ||
      !absl::StartsWithIgnoreCase(text, kScheme)) {
    return std::nullopt;
  }
  text.remove_prefix(kScheme.size());
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c > ' ' && c < 0x7f;
  });
  return plain ? std::optional(text) : std::nullopt;
}

}  // namespace

const char* NameOf(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNoCredentials:
      return "no-credentials";
    case Refusal::kBadCredentials:
      return "bad-credentials";
    case Refusal::kPlainText:
      return "plain-text";
    case Refusal::kTooMany:
      return "too-many";
    case Refusal::kMissingScope:
      return "missing-scope";
    case Refusal::kReadOnly:
      return "read-only";
  }
  return "";
}

absl::Status Credentials::Refuse(Refusal refusal, const Identity& identity,
                                 absl::Status status) {
  ++counts_[static_cast<size_t>(refusal)];
  if (recorder_ != nullptr) recorder_->RecordRefusal(refusal, identity);
  return status;
}

bool Credentials::WasRight(const std::string& digest) {
  absl::MutexLock lock(&mutex_);
  return right_.Has(digest);
}

void Credentials::NoteRight(const std::string& digest) {
  absl::MutexLock lock(&mutex_);
  if (right_.Use(digest)) return;
  right_.Put(digest, 1);
  if (right_.size() > kMaxRight) right_.Erase(std::string(right_.oldest()));
}

std::optional<Identity> Credentials::Look(absl::string_view value) {
  if (absl::StartsWith(value, kTokenPrefix)) {
    return tokens_ == nullptr ? std::nullopt : tokens_->Find(value);
  }
  return jwt_ == nullptr ? std::nullopt : jwt_->Find(value, absl::Now());
}

absl::StatusOr<Identity> Credentials::Authenticate(
    const Identity& connection,
    absl::Span<const absl::string_view> authorization) {
  absl::StatusOr<Identity> identity = Prove(connection, authorization);
  if (identity.ok()) identity->shares_tenant = rules(identity->tenant).shares;
  return identity;
}

absl::StatusOr<Identity> Credentials::Vouch(const Identity& connection,
                                            std::optional<Identity> caller) {
  if (!connection.is_gateway || !caller.has_value() ||
      connection.expires <= absl::Now()) {
    return Refuse(Refusal::kBadCredentials, connection, BadCredentials());
  }
  caller->gateway = connection.name;
  caller->shares_tenant = rules(caller->tenant).shares;
  return *std::move(caller);
}

bool Credentials::Holds(const Identity& identity) const {
  // A gateway ends the calls whose proof has ended by itself.
  if (!identity.gateway.empty()) return true;
  switch (identity.proof) {
    case Proof::kToken:
      return tokens_ != nullptr && tokens_->Has(identity.token_id);
    case Proof::kJwt:
      return absl::Now() < identity.expires + kJwtLeeway;
    default:
      return true;
  }
}

absl::StatusOr<Identity> Credentials::Prove(
    const Identity& connection,
    absl::Span<const absl::string_view> authorization) {
  if (authorization.empty()) {
    // A connection may outlive the certificate that it began with.
    if (connection.expires <= absl::Now()) {
      return Refuse(Refusal::kBadCredentials, connection, BadCredentials());
    }
    if (connection.proof != Proof::kNone) return connection;
    return Refuse(Refusal::kNoCredentials, connection, NoCredentials());
  }
  // Whoever sent it there has told it to everybody on the way.
  if (connection.proof == Proof::kLoopback) {
    return Refuse(Refusal::kPlainText, connection, CredentialsInPlainText());
  }
  // On the unix socket each account by itself.
  const std::string network = connection.address.empty()
                                  ? connection.name
                                  : NetworkOf(connection.address);
  const std::optional<absl::string_view> value =
      authorization.size() == 1 ? BearerValue(authorization.front())
                                : std::nullopt;
  const std::string digest =
      value ? Sha256({value->data(), value->size()}) : std::string();
  const MonotonicTime now = Now();
  if (const absl::Duration wait = limit_.Wait(network, now);
      wait > absl::ZeroDuration() && !WasRight(digest)) {
    return Refuse(Refusal::kTooMany, connection, TooManyRefusals(wait));
  }
  std::optional<Identity> identity;
  if (value.has_value()) identity = Look(*value);
  if (!identity.has_value()) {
    limit_.Count(network, now);
    return Refuse(Refusal::kBadCredentials, connection, BadCredentials());
  }
  NoteRight(digest);
  identity->address = connection.address;
  return *std::move(identity);
}

absl::Status Credentials::Authorise(const Identity& identity,
                                    const Access& access) {
  if (access.scope.has_value() && !identity.scopes.Has(*access.scope)) {
    return Refuse(Refusal::kMissingScope, identity,
                  MissingScope(identity.name, NameOf(*access.scope)));
  }
  if (access.changes && identity.read_only) {
    return Refuse(Refusal::kReadOnly, identity, ReadOnlyCaller(identity.name));
  }
  return absl::OkStatus();
}

absl::Status Credentials::Refresh() {
  absl::Status status;
  if (tokens_ != nullptr) {
    tokens_->Refresh();
    status = tokens_->state();
  }
  if (jwt_ != nullptr) status.Update(jwt_->Refresh());
  return status;
}

absl::StatusOr<std::string> Credentials::CreateToken(const Identity& by,
                                                     Token& token) {
  if (tokens_ == nullptr) return NoTokenFile();
  absl::StatusOr<std::string> value = tokens_->Create(token);
  if (!value.ok()) return TokensNotKept(value.status());
  if (recorder_ == nullptr) return value;
  if (absl::Status recorded =
          recorder_->RecordToken("token_created", token, by);
      !recorded.ok()) {
    // Nobody has its value.
    (void)tokens_->Revoke(token.id);
    return recorded;
  }
  return value;
}

absl::Status Credentials::RevokeToken(const Identity& by,
                                      const std::string& id) {
  if (tokens_ == nullptr) return NoTokenFile();
  // Of another tenant there is none, unless the caller sees all.
  const std::vector<Token> all = tokens_->List();
  const auto known = std::ranges::find(all, id, &Token::id);
  if (known == all.end() || (!by.SeesAll() && known->tenant != by.tenant)) {
    return TokenNotFound(id);
  }
  const absl::StatusOr<Token> token = tokens_->Revoke(id);
  if (absl::IsNotFound(token.status())) return TokenNotFound(id);
  if (!token.ok()) return TokensNotKept(token.status());
  return recorder_ == nullptr
             ? absl::OkStatus()
             : recorder_->RecordToken("token_revoked", *token, by);
}

absl::StatusOr<std::vector<Token>> Credentials::ListTokens() const {
  if (tokens_ == nullptr) return NoTokenFile();
  return tokens_->List();
}

}  // namespace sandglass::server
