#include "sandbox/egress/authority.h"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "sandbox/egress/tls_error.h"

namespace sandglass::egress {
namespace {

using BioPtr = std::unique_ptr<BIO, decltype(&::BIO_free)>;

// RFC 5280: X509_set_version counts from 0.
constexpr long kVersion3 = 2;
// RFC 5280, section 4.1.2.2: a positive number of at most 20 bytes.
constexpr int kSerialBits = 127;
// RFC 5280, appendix A.1: ub-common-name.
constexpr size_t kMaxCommonName = 64;
// Programs' clocks may differ from ours.
constexpr absl::Duration kBefore = absl::Hours(1);

bool SetName(X509_NAME* name, const char* field, const std::string& value) {
  return ::X509_NAME_add_entry_by_txt(
             name, field, MBSTRING_ASC,
             reinterpret_cast<const unsigned char*>(value.data()),
             static_cast<int>(value.size()), -1, 0) == 1;
}

bool SetSerial(X509* certificate) {
  const std::unique_ptr<BIGNUM, decltype(&::BN_free)> number(::BN_new(),
                                                             &::BN_free);
  return number != nullptr &&
         ::BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE,
                   BN_RAND_BOTTOM_ANY) == 1 &&
         ::BN_to_ASN1_INTEGER(number.get(),
                              ::X509_get_serialNumber(certificate)) != nullptr;
}

bool SetTimes(X509* certificate, absl::Time from, absl::Time until) {
  return ::ASN1_TIME_set(::X509_getm_notBefore(certificate),
                         absl::ToTimeT(from)) != nullptr &&
         ::ASN1_TIME_set(::X509_getm_notAfter(certificate),
                         absl::ToTimeT(until)) != nullptr;
}

std::optional<absl::Time> EndOf(const X509* certificate) {
  std::tm end = {};
  if (::ASN1_TIME_to_tm(::X509_get0_notAfter(certificate), &end) != 1) {
    return std::nullopt;
  }
  return absl::FromTM(end, absl::UTCTimeZone());
}

// Adds an extension, written as in x509v3_config(5).
bool AddExtension(X509* certificate, X509* issuer, int id,
                  const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  ::X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, decltype(&::X509_EXTENSION_free)>
      extension(::X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()),
                &::X509_EXTENSION_free);
  return extension != nullptr &&
         ::X509_add_ext(certificate, extension.get(), -1) == 1;
}

absl::StatusOr<std::string> Content(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  if (size <= 0) return absl::InternalError("nothing was written as PEM");
  return std::string(data, static_cast<size_t>(size));
}

BioPtr Reader(std::string_view text) {
  return {::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
          &::BIO_free};
}

// Without this OpenSSL would ask for a password on the terminal.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*own*/) {
  return -1;
}

// Selects the one protocol that the proxy speaks (RFC 7301). Programs that
// offer none are assumed to speak it.
int SelectProtocol(SSL* /*tls*/, const unsigned char** out,
                   unsigned char* out_size, const unsigned char* in,
                   unsigned int in_size, void* /*own*/) {
  constexpr std::string_view kHttp11 = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (::SSL_select_next_proto(
          &chosen, out_size,
          reinterpret_cast<const unsigned char*>(kHttp11.data()),
          kHttp11.size(), in, in_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

absl::StatusOr<Authority::KeyPtr> Authority::MakeKey() {
  KeyPtr key(::EVP_EC_gen("P-256"), &::EVP_PKEY_free);
  if (key == nullptr) return TlsError("a key can't be made");
  return key;
}

absl::StatusOr<std::shared_ptr<Authority>> Authority::Make() {
  absl::StatusOr<KeyPtr> key = MakeKey();
  if (!key.ok()) return key.status();
  CertificatePtr own(::X509_new(), &::X509_free);
  const absl::Time now = absl::Now();
  if (own == nullptr || ::X509_set_version(own.get(), kVersion3) != 1 ||
      !SetSerial(own.get()) ||
      !SetTimes(own.get(), now - kBefore, now + kValid) ||
      !SetName(::X509_get_subject_name(own.get()), "O", "Sandglass") ||
      !SetName(::X509_get_subject_name(own.get()), "CN",
               "Sandglass egress authority") ||
      ::X509_set_issuer_name(own.get(), ::X509_get_subject_name(own.get())) !=
          1 ||
      ::X509_set_pubkey(own.get(), key->get()) != 1 ||
      !AddExtension(own.get(), own.get(), NID_basic_constraints,
                    "critical,CA:TRUE,pathlen:0") ||
      !AddExtension(own.get(), own.get(), NID_key_usage,
                    "critical,keyCertSign") ||
      !AddExtension(own.get(), own.get(), NID_subject_key_identifier, "hash") ||
      ::X509_sign(own.get(), key->get(), ::EVP_sha256()) == 0) {
    return TlsError("an authority can't be made");
  }
  return std::shared_ptr<Authority>(
      new Authority(*std::move(key), std::move(own)));
}

absl::StatusOr<std::shared_ptr<Authority>> Authority::Load(
    std::string_view certificate_pem, std::string_view key_pem) {
  ::ERR_clear_error();
  CertificatePtr own(::PEM_read_bio_X509(Reader(certificate_pem).get(), nullptr,
                                         &NoPassword, nullptr),
                     &::X509_free);
  if (own == nullptr) {
    return absl::InvalidArgumentError(
        "the authority's certificate can't be read; it has to be PEM");
  }
  KeyPtr key(::PEM_read_bio_PrivateKey(Reader(key_pem).get(), nullptr,
                                       &NoPassword, nullptr),
             &::EVP_PKEY_free);
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        "the authority's key can't be read; it has to be PEM, without a "
        "password");
  }
  if (::X509_check_private_key(own.get(), key.get()) != 1) {
    ::ERR_clear_error();
    return absl::InvalidArgumentError(
        "the authority's certificate is of another key");
  }
  // 1: its extensions say so, it is of version 3 and may sign.
  if (::X509_check_ca(own.get()) != 1) {
    return absl::InvalidArgumentError(
        "the authority's certificate is none of an authority (CA:TRUE)");
  }
  return std::shared_ptr<Authority>(
      new Authority(std::move(key), std::move(own)));
}

absl::StatusOr<std::string> Authority::CertificatePem() const {
  const BioPtr out(::BIO_new(::BIO_s_mem()), &::BIO_free);
  if (out == nullptr ||
      ::PEM_write_bio_X509(out.get(), certificate_.get()) != 1) {
    return TlsError("the authority's certificate can't be written");
  }
  return Content(out.get());
}

absl::StatusOr<std::string> Authority::KeyPem() const {
  // This memory is wiped when it is freed.
  const BioPtr out(::BIO_new(::BIO_s_secmem()), &::BIO_free);
  if (out == nullptr ||
      ::PEM_write_bio_PKCS8PrivateKey(out.get(), key_.get(), nullptr, nullptr,
                                      0, nullptr, nullptr) != 1) {
    return TlsError("the authority's key can't be written");
  }
  return Content(out.get());
}

absl::StatusOr<Authority::ContextPtr> Authority::Issue(
    const policy::RequestedHost& host) {
  const std::string name = host.ToString();
  // The lock may be held meanwhile: making one takes less than a millisecond.
  absl::MutexLock lock(&mutex_);
  if (const auto found = kept_.find(name); found != kept_.end()) {
    used_.splice(used_.begin(), used_, found->second.used);
    if (absl::Now() < found->second.renew) return found->second.context;
    kept_.erase(found);
    used_.pop_front();
  }
  absl::StatusOr<ContextPtr> made = MakeContext(host);
  if (!made.ok()) return made;
  while (kept_.size() >= kMaxKept) {
    kept_.erase(used_.back());
    used_.pop_back();
  }
  used_.push_front(name);
  kept_.emplace(name, Kept{*made, absl::Now() + kLeafValid / 2, used_.begin()});
  return made;
}

size_t Authority::kept() const {
  absl::MutexLock lock(&mutex_);
  return kept_.size();
}

absl::StatusOr<Authority::ContextPtr> Authority::MakeContext(
    const policy::RequestedHost& host) const {
  const absl::StatusOr<KeyPtr> key = MakeKey();
  if (!key.ok()) return key.status();
  const absl::StatusOr<CertificatePtr> leaf = MakeLeaf(host, key->get());
  if (!leaf.ok()) return leaf.status();
  ContextPtr context(::SSL_CTX_new(::TLS_server_method()), &::SSL_CTX_free);
  if (context == nullptr ||
      ::SSL_CTX_use_certificate(context.get(), leaf->get()) != 1 ||
      ::SSL_CTX_use_PrivateKey(context.get(), key->get()) != 1 ||
      SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1 ||
      ::SSL_CTX_set_num_tickets(context.get(), 0) != 1) {
    return TlsError("TLS can't be ended");
  }
  ::SSL_CTX_set_options(context.get(),
                        SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_alpn_select_cb(context.get(), &SelectProtocol, nullptr);
  return context;
}

absl::StatusOr<Authority::CertificatePtr> Authority::MakeLeaf(
    const policy::RequestedHost& host, EVP_PKEY* key) const {
  const std::string name = host.ToString();
  const absl::Time now = absl::Now();
  const std::optional<absl::Time> end = EndOf(certificate_.get());
  if (!end || *end <= now) {
    return absl::FailedPreconditionError(
        "the proxy's own certificate authority has expired; restart the "
        "daemon, which makes a new one");
  }
  CertificatePtr leaf(::X509_new(), &::X509_free);
  X509* issuer = certificate_.get();
  if (leaf == nullptr || ::X509_set_version(leaf.get(), kVersion3) != 1 ||
      !SetSerial(leaf.get()) ||
      !SetTimes(leaf.get(), now - kBefore, std::min(now + kLeafValid, *end)) ||
      !SetName(::X509_get_subject_name(leaf.get()), "O", "Sandglass") ||
      (name.size() <= kMaxCommonName &&
       !SetName(::X509_get_subject_name(leaf.get()), "CN", name)) ||
      ::X509_set_issuer_name(leaf.get(), ::X509_get_subject_name(issuer)) !=
          1 ||
      ::X509_set_pubkey(leaf.get(), key) != 1 ||
      !AddExtension(leaf.get(), issuer, NID_basic_constraints,
                    "critical,CA:FALSE") ||
      !AddExtension(leaf.get(), issuer, NID_key_usage,
                    "critical,digitalSignature") ||
      !AddExtension(leaf.get(), issuer, NID_ext_key_usage, "serverAuth") ||
      // Names in their normal form contain no "," and no ":".
      !AddExtension(leaf.get(), issuer, NID_subject_alt_name,
                    absl::StrCat(host.address() ? "IP:" : "DNS:", name)) ||
      !AddExtension(leaf.get(), issuer, NID_subject_key_identifier, "hash") ||
      !AddExtension(leaf.get(), issuer, NID_authority_key_identifier,
                    "keyid") ||
      ::X509_sign(leaf.get(), key_.get(), ::EVP_sha256()) == 0) {
    return TlsError(absl::StrCat("no certificate can be made for ", name));
  }
  return leaf;
}

}  // namespace sandglass::egress
