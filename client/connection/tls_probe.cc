// Finds out why TLS fails, by a handshake of our own: gRPC says little more
// than that it did.
#include <arpa/inet.h>
#include <netdb.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/free_by.h"
#include "client/base/terminal_filter.h"
#include "client/base/unique_fd.h"
#include "client/connection/tls.h"

namespace sandglass::client {
namespace {

constexpr int kProbeSeconds = 3;

using BioPtr = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
using X509Ptr = std::unique_ptr<X509, FreeBy<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, FreeBy<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, FreeBy<SSL_free>>;
using LookUpPtr = std::unique_ptr<addrinfo, FreeBy<freeaddrinfo>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, FreeBy<GENERAL_NAMES_free>>;

BioPtr BioOf(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

X509Ptr NextCertificate(BIO* from) {
  return X509Ptr(PEM_read_bio_X509(from, nullptr, nullptr, nullptr));
}

TlsProblem Lasting(std::string words) { return {std::move(words), false}; }
TlsProblem Passing(std::string words) { return {std::move(words), true}; }

// Connects to the first of a host's addresses that takes it.
UniqueFd Reach(const Address& address, TlsProblem& problem) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int looked = getaddrinfo(
      address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  const LookUpPtr owner(found);
  if (looked != 0) {
    problem = Lasting(absl::StrCat("the name '", VisibleText(address.host),
                                   "' is not found (", gai_strerror(looked),
                                   "); see that it is right"));
    return UniqueFd();
  }
  int error = 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    UniqueFd fd(
        socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (connect(fd.get(), at->ai_addr, at->ai_addrlen) == 0) return fd;
    error = errno;
    if (error != EINPROGRESS) continue;
    pollfd poller = {fd.get(), POLLOUT, 0};
    socklen_t length = sizeof(error);
    error = ETIMEDOUT;
    if (poll(&poller, 1, kProbeSeconds * 1000) == 1 &&
        getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 &&
        error == 0) {
      return fd;
    }
  }
  problem = Passing(
      error == ECONNREFUSED
          ? "connection refused: nobody listens on that port; does the daemon "
            "run, with this address among its \"listen\"?"
      : error == ETIMEDOUT
          ? absl::StrCat("no answer within ", kProbeSeconds,
                         "s; is it the right address, and does a firewall let "
                         "it through?")
          : absl::StrCat("it cannot be reached: ", strerrordesc_np(error)));
  return UniqueFd();
}

// The names for which a certificate is good.
std::string NamesIn(X509* certificate) {
  const NamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> words;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get());
       ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    char text[INET6_ADDRSTRLEN] = {};
    if (name->type == GEN_DNS) {
      words.push_back(VisibleText(absl::string_view(
          reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
          static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)))));
    } else if (name->type == GEN_IPADD &&
               inet_ntop(ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET
                                                                    : AF_INET6,
                         ASN1_STRING_get0_data(name->d.iPAddress), text,
                         sizeof(text)) != nullptr) {
      words.emplace_back(text);
    }
  }
  return words.empty() ? "no name at all" : absl::StrJoin(words, ", ");
}

std::string WrongCertificate(SSL* ssl, int64_t verdict, const Address& address,
                             const TlsFiles& files) {
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate has expired; it needs another (sandglass cert "
             "renew), if this machine's clock is right";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is not valid yet; are both machines' clocks "
             "right?";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: {
      const X509Ptr certificate(SSL_get1_peer_certificate(ssl));
      return absl::StrCat(
          "its certificate is for ",
          certificate == nullptr ? "other names" : NamesIn(certificate.get()),
          ", not for '", VisibleText(address.host),
          "'; use one of these, or make it another (sandglass cert server "
          "--host)");
    }
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return absl::StrCat(
          "its certificate is of an authority that is not in ",
          VisibleText(files.authorities_name),
          "; give the daemon's own authority (ca.pem) with --ca");
    default:
      return absl::StrCat("its certificate is not good: ",
                          X509_verify_cert_error_string(verdict));
  }
}

// What the last error of OpenSSL means.
TlsProblem WhatTlsSays(const TlsFiles& files) {
  const uint64_t error = ERR_peek_last_error();
  const int reason = ERR_GET_REASON(error);
  const char* words = ERR_reason_error_string(error);
  switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
      return Lasting(
          "what answers there speaks no TLS; is it the right port? Without TLS "
          "a daemon is reached on its own machine only");
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return Lasting(
          "it wants a client's certificate; give one with --cert and --key "
          "(sandglass cert client makes it)");
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      return Lasting(absl::StrCat(
          "it refuses our certificate (", words,
          "); --cert and --key want one of an authority that it trusts"));
    default:
      break;
  }
  if (words == nullptr || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    // Some servers say no more than that.
    return Lasting(
        files.certificate.empty()
            ? "it closes the connection without a word; it may want a client's "
              "certificate (--cert, --key), or it speaks no TLS"
            : "it closes the connection without a word; it may refuse our "
              "certificate: --cert and --key want one of an authority that it "
              "trusts");
  }
  return Lasting(absl::StrCat("the TLS handshake failed: ", words));
}

ContextPtr MakeContext(const TlsFiles& files, std::string& problem) {
  ContextPtr context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // A bad certificate is looked at, too, and nothing is sent to who has it.
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  X509_STORE* store = SSL_CTX_get_cert_store(context.get());
  const BioPtr authorities = BioOf(files.authorities);
  int count = 0;
  while (const X509Ptr each = NextCertificate(authorities.get())) {
    X509_STORE_add_cert(store, each.get());
    ++count;
  }
  if (count == 0) {
    problem = absl::StrCat("--ca ", VisibleText(files.authorities_name),
                           ": there is no certificate in it");
  }
  if (files.certificate.empty()) return context;
  const BioPtr chain = BioOf(files.certificate);
  const X509Ptr leaf = NextCertificate(chain.get());
  const BioPtr secret = BioOf(files.key);
  // An empty passphrase, so that nobody is asked for one.
  const KeyPtr key(PEM_read_bio_PrivateKey(secret.get(), nullptr, nullptr,
                                           const_cast<char*>("")));
  if (leaf == nullptr) problem = "there is no certificate in the --cert file";
  if (key == nullptr) {
    problem = "the --key file has no key in PEM that needs no passphrase";
  }
  if (!problem.empty()) return context;
  if (X509_check_private_key(leaf.get(), key.get()) != 1) {
    problem = "the key (--key) is not that of the certificate (--cert)";
    return context;
  }
  SSL_CTX_use_certificate(context.get(), leaf.get());
  while (X509Ptr each = NextCertificate(chain.get())) {
    SSL_CTX_add_extra_chain_cert(context.get(), each.release());
  }
  SSL_CTX_use_PrivateKey(context.get(), key.get());
  return context;
}

// Calls this until it is done, the other side says no, or time is over; false
// then.
template <typename Call>
bool Insist(SSL* ssl, int fd, int seconds, const Call& call, bool& timed_out) {
  for (;;) {
    ERR_clear_error();
    const int result = call();
    if (result > 0) return true;
    const int error = SSL_get_error(ssl, result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
      return false;
    }
    pollfd poller = {
        fd,
        static_cast<int16_t>(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT),
        0};
    if (poll(&poller, 1, seconds * 1000) != 1) {
      timed_out = true;
      return false;
    }
  }
}

}  // namespace

TlsProblem ProbeTls(const Address& address, const TlsFiles& files) {
  TlsProblem problem;
  std::string wrong;
  const ContextPtr context = MakeContext(files, wrong);
  if (!wrong.empty()) return Lasting(wrong);
  const UniqueFd fd = Reach(address, problem);
  if (!problem.words.empty()) return problem;
  const SslPtr ssl(SSL_new(context.get()));
  SSL_set_fd(ssl.get(), fd.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()),
                                    address.host.c_str()) != 1) {
    SSL_set1_host(ssl.get(), address.host.c_str());
    // A macro with a cast of its own.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast)
    SSL_set_tlsext_host_name(ssl.get(), address.host.c_str());
  }
  constexpr unsigned char kH2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl.get(), kH2, sizeof(kH2));
  bool timed_out = false;
  const bool shaken = Insist(
      ssl.get(), fd.get(), kProbeSeconds,
      [&] { return SSL_connect(ssl.get()); }, timed_out);
  if (timed_out) {
    return Passing(absl::StrCat(
        "it took the connection but does not answer within ", kProbeSeconds,
        "s: it is overloaded, stopped, or speaks no TLS"));
  }
  if (!shaken) return WhatTlsSays(files);
  const int64_t verdict = SSL_get_verify_result(ssl.get());
  if (verdict != X509_V_OK) {
    return Lasting(WrongCertificate(ssl.get(), verdict, address, files));
  }
  const unsigned char* protocol = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(ssl.get(), &protocol, &length);
  if (length != 2 || std::memcmp(protocol, "h2", 2) != 0) {
    return Lasting(
        "it speaks TLS but not HTTP/2 (ALPN h2), as a sandglassd does; is it "
        "the right port?");
  }
  // In TLS 1.3 a server says what it thinks of our certificate after its part
  // of the handshake.
  char byte = 0;
  if (!Insist(
          ssl.get(), fd.get(), 1, [&] { return SSL_read(ssl.get(), &byte, 1); },
          timed_out) &&
      !timed_out) {
    return WhatTlsSays(files);
  }
  return problem;
}

}  // namespace sandglass::client
