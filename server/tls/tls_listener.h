#ifndef SANDGLASS_SERVER_TLS_TLS_LISTENER_H_
#define SANDGLASS_SERVER_TLS_TLS_LISTENER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "server/base/event_loop.h"
#include "server/identity/identity_config.h"
#include "server/tls/tls_context.h"
#include "server/tls/tls_socket.h"

namespace sandglass::server {

// Takes connections from addresses with TLS, does the handshakes, and passes
// them on by what was agreed on, HTTP/2 or HTTP/1.1, with who is at the other
// end: the name in the client's certificate where the configuration knows it,
// else nobody yet.
// Handshakes are bounded: so many at a time, of them so many of one network,
// and each has to be over soon. Has a thread of its own.
class TlsListener {
 public:
  // Called on the listener's thread.
  using Handover =
      std::function<void(os::Fd, Identity, std::unique_ptr<TlsSocket>)>;
  struct Options {
    uint32_t max_handshakes = 1024;
    uint32_t max_of_network = 128;
    absl::Duration handshake = absl::Seconds(10);
    // Gets the connections that speak HTTP/1.1 (TlsConfig::http1); without it
    // they are ended.
    Handover http1 = nullptr;
  };

  // `tls` and `identity` must outlive the listener. The sockets listen and
  // don't block.
  static absl::StatusOr<std::unique_ptr<TlsListener>> Start(
      std::vector<os::Fd> sockets, const TlsContext& tls,
      const IdentityConfig& identity, Handover handover,
      const Options& options);
  TlsListener(const TlsListener&) = delete;
  TlsListener& operator=(const TlsListener&) = delete;

  // Handshakes that failed or took too long, and connections that found no room
  // for theirs. Thread-safe.
  uint64_t failed() const { return failed_; }
  uint64_t turned_away() const { return turned_away_; }

 private:
  struct Handshake {
    os::Fd fd;
    std::unique_ptr<TlsSocket> socket;
    std::string address;
    std::string network;
    uint64_t watch = 0;
    uint64_t timer = 0;
    uint64_t order = 0;
  };

  TlsListener(std::vector<os::Fd> sockets, const TlsContext& tls,
              const IdentityConfig& identity, Handover handover,
              const Options& options)
      : options_(options),
        tls_(tls),
        identity_(identity),
        handover_(std::move(handover)),
        sockets_(std::move(sockets)) {}

  // All on the loop's thread.
  void Listen(const os::Fd& socket);
  void AcceptSome(const os::Fd& socket, uint64_t watch);
  void Begin(os::Fd connection);
  // Ends the oldest handshake of the network with most, if that has more than
  // `has`. Returns whether it did.
  bool MakeRoom(uint32_t has);
  void Step(int fd);
  void Watch(Handshake& handshake, uint32_t events);
  void Finish(int fd);
  // Ends one that can't become a connection.
  void Drop(int fd, const std::string& why);
  Handshake Remove(int fd);
  Identity IdentityOf(const Handshake& handshake) const;

  const Options options_;
  const TlsContext& tls_;
  const IdentityConfig& identity_;
  const Handover handover_;
  const std::vector<os::Fd> sockets_;
  std::atomic<uint64_t> failed_ = 0;
  std::atomic<uint64_t> turned_away_ = 0;
  std::map<int, Handshake> handshakes_;
  std::map<std::string, uint32_t> networks_;
  uint64_t next_order_ = 0;
  MonotonicTime quiet_until_;  // so that the log isn't flooded
  // Last, so that it ends before what its thread uses.
  EventLoop loop_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_TLS_TLS_LISTENER_H_
