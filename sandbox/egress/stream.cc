#include "sandbox/egress/stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sandbox/egress/tls_error.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/status.h"

namespace sandglass::egress {
namespace {

bool Waits(int error) { return error == EAGAIN || error == EINTR; }

// Why a server isn't the one that it has to be.
std::string CertificateWords(long result) {
  switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate isn't valid yet";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "its certificate is for another name";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_UNTRUSTED:
      return "its certificate is from an unknown issuer";
    default:
      return std::string("its certificate can't be trusted: ") +
             ::X509_verify_cert_error_string(result);
  }
}

// Demands that the server's certificate has the name of this host.
bool SetServer(SSL* tls, const policy::RequestedHost& host) {
  if (host.address()) {
    return ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(tls),
                                           host.ToString().c_str()) == 1;
  }
  ::SSL_set_hostflags(tls, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return ::SSL_set1_host(tls, host.name().c_str()) == 1 &&
         SSL_set_tlsext_host_name(tls, host.name().c_str()) == 1;
}

}  // namespace

Stream::Stream(os::Fd socket, Peer peer, Lease& lease)
    : socket_(std::move(socket)),
      lease_(lease),
      spend_(peer == Peer::kProgram ? &Lease::SpendUp : &Lease::SpendDown),
      to_read_(POLLIN),
      to_write_(POLLOUT) {}

Stream::~Stream() {
  if (tls_ != nullptr && !broken_) (void)::SSL_shutdown(tls_.get());
}

absl::Status Stream::AcceptTls(SSL_CTX& context, std::string said,
                               const Patience& patience) {
  said_ = std::move(said);
  if (absl::Status begun = BeginTls(context); !begun.ok()) return begun;
  ::SSL_set_accept_state(tls_.get());
  return Handshake(patience);
}

absl::Status Stream::ConnectTls(SSL_CTX& context,
                                const policy::RequestedHost& host,
                                const Patience& patience) {
  if (absl::Status begun = BeginTls(context); !begun.ok()) return begun;
  ::SSL_set_connect_state(tls_.get());
  if (!SetServer(tls_.get(), host)) {
    broken_ = true;
    return TlsError("the server's name can't be set");
  }
  return Handshake(patience);
}

absl::Status Stream::BeginTls(SSL_CTX& context) {
  ::ERR_clear_error();
  tls_.reset(::SSL_new(&context));
  BIO* bio = ::BIO_new(Method());
  if (tls_ == nullptr || bio == nullptr) {
    ::BIO_free(bio);
    tls_.reset();
    return TlsError("TLS can't begin");
  }
  ::BIO_set_data(bio, this);
  ::BIO_set_init(bio, 1);
  ::SSL_set_bio(tls_.get(), bio, bio);
  SSL_set_mode(tls_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                               SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                               SSL_MODE_RELEASE_BUFFERS);
  // Makes calls return after records that aren't data: otherwise a peer that
  // only sends those could keep a call reading for ever, even beyond the jail's
  // end.
  SSL_clear_mode(tls_.get(), SSL_MODE_AUTO_RETRY);
  return absl::OkStatus();
}

absl::Status Stream::Handshake(const Patience& patience) {
  for (;;) {
    ::ERR_clear_error();
    const int done = ::SSL_do_handshake(tls_.get());
    if (done == 1) return absl::OkStatus();
    const int error = ::SSL_get_error(tls_.get(), done);
    absl::Status waited;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
      waited = Wait(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, patience);
    } else {
      const long verified = ::SSL_get_verify_result(tls_.get());
      waited = WhyBroken();
      if (verified != X509_V_OK && !used_up_) {
        waited = absl::FailedPreconditionError(CertificateWords(verified));
      }
    }
    if (waited.ok()) continue;
    broken_ = true;
    return waited;
  }
}

// For when OpenSSL's last call has failed for good.
absl::Status Stream::WhyBroken() {
  broken_ = true;
  const std::string words = TlsWords();
  if (used_up_) return absl::ResourceExhaustedError(kUsedUp);
  return absl::UnavailableError(words);
}

absl::StatusOr<std::optional<size_t>> Stream::TryRead(absl::Span<char> into) {
  if (tls_ == nullptr) {
    const ssize_t size = Receive(into);
    if (size >= 0) return static_cast<size_t>(size);
    if (used_up_) return absl::ResourceExhaustedError(kUsedUp);
    if (Waits(errno)) return std::nullopt;
    return absl::UnavailableError(os::ErrorText(errno));
  }
  ::ERR_clear_error();
  size_t size = 0;
  const int done = ::SSL_read_ex(tls_.get(), into.data(), into.size(), &size);
  to_read_ = POLLIN;
  if (done == 1) return size;
  switch (::SSL_get_error(tls_.get(), done)) {
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    case SSL_ERROR_WANT_WRITE:
      to_read_ = POLLOUT;
      return std::nullopt;
    case SSL_ERROR_WANT_READ:
      return std::nullopt;
    default:
      return WhyBroken();
  }
}

absl::StatusOr<size_t> Stream::TryWrite(std::string_view data) {
  if (data.empty()) return 0;
  if (tls_ == nullptr) {
    const ssize_t size = ::send(socket_.get(), data.data(), data.size(),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size >= 0) return static_cast<size_t>(size);
    if (Waits(errno)) return 0;
    return absl::UnavailableError(os::ErrorText(errno));
  }
  ::ERR_clear_error();
  size_t size = 0;
  const int done = ::SSL_write_ex(tls_.get(), data.data(), data.size(), &size);
  to_write_ = POLLOUT;
  if (done == 1) return size;
  switch (::SSL_get_error(tls_.get(), done)) {
    case SSL_ERROR_WANT_READ:
      to_write_ = POLLIN;
      return 0;
    case SSL_ERROR_WANT_WRITE:
      return 0;
    default:
      return WhyBroken();
  }
}

absl::StatusOr<size_t> Stream::Read(absl::Span<char> into,
                                    const Patience& patience) {
  for (;;) {
    const absl::StatusOr<std::optional<size_t>> size = TryRead(into);
    if (!size.ok()) return size.status();
    if (*size) return **size;
    if (HasMore()) continue;
    if (absl::Status waited = Wait(to_read_, patience); !waited.ok()) {
      return waited;
    }
  }
}

absl::Status Stream::Write(std::string_view data, const Patience& patience) {
  while (!data.empty()) {
    const absl::StatusOr<size_t> size = TryWrite(data);
    if (!size.ok()) return size.status();
    data.remove_prefix(*size);
    if (*size > 0) continue;
    if (absl::Status waited = Wait(to_write_, patience); !waited.ok()) {
      return waited;
    }
  }
  return absl::OkStatus();
}

absl::Status Stream::Wait(int16_t events, const Patience& patience) const {
  absl::Status waited = WaitFor(socket_.get(), events, patience);
  // Records that aren't data may go on arriving, so the deadline is checked
  // here too.
  if (waited.ok() && os::SteadyNow() >= patience.until) {
    return absl::DeadlineExceededError("that took too long");
  }
  return waited;
}

int16_t Stream::Events(bool read, bool write) const {
  return static_cast<int16_t>((read ? to_read_ : 0) | (write ? to_write_ : 0));
}

bool Stream::HasMore() const {
  return tls_ != nullptr && !broken_ &&
         (!said_.empty() || ::SSL_pending(tls_.get()) > 0);
}

bool Stream::IsIdle() {
  if (tls_ == nullptr) {
    pollfd fd = {socket_.get(), POLLIN, 0};
    return ::poll(&fd, 1, 0) == 0;
  }
  if (broken_) return false;
  // A server may have sent records that aren't data, such as keys for another
  // session.
  ::ERR_clear_error();
  char next = 0;
  size_t size = 0;
  const int done = ::SSL_peek_ex(tls_.get(), &next, 1, &size);
  if (done == 1) return false;
  if (::SSL_get_error(tls_.get(), done) == SSL_ERROR_WANT_READ) return true;
  broken_ = true;
  return false;
}

void Stream::EndWriting() {
  if (tls_ != nullptr && !broken_) (void)::SSL_shutdown(tls_.get());
  ::shutdown(socket_.get(), SHUT_WR);
}

void Stream::Reset() {
  broken_ = true;
  egress::Reset(socket_.get());
}

ssize_t Stream::Receive(absl::Span<char> into) {
  if (!said_.empty()) {
    const size_t size = std::min(said_.size(), into.size());
    std::memcpy(into.data(), said_.data(), size);
    said_.erase(0, size);
    return static_cast<ssize_t>(size);
  }
  const ssize_t size =
      ::recv(socket_.get(), into.data(), into.size(), MSG_DONTWAIT);
  if (size == 0) at_end_ = true;
  if (size > 0 && !(lease_.*spend_)(static_cast<uint64_t>(size))) {
    used_up_ = true;
    errno = EDQUOT;
    return -1;
  }
  return size;
}

BIO_METHOD* Stream::Method() {
  // There is one for all streams, until the process ends.
  static BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method =
        ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
    ::BIO_meth_set_read(method, &Stream::BioRead);
    ::BIO_meth_set_write(method, &Stream::BioWrite);
    ::BIO_meth_set_ctrl(method, &Stream::BioControl);
    return method;
  }();
  return kMethod;
}

int Stream::BioRead(BIO* bio, char* into, int size) {
  auto* stream = static_cast<Stream*>(::BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const ssize_t got = stream->Receive({into, static_cast<size_t>(size)});
  if (got < 0 && Waits(errno)) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

int Stream::BioWrite(BIO* bio, const char* data, int size) {
  auto* stream = static_cast<Stream*>(::BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const ssize_t sent =
      ::send(stream->socket_.get(), data, static_cast<size_t>(size),
             MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && Waits(errno)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

long Stream::BioControl(BIO* bio, int command, long /*number*/,
                        void* /*pointer*/) {
  const auto* stream = static_cast<const Stream*>(::BIO_get_data(bio));
  switch (command) {
    case BIO_CTRL_EOF:
      return stream->at_end_ ? 1 : 0;
    case BIO_CTRL_FLUSH:
      return 1;
    default:
      return 0;
  }
}

}  // namespace sandglass::egress
