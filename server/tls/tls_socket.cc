#include "server/tls/tls_socket.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr size_t kMaxNameBytes = 256;

std::string LastError() {
  char text[256] = "";
  if (const unsigned long code = ::ERR_peek_last_error(); code != 0) {
    ::ERR_error_string_n(code, text, sizeof(text));
  }
  ::ERR_clear_error();
  return text;
}

// The first name of this kind; empty when there is none, or one that a log
// could not show.
std::string FirstName(const GENERAL_NAMES* names, int type) {
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
    if (name->type != type) continue;
    const ASN1_IA5STRING* const text =
        type == GEN_URI ? name->d.uniformResourceIdentifier : name->d.dNSName;
    const auto* data =
        reinterpret_cast<const char*>(::ASN1_STRING_get0_data(text));
    const auto size = static_cast<size_t>(::ASN1_STRING_length(text));
    const bool plain = size <= kMaxNameBytes &&
                       std::all_of(data, data + size, [](unsigned char c) {
                         return c > ' ' && c < 0x7f;
                       });
    return plain ? std::string(data, size) : std::string();
  }
  return "";
}

// The parts of a message up to one record, one after the other.
std::string Gather(const msghdr& message, size_t skip, size_t most) {
  std::string bytes;
  for (size_t i = 0; i < message.msg_iovlen && bytes.size() < most; ++i) {
    const iovec& part = message.msg_iov[i];
    const size_t from = std::min(skip, part.iov_len);
    skip -= from;
    const size_t size = std::min(part.iov_len - from, most - bytes.size());
    bytes.append(static_cast<const char*>(part.iov_base) + from, size);
  }
  return bytes;
}

}  // namespace

std::unique_ptr<TlsSocket> TlsSocket::Make(const SharedTls& tls, int fd) {
  SSL* const ssl = ::SSL_new(tls.get());
  if (ssl == nullptr) return nullptr;
  std::unique_ptr<TlsSocket> socket(new TlsSocket(ssl, tls));
  ::SSL_set_accept_state(ssl);
  if (::SSL_set_fd(ssl, fd) != 1) return nullptr;
  return socket;
}

TlsSocket::Progress TlsSocket::Handshake() {
  absl::MutexLock lock(&mutex_);
  ::ERR_clear_error();
  const int result = ::SSL_do_handshake(ssl_.get());
  if (result == 1) return Progress::kDone;
  switch (::SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Progress::kReads;
    case SSL_ERROR_WANT_WRITE:
      return Progress::kWrites;
    default:
      error_ = LastError();
      return Progress::kFailed;
  }
}

std::string TlsSocket::error() const {
  absl::MutexLock lock(&mutex_);
  return error_.empty() ? "the client went away" : error_;
}

bool TlsSocket::SpeaksHttp2() const {
  absl::MutexLock lock(&mutex_);
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  ::SSL_get0_alpn_selected(ssl_.get(), &protocol, &size);
  return size == 2;  // the only one of ChooseProtocol's that is so short
}

std::optional<PeerCertificate> TlsSocket::Peer() const {
  absl::MutexLock lock(&mutex_);
  X509* const certificate = ::SSL_get0_peer_certificate(ssl_.get());
  if (certificate == nullptr) return std::nullopt;
  PeerCertificate peer;
  if (auto* const names = static_cast<GENERAL_NAMES*>(::X509_get_ext_d2i(
          certificate, NID_subject_alt_name, nullptr, nullptr))) {
    peer.name = FirstName(names, GEN_URI);
    if (peer.name.empty()) peer.name = FirstName(names, GEN_DNS);
    ::GENERAL_NAMES_free(names);
  }
  std::tm parts{};
  peer.ends = ::ASN1_TIME_to_tm(::X509_get0_notAfter(certificate), &parts) == 1
                  ? absl::FromTM(parts, absl::UTCTimeZone())
                  : absl::InfinitePast();
  return peer;
}

bool TlsSocket::PeerIsGood(const SharedTls& tls) {
  absl::MutexLock lock(&mutex_);
  X509* const certificate =
      ssl_ == nullptr ? nullptr : ::SSL_get0_peer_certificate(ssl_.get());
  if (certificate == nullptr) return true;
  if (::X509_cmp_current_time(::X509_get0_notAfter(certificate)) <= 0) {
    return false;
  }
  if (tls == good_by_) return true;
  const std::unique_ptr<X509_STORE_CTX, FreeBy<X509_STORE_CTX_free>> check(
      ::X509_STORE_CTX_new());
  // The store says whether lists are looked at.
  const bool good =
      check != nullptr &&
      ::X509_STORE_CTX_init(check.get(), ::SSL_CTX_get_cert_store(tls.get()),
                            certificate,
                            ::SSL_get_peer_cert_chain(ssl_.get())) == 1 &&
      ::X509_STORE_CTX_set_default(check.get(), "ssl_client") == 1 &&
      ::X509_verify_cert(check.get()) == 1;
  ::ERR_clear_error();
  if (good) good_by_ = tls;
  return good;
}

ssize_t TlsSocket::Failed(int result) {
  const int error = errno;
  switch (::SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      errno = EAGAIN;
      return -1;
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    case SSL_ERROR_SYSCALL:
      errno = error != 0 ? error : ECONNRESET;
      break;
    default:
      errno = ECONNRESET;
      break;
  }
  ::ERR_clear_error();
  return -1;
}

int TlsSocket::Read(void* data, size_t size, size_t* got) {
  // OpenSSL would go on by itself (SSL_MODE_AUTO_RETRY) for as long as a client
  // sends, say, new keys.
  constexpr int kMaxBetween = 32;
  for (int between = 0;; ++between) {
    ::ERR_clear_error();
    errno = 0;
    const int result = ::SSL_read_ex(ssl_.get(), data, size, got);
    if (result == 1 ||
        ::SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ) {
      return result;
    }
    pollfd readable = {::SSL_get_fd(ssl_.get()), POLLIN, 0};
    if (::poll(&readable, 1, 0) <= 0) return result;
    if (between == kMaxBetween) {
      ::shutdown(readable.fd, SHUT_RDWR);
      return result;
    }
  }
}

void TlsSocket::Close() {
  absl::MutexLock lock(&mutex_);
  ssl_.reset();
  pending_ = std::string();
}

ssize_t TlsSocket::Receive(msghdr* message) {
  absl::MutexLock lock(&mutex_);
  if (ssl_ == nullptr) {
    errno = ECONNRESET;
    return -1;
  }
  message->msg_controllen = 0;
  message->msg_flags = 0;
  size_t all = 0;
  for (size_t i = 0; i < message->msg_iovlen; ++i) {
    const iovec& part = message->msg_iov[i];
    size_t filled = 0;
    while (filled < part.iov_len) {
      size_t got = 0;
      const int result = Read(static_cast<char*>(part.iov_base) + filled,
                              part.iov_len - filled, &got);
      if (result != 1) {
        // An error shows again in the next call.
        return all > 0 ? static_cast<ssize_t>(all) : Failed(result);
      }
      filled += got;
      all += got;
    }
  }
  return static_cast<ssize_t>(all);
}

ssize_t TlsSocket::Send(const msghdr* message) {
  absl::MutexLock lock(&mutex_);
  if (ssl_ == nullptr) {
    errno = ECONNRESET;
    return -1;
  }
  size_t all = 0;
  while (true) {
    // OpenSSL wants a record that it could not send again as it was.
    std::string record = pending_.empty()
                             ? Gather(*message, all, kRecordBytes)
                             : std::exchange(pending_, std::string());
    if (record.empty()) return static_cast<ssize_t>(all);
    size_t sent = 0;
    ::ERR_clear_error();
    errno = 0;
    const int result =
        ::SSL_write_ex(ssl_.get(), record.data(), record.size(), &sent);
    if (result != 1) {
      const ssize_t failed = Failed(result);
      if (failed < 0 && errno == EAGAIN) pending_ = std::move(record);
      if (all > 0) return static_cast<ssize_t>(all);
      if (failed == 0) errno = EPIPE;
      return -1;
    }
    all += sent;
  }
}

void TlsSocket::SendEnd() {
  absl::MutexLock lock(&mutex_);
  if (ssl_ == nullptr) return;
  (void)::SSL_shutdown(ssl_.get());
  ::ERR_clear_error();
}

void TlsSocket::Rename(int fd) {
  absl::MutexLock lock(&mutex_);
  ::SSL_set_fd(ssl_.get(), fd);
}

}  // namespace sandglass::server
