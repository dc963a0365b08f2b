#include "sandbox/egress/upstream_tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "policy/text/trusted_roots.h"
#include "sandbox/egress/tls_error.h"

namespace sandglass::egress {
namespace {

absl::Status AddRoots(std::string_view pem, X509_STORE* store) {
  const std::unique_ptr<BIO, decltype(&::BIO_free)> text(
      ::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &::BIO_free);
  for (int count = 0;; ++count) {
    ::ERR_clear_error();
    const std::unique_ptr<X509, decltype(&::X509_free)> root(
        ::PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr),
        &::X509_free);
    if (root == nullptr) {
      const bool end =
          ERR_GET_REASON(::ERR_peek_last_error()) == PEM_R_NO_START_LINE;
      ::ERR_clear_error();
      if (end && count > 0) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat(
          "certificate ", count + 1,
          " of the extra roots can't be read; they have to be PEM"));
    }
    if (::X509_STORE_add_cert(store, root.get()) != 1) {
      return TlsError("an extra root can't be taken");
    }
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<SSL_CTX>> MakeUpstreamTls(
    std::string_view extra_roots_pem) {
  constexpr unsigned char kProtocols[] = {8,   'h', 't', 't', 'p',
                                          '/', '1', '.', '1'};
  std::shared_ptr<SSL_CTX> context(::SSL_CTX_new(::TLS_client_method()),
                                   &::SSL_CTX_free);
  if (context == nullptr ||
      SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1 ||
      ::SSL_CTX_set_default_verify_paths(context.get()) != 1 ||
      // Unlike the others, this function returns 0 for success.
      ::SSL_CTX_set_alpn_protos(context.get(), kProtocols,
                                sizeof(kProtocols)) != 0) {
    return TlsError("TLS to servers can't be set up");
  }
  if (const std::string roots = policy::TrustedRootsElsewhere();
      !roots.empty() && ::SSL_CTX_load_verify_locations(
                            context.get(), roots.c_str(), nullptr) != 1) {
    return TlsError("the machine's trusted certificates can't be read");
  }
  ::SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (!extra_roots_pem.empty()) {
    if (absl::Status added =
            AddRoots(extra_roots_pem, ::SSL_CTX_get_cert_store(context.get()));
        !added.ok()) {
      return added;
    }
  }
  return context;
}

}  // namespace sandglass::egress
