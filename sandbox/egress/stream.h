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

// One end of a connection: a non-blocking socket, with or without TLS on it.
// What arrives is charged to the lease as it comes from the wire, including
// everything that TLS adds. Not thread-safe.
class Stream {
 public:
  enum class Peer : uint8_t { kProgram, kServer };

  Stream(os::Fd socket, Peer peer, Lease& lease);
  // Ends TLS properly, unless the stream was reset.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int socket() const { return socket_.get(); }

  // Begins TLS: AcceptTls as the server and ConnectTls as the client of the
  // other side. `said` is what has already been read from the socket. The
  // contexts only have to live during the call.
  //
  // UNAVAILABLE: the two sides don't agree. FAILED_PRECONDITION: the server
  // isn't the one that it has to be; the message says why. RESOURCE_EXHAUSTED:
  // the lease's bytes are used up. DEADLINE_EXCEEDED, CANCELLED: as for
  // WaitFor. After an error nothing more can be sent or received.
  absl::Status AcceptTls(SSL_CTX& context, std::string said,
                         const Patience& patience);
  absl::Status ConnectTls(SSL_CTX& context, const policy::RequestedHost& host,
                          const Patience& patience);

  // Reads what has arrived, at most the size of `into`. 0: the other side has
  // ended; with TLS, only if it has said so. nullopt: nothing has arrived yet.
  // UNAVAILABLE: the connection broke. RESOURCE_EXHAUSTED: as above.
  absl::StatusOr<std::optional<size_t>> TryRead(absl::Span<char> into);
  // Writes `data` and returns how many bytes were accepted; 0: none can be now.
  // The next call then has to begin with the same bytes. UNAVAILABLE: the
  // connection broke.
  absl::StatusOr<size_t> TryWrite(std::string_view data);

  // The same, but waits as long as `patience` allows: DEADLINE_EXCEEDED,
  // CANCELLED.
  absl::StatusOr<size_t> Read(absl::Span<char> into, const Patience& patience);
  // Writes all of it, or fails.
  absl::Status Write(std::string_view data, const Patience& patience);

  // The events to ask poll(2) for when reading or writing is wanted.
  int16_t Events(bool read, bool write) const;
  // Whether data has arrived that poll(2) doesn't report.
  bool HasMore() const;
  // Whether the connection still stands and nothing has arrived unasked.
  bool IsIdle();

  // Says that nothing more will be sent; the other side may go on.
  void EndWriting();
  // Makes the close a reset, so that the end doesn't look as if everything was
  // sent.
  void Reset();

 private:
  using TlsPtr = std::unique_ptr<SSL, decltype(&::SSL_free)>;

  absl::Status BeginTls(SSL_CTX& context);
  absl::Status Handshake(const Patience& patience);
  absl::Status WhyBroken();
  absl::Status Wait(int16_t events, const Patience& patience) const;

  // Access to the socket for OpenSSL, in the way of recv(2) and send(2).
  ssize_t Receive(absl::Span<char> into);
  static BIO_METHOD* Method();
  static int BioRead(BIO* bio, char* into, int size);
  static int BioWrite(BIO* bio, const char* data, int size);
  static long BioControl(BIO* bio, int command, long number, void* pointer);

  const os::Fd socket_;
  Lease& lease_;
  bool (Lease::*const spend_)(uint64_t);
  std::string said_;      // read before TLS began, for TLS
  bool at_end_ = false;   // of the socket
  bool used_up_ = false;  // the lease's bytes
  bool broken_ = false;   // TLS can't go on
  TlsPtr tls_{nullptr, &::SSL_free};
  // The events for which reading and writing have to wait: TLS may have to
  // write before it can read, and the reverse.
  int16_t to_read_;
  int16_t to_write_;
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_STREAM_H_
