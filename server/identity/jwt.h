#ifndef SANDGLASS_SERVER_IDENTITY_JWT_H_
#define SANDGLASS_SERVER_IDENTITY_JWT_H_

#include <openssl/evp.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/identity/identity.h"

namespace sandglass::server {

// Whose JWTs are accepted, and who has them.
struct JwtIssuer {
  std::string issuer;    // the claim "iss", exactly
  std::string audience;  // has to be in the claim "aud"
  std::string jwks;      // path of a JWK set (RFC 7517) with public keys
  // The tenant, or where it stands in the claims, as a JSON pointer, for
  // example
  // "/kubernetes.io/namespace". One of them is set.
  std::string tenant;
  std::string tenant_claim;
  Scopes scopes = Scopes::Usual();
};

// By how much clocks may differ.
inline constexpr absl::Duration kJwtLeeway = absl::Seconds(30);

using PublicKeys = std::map<std::string, std::shared_ptr<EVP_PKEY>>;

// The keys of a JWK set by their "kid", "" for one without: RSA of 2048 to 8192
// bits, EC on P-256, and Ed25519. Others, and those for encryption, are left
// out. INVALID_ARGUMENT, naming `path`, when the text is no set, or there is no
// key that can be used.
absl::StatusOr<PublicKeys> ReadJwks(const std::string& path,
                                    const std::string& text);

// Tells who has a JWT (RFC 7519), signed by RS256, ES256 or EdDSA. Nothing else
// is accepted: not "none", nor a symmetric algorithm. Thread-safe.
class JwtVerifier {
 public:
  // Reads all sets of keys. The errors are those of ReadJwks and of the files.
  static absl::StatusOr<std::unique_ptr<JwtVerifier>> Make(
      std::vector<JwtIssuer> issuers);

  // nullopt when anything is wrong with it. A JWT that has no end isn't
  // accepted.
  std::optional<Identity> Find(absl::string_view jwt, absl::Time now) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Reads the sets of keys again. Of a file that is wrong the keys before stay.
  // Returns the first error. Call it from one thread.
  absl::Status Refresh() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  explicit JwtVerifier(std::vector<JwtIssuer> issuers)
      : issuers_(std::move(issuers)), texts_(issuers_.size()) {}
  std::shared_ptr<EVP_PKEY> KeyOf(size_t issuer, const std::string& kid) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  const std::vector<JwtIssuer> issuers_;
  std::vector<std::string> texts_;  // of the files that are in force
  mutable absl::Mutex mutex_;
  std::vector<PublicKeys> keys_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IDENTITY_JWT_H_
