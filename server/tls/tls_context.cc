#include "server/tls/tls_context.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/free_by.h"
#include "server/base/log.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

using Bio = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, FreeBy<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using Crl = std::unique_ptr<X509_CRL, FreeBy<X509_CRL_free>>;

// Protocols as ALPN has them, the preferred one first. Browsers, curl and
// connect-go offer both; whoever offers HTTP/2 alone speaks gRPC.
constexpr unsigned char kH2[] = {2, 'h', '2'};
constexpr unsigned char kHttp1AndH2[] = {8,   'h', 't', 't', 'p', '/',
                                         '1', '.', '1', 2,   'h', '2'};
constexpr size_t kMaxFileBytes = 1 << 20;
constexpr char kCiphers[] =
    "ECDHE+AESGCM:ECDHE+CHACHA20";  // of TLS 1.2; 1.3 has good ones alone

Bio Read(const std::string& text) {
  return Bio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

absl::Status Wrong(const char* key, const std::string& path,
                   absl::string_view why) {
  ::ERR_clear_error();
  return absl::InvalidArgumentError(
      absl::StrCat("tls.", key, " (", path, "): ", why));
}

// A key with a passphrase would otherwise be asked for on the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

template <const auto& kProtocols>
int ChooseProtocol(SSL*, const unsigned char** out, unsigned char* out_size,
                   const unsigned char* in, unsigned int in_size, void*) {
  unsigned char* chosen = nullptr;
  if (::SSL_select_next_proto(&chosen, out_size, kProtocols, sizeof(kProtocols),
                              in, in_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

absl::Time TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (::ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

// The certificate itself comes first, then those that lead to its authority.
absl::Status UseCertificate(const TlsConfig& config, const TlsFiles& files,
                            absl::Time now, SSL_CTX* tls) {
  const auto wrong = [&config](absl::string_view why) {
    return Wrong("certificate", config.certificate, why);
  };
  const Bio bio = Read(files.certificate);
  const Certificate own(
      ::PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr));
  if (own == nullptr) return wrong("has no certificate in PEM");
  if (const absl::Time end = TimeOf(::X509_get0_notAfter(own.get()));
      end <= now) {
    return wrong(absl::StrCat("expired on ", absl::FormatTime(end)));
  }
  if (const absl::Time begin = TimeOf(::X509_get0_notBefore(own.get()));
      begin > now) {
    return wrong(absl::StrCat("is valid only from ", absl::FormatTime(begin)));
  }
  if (::SSL_CTX_use_certificate(tls, own.get()) != 1) {
    return wrong(
        "is none that this version of OpenSSL may use: its key or "
        "its signature is too weak");
  }
  while (Certificate above{
      ::PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)}) {
    if (::SSL_CTX_add1_chain_cert(tls, above.get()) != 1) {
      return wrong("has a chain that can't be used");
    }
  }
  return absl::OkStatus();
}

absl::Status UseKey(const TlsConfig& config, const TlsFiles& files,
                    SSL_CTX* tls) {
  const Bio bio = Read(files.key);
  const Key key(
      ::PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) {
    return Wrong("key", config.key, "has no private key without a passphrase");
  }
  if (::SSL_CTX_use_PrivateKey(tls, key.get()) != 1 ||
      ::SSL_CTX_check_private_key(tls) != 1) {
    return Wrong("key", config.key,
                 absl::StrCat("is not the key of ", config.certificate));
  }
  return absl::OkStatus();
}

absl::Status UseClientAuthorities(const TlsConfig& config,
                                  const TlsFiles& files, SSL_CTX* tls) {
  if (config.client_ca.empty()) return absl::OkStatus();
  X509_STORE* const store = ::SSL_CTX_get_cert_store(tls);
  const Bio bio = Read(files.client_ca);
  int authorities = 0;
  while (Certificate authority{
      ::PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)}) {
    if (::X509_STORE_add_cert(store, authority.get()) != 1 ||
        ::SSL_CTX_add_client_CA(tls, authority.get()) != 1) {
      return Wrong("client_ca", config.client_ca, "can't be used");
    }
    ++authorities;
  }
  if (authorities == 0) {
    return Wrong("client_ca", config.client_ca, "has no certificate in PEM");
  }
  if (!config.crl.empty()) {
    const Bio list = Read(files.crl);
    int lists = 0;
    while (Crl crl{
        ::PEM_read_bio_X509_CRL(list.get(), nullptr, NoPassphrase, nullptr)}) {
      if (::X509_STORE_add_crl(store, crl.get()) != 1) {
        return Wrong("crl", config.crl, "can't be used");
      }
      ++lists;
    }
    if (lists == 0) return Wrong("crl", config.crl, "has no CRL in PEM");
    ::X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
  }
  ::SSL_CTX_set_verify(
      tls,
      SSL_VERIFY_PEER |
          (config.client_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
      nullptr);
  return absl::OkStatus();
}

// The files in a fixed order.
struct Named {
  const char* key;
  const std::string& path;
  std::string TlsFiles::*text;
};
std::vector<Named> NamedFiles(const TlsConfig& config) {
  std::vector<Named> files;
  for (const Named& each :
       {Named{"certificate", config.certificate, &TlsFiles::certificate},
        Named{"key", config.key, &TlsFiles::key},
        Named{"client_ca", config.client_ca, &TlsFiles::client_ca},
        Named{"crl", config.crl, &TlsFiles::crl}}) {
    if (!each.path.empty()) files.push_back(each);
  }
  return files;
}

}  // namespace

std::vector<std::string> TlsPaths(const TlsConfig& config) {
  std::vector<std::string> paths;
  for (const Named& each : NamedFiles(config)) paths.push_back(each.path);
  return paths;
}

absl::StatusOr<TlsFiles> ReadTlsFiles(const TlsConfig& config,
                                      const std::vector<TlsFile>& opened) {
  TlsFiles files;
  size_t next = 0;
  for (const Named& each : NamedFiles(config)) {
    const TlsFile& file = opened[next++];
    if (!file.fd.valid()) return Wrong(each.key, each.path, file.error);
    struct stat info = {};
    if (::fstat(file.fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
      return Wrong(each.key, each.path, "is no regular file");
    }
    // One byte more shows that there is more.
    std::string text(kMaxFileBytes + 1, '\0');
    const ssize_t size = ::pread(file.fd.get(), text.data(), text.size(), 0);
    if (size < 0) return Wrong(each.key, each.path, ErrorText(errno));
    text.resize(static_cast<size_t>(size));
    if (text.size() > kMaxFileBytes) {
      return Wrong(each.key, each.path, "has over 1 MiB");
    }
    files.*each.text = std::move(text);
  }
  return files;
}

absl::StatusOr<TlsFiles> ReadTlsFiles(const TlsConfig& config) {
  std::vector<TlsFile> files;
  for (const std::string& path : TlsPaths(config)) {
    TlsFile& file = files.emplace_back();
    file.fd = os::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.fd.valid()) file.error = ErrorText(errno);
  }
  return ReadTlsFiles(config, files);
}

absl::StatusOr<SharedTls> MakeTls(const TlsConfig& config,
                                  const TlsFiles& files, absl::Time now) {
  const SharedTls tls(::SSL_CTX_new(::TLS_server_method()), ::SSL_CTX_free);
  if (tls == nullptr) return absl::InternalError("OpenSSL has no TLS");
  ::SSL_CTX_set_min_proto_version(tls.get(), TLS1_2_VERSION);
  ::SSL_CTX_set_options(tls.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                       SSL_OP_NO_COMPRESSION |
                                       SSL_OP_CIPHER_SERVER_PREFERENCE);
  ::SSL_CTX_set_session_cache_mode(tls.get(), SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_num_tickets(tls.get(), 0);
  ::SSL_CTX_set_cipher_list(tls.get(), kCiphers);
  ::SSL_CTX_set_mode(tls.get(), SSL_MODE_RELEASE_BUFFERS |
                                    SSL_MODE_ENABLE_PARTIAL_WRITE |
                                    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  ::SSL_CTX_clear_mode(tls.get(), SSL_MODE_AUTO_RETRY);
  ::SSL_CTX_set_alpn_select_cb(
      tls.get(),
      config.http1 ? ChooseProtocol<kHttp1AndH2> : ChooseProtocol<kH2>,
      nullptr);
  for (const absl::Status& used :
       {UseCertificate(config, files, now, tls.get()),
        UseKey(config, files, tls.get()),
        UseClientAuthorities(config, files, tls.get())}) {
    if (!used.ok()) return used;
  }
  ::ERR_clear_error();
  return tls;
}

absl::Time CertificateEnd(const SharedTls& tls) {
  return TimeOf(::X509_get0_notAfter(::SSL_CTX_get0_certificate(tls.get())));
}

SharedTls TlsContext::Get() const {
  absl::MutexLock lock(&mutex_);
  return tls_;
}

absl::Status TlsContext::Replace(const absl::StatusOr<TlsFiles>& files,
                                 absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (files.ok() && *files == files_ && state_.ok()) return state_;
  const absl::StatusOr<SharedTls> next =
      files.ok() ? MakeTls(config_, *files, now)
                 : absl::StatusOr<SharedTls>(files.status());
  if (next.ok()) {
    Log(LogLevel::kInfo, "tls_reloaded",
        {{"certificate", config_.certificate},
         {"until", absl::FormatTime(CertificateEnd(*next))}});
    files_ = *files;
    tls_ = *next;
  } else if (next.status() != state_) {
    Log(LogLevel::kError, "tls_not_reloaded",
        {{"error", std::string(next.status().message())},
         {"so", "the certificate before stays in force"}});
  }
  state_ = next.status();
  return state_;
}

absl::Status TlsContext::state() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

}  // namespace sandglass::server
