#ifndef SANDGLASS_SANDBOX_EGRESS_UPSTREAM_TLS_H_
#define SANDGLASS_SANDBOX_EGRESS_UPSTREAM_TLS_H_

#include <openssl/ssl.h>

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"

namespace sandglass::egress {

// Makes a context for TLS 1.2 and later to servers. They must have a
// certificate from an issuer that this host trusts, or from one of
// `extra_roots_pem` (PEM, any number of them). The name that the certificate
// must have is set for each connection (Stream::ConnectTls). Revocation isn't
// checked. Offers http/1.1.
//
// INVALID_ARGUMENT: `extra_roots_pem` isn't empty and contains something that
// isn't a certificate, or no certificate at all.
absl::StatusOr<std::shared_ptr<SSL_CTX>> MakeUpstreamTls(
    std::string_view extra_roots_pem);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_UPSTREAM_TLS_H_
