#ifndef SANDGLASS_SERVER_IDENTITY_CREDENTIALS_H_
#define SANDGLASS_SERVER_IDENTITY_CREDENTIALS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "server/base/clock.h"
#include "server/base/lru_index.h"
#include "server/identity/identity.h"
#include "server/identity/jwt.h"
#include "server/identity/refusal_limit.h"
#include "server/identity/token_store.h"

namespace sandglass::server {

// What one method of the API asks of its callers.
struct Access {
  std::optional<Scope> scope;  // absent: none in particular
  bool changes = false;        // something: not for read-only callers
};
inline constexpr Access kForEverybody = {};
constexpr Access Reads(Scope scope) { return {scope, false}; }
constexpr Access Changes(Scope scope) { return {scope, true}; }

// Why a caller was refused; names a metric's label and an entry of the audit
// log.
enum class Refusal : uint8_t {
  kNoCredentials,
  kBadCredentials,
  kPlainText,
  kTooMany,
  kMissingScope,
  kReadOnly,
};
inline constexpr size_t kRefusals = 6;
const char* NameOf(Refusal refusal);

// Puts on record who was refused and who made which tokens. Thread-safe.
class IdentityRecorder {
 public:
  virtual ~IdentityRecorder() = default;
  // On the thread of the call. `identity` is the call's where it is known, else
  // the connection's.
  virtual void RecordRefusal(Refusal refusal, const Identity& identity) = 0;
  // `event` is "token_created" or "token_revoked"; on an error it must not
  // count.
  virtual absl::Status RecordToken(const char* event, const Token& token,
                                   const Identity& by) = 0;
};

// Tells who a call is of by what its connection has shown and what the call
// itself brings in its "authorization" metadata. Thread-safe.
class Credentials {
 public:
  // What its file says of a tenant that concerns its calls.
  struct Rules {
    bool shares = false;  // its callers see each other's
    // The most streaming calls of all its callers at once, and bytes of one
    // request.
    uint64_t streams = std::numeric_limits<uint64_t>::max();
    uint64_t message_bytes = std::numeric_limits<uint64_t>::max();
  };
  using RulesOf = std::function<Rules(const std::string& tenant)>;

  // `tokens` may be null: then no token is right; the same for `jwt` and JWTs.
  // `recorder` may be null and must outlive this object. Without `rules` there
  // are none.
  explicit Credentials(std::unique_ptr<TokenStore> tokens = nullptr,
                       IdentityRecorder* recorder = nullptr,
                       RulesOf rules = nullptr,
                       std::unique_ptr<JwtVerifier> jwt = nullptr)
      : tokens_(std::move(tokens)),
        jwt_(std::move(jwt)),
        recorder_(recorder),
        rules_(std::move(rules)) {}

  // `authorization` has the values of all metadata of that name. Without any,
  // the caller is the connection's. UNAUTHENTICATED without a word on what was
  // wrong; RESOURCE_EXHAUSTED, unseen, after too many that weren't right from
  // one address. Credentials that were right shortly before are still looked
  // at then.
  absl::StatusOr<Identity> Authenticate(
      const Identity& connection,
      absl::Span<const absl::string_view> authorization)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Who calls on a gateway's connection: `caller`, as the gateway says; nullopt
  // when it says nothing, or nothing that can be. UNAUTHENTICATED, too, when
  // the connection is no gateway's, or its certificate has ended.
  absl::StatusOr<Identity> Vouch(const Identity& connection,
                                 std::optional<Identity> caller);

  Rules rules(const std::string& tenant) const {
    return rules_ ? rules_(tenant) : Rules();
  }
  // Whether a token or JWT by which the caller proved who it is still holds.
  // Other proofs hold for as long as their connections.
  bool Holds(const Identity& identity) const;

  // PERMISSION_DENIED when the caller may not call such a method.
  absl::Status Authorise(const Identity& identity, const Access& access);

  // For callers that may: as in TokenStore, and on record. FAILED_PRECONDITION
  // when there are no tokens here.
  absl::StatusOr<std::string> CreateToken(const Identity& by, Token& token);
  absl::Status RevokeToken(const Identity& by, const std::string& id);
  absl::StatusOr<std::vector<Token>> ListTokens() const;

  // Whether there is a file that Refresh looks at.
  bool has_files() const { return tokens_ != nullptr || jwt_ != nullptr; }
  // Looks at the files of tokens and keys; call it at least once a second, from
  // one thread. Returns whether what is in force is what they say.
  absl::Status Refresh();
  uint64_t refusals(Refusal refusal) const {
    return counts_[static_cast<size_t>(refusal)];
  }

 private:
  // Who calls, without what the tenant shares.
  absl::StatusOr<Identity> Prove(
      const Identity& connection,
      absl::Span<const absl::string_view> authorization)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Refuse(Refusal refusal, const Identity& identity,
                      absl::Status status);
  // Who brings this; nullopt when it isn't right.
  std::optional<Identity> Look(absl::string_view value);
  bool WasRight(const std::string& digest) ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteRight(const std::string& digest) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::unique_ptr<TokenStore> tokens_;
  const std::unique_ptr<JwtVerifier> jwt_;
  IdentityRecorder* const recorder_;
  const RulesOf rules_;
  RefusalLimit limit_;
  std::atomic<uint64_t> counts_[kRefusals] = {};
  absl::Mutex mutex_;
  // The digests of what was right last.
  LruIndex right_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IDENTITY_CREDENTIALS_H_
