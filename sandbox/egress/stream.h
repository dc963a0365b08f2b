#ifndef SANDGLASS_SANDBOX_EGRESS_STREAM_H_
#define SANDGLASS_SANDBOX_EGRESS_STREAM_H_

#include <openssl/ssl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "policy/network/hosts.h"
#include "sandbox/egress/lease.h"
#include "sandbox/egress/waiting.h"
#include "sandbox/os/fd.h"

namespace sandglass::egress {

// One end of a connection: a socket that doesn't block, as it is or with TLS on
// it. What comes is spent of the lease as it comes from the wire, with all that
// TLS adds. For one thread.
class Stream {
 public:
  enum class Peer : uint8_t { kProgram, kServer };

  Stream(os::Fd socket, Peer peer, Lease& lease);
  // Says in TLS that it ends, unless it was reset.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int socket() const { return socket_.get(); }

  // Begins TLS, as the server and as the client of the other side. `said` is
  // what has been read of the socket already. The contexts need only live for
  // the call.
  //
  // UNAVAILABLE: they don't agree. FAILED_PRECONDITION: the server isn't who it
  // has to be; the message says why. RESOURCE_EXHAUSTED: the lease's bytes are
  // used up. DEADLINE_EXCEEDED, CANCELLED: as of WaitFor. After an error there
  // is nothing more to be said.
  absl::Status AcceptTls(SSL_CTX& context, std::string said,
                         const Patience& patience);
  absl::Status ConnectTls(SSL_CTX& context, const policy::RequestedHost& host,
                          const Patience& patience);

  // What has come, up to the size of `into`; 0: the other side says no more, in
  // TLS by saying so. Absent: nothing has come yet. UNAVAILABLE: it broke.
  // RESOURCE_EXHAUSTED: as above.
  absl::StatusOr<std::optional<size_t>> TryRead(absl::Span<char> into);
  // How much of `data` was taken; 0: nothing can be now. Then what comes next
  // has to begin with the same bytes. UNAVAILABLE: it broke.
  absl::StatusOr<size_t> TryWrite(std::string_view data);

  // The same, as long as patience lasts: DEADLINE_EXCEEDED, CANCELLED.
  absl::StatusOr<size_t> Read(absl::Span<char> into, const Patience& patience);
  // All of it, or an error.
  absl::Status Write(std::string_view data, const Patience& patience);

  // What to ask poll(2) for when reading or writing is wanted.
  int16_t Events(bool read, bool write) const;
  // Something has come that poll(2) doesn't tell of.
  bool HasMore() const;
  // It stands, and nothing has come that nobody asked for.
  bool IsIdle();

  // Says that nothing more is said; the other side may go on.
  void EndWriting();
  // Its close is a reset: it ends, and not as if all was said.
  void Reset();

 private:
  using TlsPtr = std::unique_ptr<SSL, decltype(&::SSL_free)>;

  absl::Status BeginTls(SSL_CTX& context);
  absl::Status Handshake(const Patience& patience);
  absl::Status WhyBroken();
  absl::Status Wait(int16_t events, const Patience& patience) const;

  // Of the socket, for OpenSSL: as recv(2) and send(2).
  ssize_t Receive(absl::Span<char> into);
  static BIO_METHOD* Method();
  static int BioRead(BIO* bio, char* into, int size);
  static int BioWrite(BIO* bio, const char* data, int size);
  static long BioControl(BIO* bio, int command, long number, void* pointer);

  const os::Fd socket_;
  Lease& lease_;
  bool (Lease::*const spend_)(uint64_t);
  std::string said_;      // read before TLS began, and TLS's
  bool at_end_ = false;   // of the socket
  bool used_up_ = false;  // the lease's bytes
  bool broken_ = false;   // TLS has nothing more to say
  TlsPtr tls_{nullptr, &::SSL_free};
  // What reading and writing wait for: TLS may have to write before it can
  // read, and the other way round.
  int16_t to_read_;
  int16_t to_write_;
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_STREAM_H_
