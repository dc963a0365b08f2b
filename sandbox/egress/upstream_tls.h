#ifndef SANDGLASS_SANDBOX_EGRESS_UPSTREAM_TLS_H_
#define SANDGLASS_SANDBOX_EGRESS_UPSTREAM_TLS_H_

#include <openssl/ssl.h>

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"

namespace sandglass::egress {

// For TLS 1.2 and later to servers, which have to have a certificate from an
// issuer that this host trusts, or from one of `extra_roots_pem` (PEM, any
// number of them). That the certificate is the server's is set by connection
// (Stream::ConnectTls). Whether it was revoked isn't asked. Offers http/1.1.
//
// INVALID_ARGUMENT: `extra_roots_pem` isn't empty and has something that is no
// certificate, or none at all.
absl::StatusOr<std::shared_ptr<SSL_CTX>> MakeUpstreamTls(
    std::string_view extra_roots_pem);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_UPSTREAM_TLS_H_
