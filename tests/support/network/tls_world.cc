#include "tests/support/network/tls_world.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/time/clock.h"

namespace sandglass::testing {
namespace {

std::shared_ptr<EVP_PKEY> NewKey() {
  return {::EVP_EC_gen("P-256"), &::EVP_PKEY_free};
}

void Extend(X509* certificate, X509* issuer, int id, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  ::X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension =
      ::X509V3_EXT_conf_nid(nullptr, &context, id, value);
  ::X509_add_ext(certificate, extension, -1);
  ::X509_EXTENSION_free(extension);
}

std::shared_ptr<X509> NewCertificate(EVP_PKEY* key, const char* name,
                                     absl::Duration from,
                                     absl::Duration until) {
  static int serial = 0;
  std::shared_ptr<X509> made(::X509_new(), &::X509_free);
  ::X509_set_version(made.get(), 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(made.get()), ++serial);
  ::X509_gmtime_adj(::X509_getm_notBefore(made.get()),
                    absl::ToInt64Seconds(from));
  ::X509_gmtime_adj(::X509_getm_notAfter(made.get()),
                    absl::ToInt64Seconds(until));
  ::X509_set_pubkey(made.get(), key);
  ::X509_NAME_add_entry_by_txt(
      ::X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
      reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  return made;
}

template <typename Write>
std::string Pem(const Write& write) {
  BIO* text = ::BIO_new(::BIO_s_mem());
  write(text);
  char* data = nullptr;
  const long size = BIO_get_mem_data(text, &data);
  std::string pem(data, static_cast<size_t>(size));
  ::BIO_free(text);
  return pem;
}

std::string ProtocolList(const std::vector<std::string>& protocols) {
  std::string list;
  for (const std::string& each : protocols) {
    list += static_cast<char>(each.size());
    list += each;
  }
  return list;
}

// `own` is the protocol's text; whoever doesn't offer it is refused.
int Select(SSL* /*tls*/, const unsigned char** out, unsigned char* size,
           const unsigned char* in, unsigned int in_size, void* own) {
  const std::string list =
      ProtocolList({*static_cast<const std::string*>(own)});
  unsigned char* chosen = nullptr;
  if (::SSL_select_next_proto(
          &chosen, size, reinterpret_cast<const unsigned char*>(list.data()),
          static_cast<unsigned>(list.size()), in,
          in_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = in + (std::search(in, in + in_size, chosen, chosen + *size) - in);
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

TestIssuer::TestIssuer(const std::string& name) : key_(NewKey()) {
  certificate_ = NewCertificate(key_.get(), name.c_str(), -absl::Hours(48),
                                absl::Hours(48));
  X509* own = certificate_.get();
  ::X509_set_issuer_name(own, ::X509_get_subject_name(own));
  Extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
  Extend(own, own, NID_key_usage, "critical,keyCertSign,cRLSign");
  Extend(own, own, NID_subject_key_identifier, "hash");
  ::X509_sign(own, key_.get(), ::EVP_sha256());
  pem_ = Pem([own](BIO* out) { ::PEM_write_bio_X509(out, own); });
}

TestIssuer::Leaf TestIssuer::NewLeaf(const Wish& wish) const {
  const std::shared_ptr<EVP_PKEY> key = NewKey();
  const std::shared_ptr<X509> leaf =
      NewCertificate(key.get(), "leaf", wish.from, wish.until);
  ::X509_set_issuer_name(leaf.get(),
                         ::X509_get_subject_name(certificate_.get()));
  Extend(leaf.get(), certificate_.get(), NID_subject_alt_name,
         wish.names.c_str());
  // Python 3.13 refuses certificates without.
  Extend(leaf.get(), certificate_.get(), NID_authority_key_identifier, "keyid");
  ::X509_sign(leaf.get(), key_.get(), ::EVP_sha256());
  return {key, leaf};
}

TestIssuer::Pair TestIssuer::Issue(const Wish& wish) const {
  const Leaf leaf = NewLeaf(wish);
  return {
      Pem([&](BIO* out) { ::PEM_write_bio_X509(out, leaf.certificate.get()); }),
      Pem([&](BIO* out) {
        ::PEM_write_bio_PrivateKey(out, leaf.key.get(), nullptr, nullptr, 0,
                                   nullptr, nullptr);
      })};
}

std::string TestIssuer::Revoked(
    const std::vector<std::string>& certificates) const {
  const std::shared_ptr<X509_CRL> list(::X509_CRL_new(), &::X509_CRL_free);
  ::X509_CRL_set_version(list.get(), 1);
  ::X509_CRL_set_issuer_name(list.get(),
                             ::X509_get_subject_name(certificate_.get()));
  const std::shared_ptr<ASN1_TIME> time(::ASN1_TIME_new(), &::ASN1_TIME_free);
  ::X509_gmtime_adj(time.get(), -3600);
  ::X509_CRL_set1_lastUpdate(list.get(), time.get());
  for (const std::string& pem : certificates) {
    BIO* in = ::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
    X509* certificate = ::PEM_read_bio_X509(in, nullptr, nullptr, nullptr);
    ::BIO_free(in);
    X509_REVOKED* entry = ::X509_REVOKED_new();
    ::X509_REVOKED_set_serialNumber(entry,
                                    ::X509_get_serialNumber(certificate));
    ::X509_REVOKED_set_revocationDate(entry, time.get());
    ::X509_CRL_add0_revoked(list.get(), entry);
    ::X509_free(certificate);
  }
  ::X509_gmtime_adj(time.get(), 3600);
  ::X509_CRL_set1_nextUpdate(list.get(), time.get());
  ::X509_CRL_sort(list.get());
  ::X509_CRL_sign(list.get(), key_.get(), ::EVP_sha256());
  return Pem([&](BIO* out) { ::PEM_write_bio_X509_CRL(out, list.get()); });
}

TlsContext TestIssuer::Server(const Wish& wish) const {
  const auto [key, leaf] = NewLeaf(wish);

  // The callback's own text lives as long as the context.
  const auto protocol = std::make_shared<std::string>(wish.protocol);
  TlsContext context(::SSL_CTX_new(::TLS_server_method()),
                     [protocol](SSL_CTX* own) { ::SSL_CTX_free(own); });
  ::SSL_CTX_use_certificate(context.get(), leaf.get());
  ::SSL_CTX_use_PrivateKey(context.get(), key.get());
  ::SSL_CTX_set_alpn_select_cb(context.get(), &Select, protocol.get());
  if (wish.version != 0) {
    SSL_CTX_set_min_proto_version(context.get(), wish.version);
    SSL_CTX_set_max_proto_version(context.get(), wish.version);
    ::SSL_CTX_set_security_level(context.get(), 0);
  }
  return context;
}

TlsContext TestClient(const std::string& roots_pem,
                      const std::vector<std::string>& protocols,
                      const TestIssuer::Pair& own) {
  TlsContext context(::SSL_CTX_new(::TLS_client_method()), &::SSL_CTX_free);
  if (!own.certificate.empty()) {
    const auto read = [](const std::string& pem) {
      return std::shared_ptr<BIO>(
          ::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
          &::BIO_free_all);
    };
    X509* certificate = ::PEM_read_bio_X509(read(own.certificate).get(),
                                            nullptr, nullptr, nullptr);
    EVP_PKEY* key = ::PEM_read_bio_PrivateKey(read(own.key).get(), nullptr,
                                              nullptr, nullptr);
    ::SSL_CTX_use_certificate(context.get(), certificate);
    ::SSL_CTX_use_PrivateKey(context.get(), key);
    ::X509_free(certificate);
    ::EVP_PKEY_free(key);
  }
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  BIO* text =
      ::BIO_new_mem_buf(roots_pem.data(), static_cast<int>(roots_pem.size()));
  while (X509* root = ::PEM_read_bio_X509(text, nullptr, nullptr, nullptr)) {
    ::X509_STORE_add_cert(::SSL_CTX_get_cert_store(context.get()), root);
    ::X509_free(root);
  }
  ::ERR_clear_error();
  ::BIO_free(text);
  const std::string list = ProtocolList(protocols);
  if (!list.empty()) {
    ::SSL_CTX_set_alpn_protos(
        context.get(), reinterpret_cast<const unsigned char*>(list.data()),
        static_cast<unsigned>(list.size()));
  }
  return context;
}

TlsEnd::TlsEnd(int socket, const TlsContext& context)
    : tls_(::SSL_new(context.get()), &::SSL_free) {
  const timeval longest = {.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest));
  ::SSL_set_fd(tls_.get(), socket);
}

bool TlsEnd::Connect(const std::string& name) {
  ::ERR_clear_error();
  if (!name.empty()) {
    SSL_set_tlsext_host_name(tls_.get(), name.c_str());
    ::SSL_set1_host(tls_.get(), name.c_str());
  }
  return Done(::SSL_connect(tls_.get()));
}

bool TlsEnd::Accept() {
  ::ERR_clear_error();
  return Done(::SSL_accept(tls_.get()));
}

bool TlsEnd::Send(std::string_view data) {
  ::ERR_clear_error();
  return data.empty() || Done(::SSL_write(tls_.get(), data.data(),
                                          static_cast<int>(data.size())));
}

std::string TlsEnd::Receive(size_t size) {
  std::string data;
  std::array<char, 16384> buffer;
  while (data.size() < size) {
    ::ERR_clear_error();
    const int got = ::SSL_read(
        tls_.get(), buffer.data(),
        static_cast<int>(std::min(buffer.size(), size - data.size())));
    if (!Done(got)) break;
    data.append(buffer.data(), static_cast<size_t>(got));
  }
  return data;
}

std::string TlsEnd::ReceiveUntil(std::string_view end) {
  std::string data;
  while (!data.ends_with(end)) {
    const std::string next = Receive(1);
    if (next.empty()) break;
    data += next;
  }
  return data;
}

bool TlsEnd::was_finished() const {
  return (::SSL_get_shutdown(tls_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
}

std::string TlsEnd::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  ::SSL_get0_alpn_selected(tls_.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

std::vector<std::string> TlsEnd::names() const {
  std::vector<std::string> names;
  auto* all = static_cast<GENERAL_NAMES*>(
      ::X509_get_ext_d2i(::SSL_get0_peer_certificate(tls_.get()),
                         NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all, i);
    const ASN1_STRING* text =
        name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
    names.emplace_back(
        reinterpret_cast<const char*>(::ASN1_STRING_get0_data(text)),
        static_cast<size_t>(::ASN1_STRING_length(text)));
  }
  ::GENERAL_NAMES_free(all);
  return names;
}

bool TlsEnd::Done(int result) {
  if (result > 0) return true;
  const unsigned long error = ::ERR_get_error();
  const char* reason = ::ERR_reason_error_string(error);
  words_ = reason != nullptr ? reason : "no more";
  return false;
}

}  // namespace sandglass::testing
