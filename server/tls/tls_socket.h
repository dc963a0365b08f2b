#ifndef SANDGLASS_SERVER_TLS_TLS_SOCKET_H_
#define SANDGLASS_SERVER_TLS_TLS_SOCKET_H_

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/base/free_by.h"
#include "server/tls/tls_context.h"

namespace sandglass::server {

// What a client's certificate says, once OpenSSL has found it good.
struct PeerCertificate {
  // The first URI SAN; without one, the first DNS SAN; empty: it has neither.
  std::string name;
  absl::Time ends;
};

// The server's side of TLS on a connected, non-blocking socket, which it
// doesn't own. Thread-safe: one thread may receive while another sends.
class TlsSocket {
 public:
  // Null when OpenSSL has no memory.
  static std::unique_ptr<TlsSocket> Make(const SharedTls& tls, int fd);

  enum class Progress { kDone, kReads, kWrites, kFailed };
  // Goes on with the handshake as far as the socket allows without waiting.
  // kReads and kWrites say for what it waits. kFailed: it is over.
  Progress Handshake() ABSL_LOCKS_EXCLUDED(mutex_);
  // After kFailed: why, for the log.
  std::string error() const ABSL_LOCKS_EXCLUDED(mutex_);

  // After kDone. Whether HTTP/2 was agreed on.
  bool SpeaksHttp2() const ABSL_LOCKS_EXCLUDED(mutex_);
  // nullopt when the client showed none.
  std::optional<PeerCertificate> Peer() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether the client's certificate, if it showed one, has not ended and is
  // good by the authorities and the lists in `tls`, too.
  bool PeerIsGood(const SharedTls& tls) ABSL_LOCKS_EXCLUDED(mutex_);

  // Used instead of recvmsg(2) and sendmsg(2) on the socket, with the same
  // results and errno, for what is inside TLS. Only what the buffers have and
  // how much fits matters of a message; no control data comes with it. What
  // EAGAIN has refused to send must be offered again as it was.
  ssize_t Receive(msghdr* message) ABSL_LOCKS_EXCLUDED(mutex_);
  ssize_t Send(const msghdr* message) ABSL_LOCKS_EXCLUDED(mutex_);

  // Tells the other side by TLS that nothing more is sent, if that can be done
  // without waiting.
  void SendEnd() ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on another descriptor stands for the same socket.
  void Rename(int fd) ABSL_LOCKS_EXCLUDED(mutex_);

  // Frees what the connection took; nothing is received or sent any more
  // (ECONNRESET).
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // As much as fits into one record.
  static constexpr size_t kRecordBytes = 16 << 10;

  TlsSocket(SSL* ssl, SharedTls tls) : ssl_(ssl), good_by_(std::move(tls)) {}
  // SSL_read_ex as far as the socket allows, whatever comes between records of
  // the application: no more of that than a client has reason for.
  int Read(void* data, size_t size, size_t* got)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Turns what OpenSSL said into the errno of a socket, and returns -1, or 0 at
  // the end of the stream.
  ssize_t Failed(int result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  // Null once it is closed.
  std::unique_ptr<SSL, FreeBy<SSL_free>> ssl_ ABSL_GUARDED_BY(mutex_);
  // By what the client's certificate was found good last.
  SharedTls good_by_ ABSL_GUARDED_BY(mutex_);
  std::string error_ ABSL_GUARDED_BY(mutex_);
  // A record that OpenSSL could send only in part, or not at all.
  std::string pending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_TLS_TLS_SOCKET_H_
