#include "client/cert/certificate.h"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/free_by.h"

namespace sandglass::client {
namespace {

constexpr int kSerialBits = 128;
constexpr absl::Duration kClockSkew = absl::Minutes(5);
constexpr absl::Duration kDay = absl::Hours(24);

using CertPtr = std::unique_ptr<X509, FreeBy<X509_free>>;
using PKeyPtr = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using MemoryPtr = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
using NumberPtr = std::unique_ptr<BIGNUM, FreeBy<BN_free>>;
using ExtensionPtr =
    std::unique_ptr<X509_EXTENSION, FreeBy<X509_EXTENSION_free>>;
using AltNamesPtr = std::unique_ptr<GENERAL_NAMES, FreeBy<GENERAL_NAMES_free>>;

absl::Status CryptoError(absl::string_view what) {
  const char* words = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return absl::InternalError(
      absl::StrCat(what, ": ", words == nullptr ? "no reason given" : words));
}

std::string TextOf(BIO* memory) {
  char* data = nullptr;
  // A macro with a cast of its own.
  const auto size =
      BIO_get_mem_data(memory, &data);  // NOLINT(*-pro-type-cstyle-cast)
  return size <= 0 ? "" : std::string(data, static_cast<size_t>(size));
}

CertPtr ParseCertificate(const std::string& pem) {
  const MemoryPtr memory(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return CertPtr(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
}

PKeyPtr ParseKey(const std::string& pem) {
  const MemoryPtr memory(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // An empty passphrase, so that nobody is asked for one.
  return PKeyPtr(PEM_read_bio_PrivateKey(memory.get(), nullptr, nullptr,
                                         const_cast<char*>("")));
}

absl::StatusOr<std::string> PemOf(X509* certificate) {
  const MemoryPtr memory(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(memory.get(), certificate) != 1) {
    return CryptoError("cannot write a certificate");
  }
  return TextOf(memory.get());
}

absl::StatusOr<std::string> PemOf(EVP_PKEY* key) {
  const MemoryPtr memory(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr,
                               nullptr) != 1) {
    return CryptoError("cannot write a key");
  }
  return TextOf(memory.get());
}

bool SetSerial(X509* certificate) {
  const NumberPtr number(BN_new());
  return BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY,
                 BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) !=
             nullptr;
}

bool SetTimes(X509* certificate, absl::Time from, absl::Time until) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate), absl::ToTimeT(from)) !=
             nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), absl::ToTimeT(until)) !=
             nullptr;
}

absl::Time TimeOf(const ASN1_TIME* time) {
  tm parts = {};
  return ASN1_TIME_to_tm(time, &parts) == 1
             ? absl::FromTM(parts, absl::UTCTimeZone())
             : absl::InfinitePast();
}

bool SetName(X509* certificate, const std::string& name) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  return X509_NAME_add_entry_by_txt(
             subject, "CN", MBSTRING_UTF8,
             reinterpret_cast<const unsigned char*>(name.data()),
             static_cast<int>(name.size()), -1, 0) == 1;
}

// Adds an extension in OpenSSL's words for it.
bool Extend(X509* certificate, X509* issuer, int nid,
            const std::string& words) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, words.c_str()));
  return extension != nullptr &&
         X509_add_ext(certificate, extension.get(), -1) == 1;
}

std::string AltNamesOf(const CertificateWish& wish) {
  if (wish.use == CertificateUse::kClient) {
    return absl::StrCat("URI:", wish.uri);
  }
  std::vector<std::string> names;
  for (const std::string& host : wish.hosts) {
    in6_addr buffer = {};
    const bool is_ip = inet_pton(AF_INET, host.c_str(), &buffer) == 1 ||
                       inet_pton(AF_INET6, host.c_str(), &buffer) == 1;
    names.push_back(absl::StrCat(is_ip ? "IP:" : "DNS:", host));
  }
  return absl::StrJoin(names, ",");
}

PKeyPtr NewKey() { return PKeyPtr(EVP_EC_gen("P-256")); }

// All that is in a certificate but its names, uses and signature.
CertPtr Begin(const std::string& name, EVP_PKEY* key, absl::Time now,
              absl::Time until) {
  CertPtr certificate(X509_new());
  if (certificate == nullptr || X509_set_version(certificate.get(), 2) != 1 ||
      !SetSerial(certificate.get()) ||
      !SetTimes(certificate.get(), now - kClockSkew, until) ||
      !SetName(certificate.get(), name) ||
      X509_set_pubkey(certificate.get(), key) != 1) {
    return nullptr;
  }
  return certificate;
}

struct Signer {
  CertPtr certificate;
  PKeyPtr key;
};

absl::StatusOr<Signer> ParseSigner(const Identification& authority,
                                   absl::Time now) {
  Signer signer{ParseCertificate(authority.certificate),
                ParseKey(authority.key)};
  if (signer.certificate == nullptr || signer.key == nullptr) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        "ca.pem and ca.key are not a certificate and a key in PEM");
  }
  if (X509_check_private_key(signer.certificate.get(), signer.key.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError("ca.key is not the key of ca.pem");
  }
  if (X509_check_ca(signer.certificate.get()) != 1) {
    return absl::InvalidArgumentError("ca.pem is no authority");
  }
  if (TimeOf(X509_get0_notAfter(signer.certificate.get())) <= now) {
    return absl::FailedPreconditionError(
        "the authority (ca.pem) has expired; make another with sandglass cert "
        "init in another directory");
  }
  return signer;
}

absl::Time Until(const Signer& signer, absl::Time now, int days) {
  return std::min(now + days * kDay,
                  TimeOf(X509_get0_notAfter(signer.certificate.get())));
}

std::string OneLine(const X509_NAME* name) {
  const MemoryPtr memory(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(memory.get(), name, 0, XN_FLAG_RFC2253);
  return TextOf(memory.get());
}

std::vector<std::string> AltNamesIn(X509* certificate) {
  std::vector<std::string> out;
  const AltNamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get());
       ++i) {
    const MemoryPtr memory(BIO_new(BIO_s_mem()));
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    std::array<char, INET6_ADDRSTRLEN> ip = {};
    // OpenSSL would write "IP Address:0:0:0:0:0:0:0:1".
    if (name->type == GEN_IPADD &&
        inet_ntop(
            ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6,
            ASN1_STRING_get0_data(name->d.iPAddress), ip.data(),
            ip.size()) != nullptr) {
      out.push_back(absl::StrCat("IP:", ip.data()));
      continue;
    }
    GENERAL_NAME_print(memory.get(), const_cast<GENERAL_NAME*>(name));
    out.push_back(TextOf(memory.get()));
  }
  return out;
}

std::string UseOf(X509* certificate) {
  if (X509_check_ca(certificate) == 1) return "authority";
  const uint32_t uses = X509_get_extended_key_usage(certificate);
  if (uses == UINT32_MAX) return "anything";
  std::vector<std::string> words;
  if ((uses & XKU_SSL_SERVER) != 0) words.emplace_back("server");
  if ((uses & XKU_SSL_CLIENT) != 0) words.emplace_back("client");
  return words.empty() ? "other" : absl::StrJoin(words, " and ");
}

}  // namespace

absl::StatusOr<Identification> MakeAuthority(const std::string& name,
                                             absl::Time now) {
  const PKeyPtr key = NewKey();
  if (key == nullptr) return CryptoError("cannot make a key");
  const CertPtr certificate =
      Begin(name, key.get(), now, now + kAuthorityDays * kDay);
  X509* const raw = certificate.get();
  // ORDER: the authority's key identifier is taken from the subject's.
  if (raw == nullptr ||
      X509_set_issuer_name(raw, X509_get_subject_name(raw)) != 1 ||
      !Extend(raw, raw, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !Extend(raw, raw, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !Extend(raw, raw, NID_subject_key_identifier, "hash") ||
      !Extend(raw, raw, NID_authority_key_identifier, "keyid:always") ||
      X509_sign(raw, key.get(), EVP_sha256()) == 0) {
    return CryptoError("cannot make the authority");
  }
  absl::StatusOr<std::string> pem = PemOf(raw);
  if (!pem.ok()) return pem.status();
  absl::StatusOr<std::string> secret = PemOf(key.get());
  if (!secret.ok()) return secret.status();
  return Identification{*std::move(pem), *std::move(secret)};
}

absl::StatusOr<Identification> MakeCertificate(const Identification& authority,
                                               const CertificateWish& wish,
                                               absl::Time now) {
  const absl::StatusOr<Signer> signer = ParseSigner(authority, now);
  if (!signer.ok()) return signer.status();
  const PKeyPtr key = NewKey();
  if (key == nullptr) return CryptoError("cannot make a key");
  const CertPtr certificate =
      Begin(wish.name, key.get(), now, Until(*signer, now, wish.days));
  X509* const raw = certificate.get();
  X509* const issuer = signer->certificate.get();
  const char* use =
      wish.use == CertificateUse::kServer ? "serverAuth" : "clientAuth";
  if (raw == nullptr ||
      X509_set_issuer_name(raw, X509_get_subject_name(issuer)) != 1 ||
      !Extend(raw, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
      !Extend(raw, issuer, NID_key_usage, "critical,digitalSignature") ||
      !Extend(raw, issuer, NID_ext_key_usage, use) ||
      !Extend(raw, issuer, NID_subject_alt_name, AltNamesOf(wish)) ||
      !Extend(raw, issuer, NID_subject_key_identifier, "hash") ||
      !Extend(raw, issuer, NID_authority_key_identifier, "keyid:always") ||
      X509_sign(raw, signer->key.get(), EVP_sha256()) == 0) {
    return CryptoError("cannot make a certificate");
  }
  absl::StatusOr<std::string> pem = PemOf(raw);
  if (!pem.ok()) return pem.status();
  absl::StatusOr<std::string> secret = PemOf(key.get());
  if (!secret.ok()) return secret.status();
  return Identification{*std::move(pem), *std::move(secret)};
}

absl::StatusOr<std::string> RenewCertificate(const Identification& authority,
                                             const std::string& certificate,
                                             int days, absl::Time now) {
  const absl::StatusOr<Signer> signer = ParseSigner(authority, now);
  if (!signer.ok()) return signer.status();
  const CertPtr renewed = ParseCertificate(certificate);
  X509* const raw = renewed.get();
  if (raw == nullptr) {
    ERR_clear_error();
    return absl::InvalidArgumentError("it is no certificate in PEM");
  }
  if (X509_check_issued(signer->certificate.get(), raw) != X509_V_OK ||
      X509_verify(raw, signer->key.get()) != 1 || X509_check_ca(raw) == 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        "it is not one that this directory's authority has signed");
  }
  if (days == 0) {
    const absl::Duration before =
        TimeOf(X509_get0_notAfter(raw)) - TimeOf(X509_get0_notBefore(raw));
    days = static_cast<int>(std::clamp<int64_t>(before / kDay, 1, kMaxDays));
  }
  if (!SetSerial(raw) ||
      !SetTimes(raw, now - kClockSkew, Until(*signer, now, days)) ||
      X509_sign(raw, signer->key.get(), EVP_sha256()) == 0) {
    return CryptoError("cannot renew a certificate");
  }
  return PemOf(raw);
}

absl::StatusOr<CertificateFacts> ReadCertificate(const std::string& pem) {
  const CertPtr certificate = ParseCertificate(pem);
  X509* const raw = certificate.get();
  if (raw == nullptr) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        "there is no certificate in it (in PEM, it begins with -----BEGIN "
        "CERTIFICATE-----)");
  }
  CertificateFacts facts;
  facts.subject = OneLine(X509_get_subject_name(raw));
  facts.issuer = OneLine(X509_get_issuer_name(raw));
  const NumberPtr serial(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(raw), nullptr));
  char* hex = serial == nullptr ? nullptr : BN_bn2hex(serial.get());
  if (hex != nullptr) facts.serial = absl::AsciiStrToLower(hex);
  OPENSSL_free(hex);
  facts.names = AltNamesIn(raw);
  facts.use = UseOf(raw);
  facts.from = TimeOf(X509_get0_notBefore(raw));
  facts.until = TimeOf(X509_get0_notAfter(raw));
  return facts;
}

bool IsCertificateHost(absl::string_view host) {
  in6_addr buffer = {};
  const std::string text(host);
  if (inet_pton(AF_INET, text.c_str(), &buffer) == 1 ||
      inet_pton(AF_INET6, text.c_str(), &buffer) == 1) {
    return text.size() == host.size();
  }
  return !host.empty() && host.size() <= 253 &&
         absl::ascii_isalnum(static_cast<unsigned char>(host.front())) &&
         std::ranges::all_of(host, [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '.';
         });
}

}  // namespace sandglass::client
