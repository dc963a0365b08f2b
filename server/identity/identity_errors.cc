#include "server/identity/identity_errors.h"

#include "absl/strings/str_cat.h"
#include "server/base/make_error.h"
#include "server/base/strings.h"

namespace sandglass::server {

using make_error::Code;
using make_error::Make;
using make_error::MakeRetryable;
using make_error::MakeWith;

absl::Status NoCredentials() {
  return Make(Code::kUnauthenticated, "NO_CREDENTIALS",
              "the server can't tell who calls: send a token "
              "(authorization: Bearer ...) or use a client certificate");
}

absl::Status BadCredentials() {
  return Make(Code::kUnauthenticated, "BAD_CREDENTIALS",
              "the server doesn't accept these credentials; ask whoever "
              "made them for new ones");
}

absl::Status CredentialsInPlainText() {
  return Make(Code::kUnauthenticated, "CREDENTIALS_IN_PLAIN_TEXT",
              "credentials came over TCP without TLS and are not looked at: "
              "revoke them, and use an address with TLS or the unix socket");
}

absl::Status TooManyRefusals(absl::Duration wait) {
  return MakeRetryable(
      Code::kResourceExhausted, "TOO_MANY_REFUSALS", wait,
      "too many credentials from this address were not accepted; try again in ",
      absl::FormatDuration(absl::Ceil(wait, absl::Seconds(1))));
}

absl::Status NotAGateway() {
  return Make(Code::kPermissionDenied, "NOT_A_GATEWAY",
              "this is for gateways: connections by a certificate that "
              "identity.gateways of the node's configuration names");
}

absl::Status MissingScope(const std::string& whose, const std::string& scope) {
  return MakeWith({{"scope", scope}}, Code::kPermissionDenied, "MISSING_SCOPE",
                  absl::StrCat(whose, " has not the scope ", scope,
                               ", which this method needs; ask for "
                               "credentials that have it"));
}

absl::Status ReadOnlyCaller(const std::string& whose) {
  return Make(Code::kPermissionDenied, "READ_ONLY", whose,
              " may only read, and this method changes something");
}

absl::Status NoTokenFile() {
  return Make(Code::kFailedPrecondition, "NO_TOKEN_FILE",
              "this daemon keeps no tokens: set \"identity\": "
              "{\"tokens_dir\": ...} in its configuration");
}

absl::Status TokenNotFound(const std::string& id) {
  return Make(Code::kNotFound, "TOKEN_NOT_FOUND", "there is no token ",
              Quoted(id, 64), "; sandglass token list shows all");
}

absl::Status TokensNotKept(const absl::Status& why) {
  return Make(absl::IsResourceExhausted(why) ? Code::kResourceExhausted
                                             : Code::kUnavailable,
              "TOKENS_NOT_KEPT", why.message());
}

}  // namespace sandglass::server
