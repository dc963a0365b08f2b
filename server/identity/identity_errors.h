#ifndef SANDGLASS_SERVER_IDENTITY_IDENTITY_ERRORS_H_
#define SANDGLASS_SERVER_IDENTITY_IDENTITY_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace sandglass::server {

// The API's errors on who calls, made as those of server/base/errors.h. None of
// them says what was wrong with what a caller brought.

// UNAUTHENTICATED, "NO_CREDENTIALS".
absl::Status NoCredentials();
// UNAUTHENTICATED, "BAD_CREDENTIALS".
absl::Status BadCredentials();
// UNAUTHENTICATED, "CREDENTIALS_IN_PLAIN_TEXT": they came over TCP without TLS.
absl::Status CredentialsInPlainText();
// RESOURCE_EXHAUSTED, "TOO_MANY_REFUSALS", with RetryInfo: the address brought
// too many that weren't right.
absl::Status TooManyRefusals(absl::Duration wait);
// PERMISSION_DENIED, "MISSING_SCOPE".
absl::Status MissingScope(const std::string& whose, const std::string& scope);
// PERMISSION_DENIED, "READ_ONLY".
absl::Status ReadOnlyCaller(const std::string& whose);
// PERMISSION_DENIED, "NOT_A_GATEWAY".
absl::Status NotAGateway();
// FAILED_PRECONDITION, "NO_TOKEN_FILE".
absl::Status NoTokenFile();
// NOT_FOUND, "TOKEN_NOT_FOUND".
absl::Status TokenNotFound(const std::string& id);
// UNAVAILABLE or RESOURCE_EXHAUSTED, "TOKENS_NOT_KEPT": what TokenStore said.
absl::Status TokensNotKept(const absl::Status& why);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IDENTITY_IDENTITY_ERRORS_H_
