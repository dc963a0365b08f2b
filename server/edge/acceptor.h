#ifndef SANDGLASS_SERVER_EDGE_ACCEPTOR_H_
#define SANDGLASS_SERVER_EDGE_ACCEPTOR_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/os/fd.h"
#include "server/base/clock.h"
#include "server/base/shares.h"
#include "server/edge/connection_shares.h"
#include "server/edge/connection_tap.h"
#include "server/edge/peers.h"
#include "server/edge/request_room.h"
#include "server/edge/socket_tap.h"
#include "server/identity/local_accounts.h"
#include "server/tls/tls_context.h"
#include "server/tls/tls_socket.h"

namespace sandglass::server {

// Takes connections from the daemon's socket, be it a unix or a TCP one, notes
// who is at the other end (SO_PEERCRED; on TCP nobody knows), and passes the
// descriptor on. gRPC could accept by itself, but it doesn't report a peer's
// uid, and it takes whoever comes first.
//
// No caller can shut another out: each has a share of the connections. A caller
// that wants more gets them in the place of those of its own that have been
// silent longest and have no call open; otherwise it is told so and sent away.
// A connection is ended if it doesn't speak HTTP/2 soon, or stops in the middle
// of a message.
//
// Each connection keeps a second descriptor here, which shows when the
// connection ends, so that its entry in the table can go. The descriptor
// numbers that are given to gRPC rise and are not used again soon. Until they
// may be, they count in the share of the caller who had them, so that a caller
// that connects and hangs up without end only shuts out itself.
class Acceptor {
 public:
  struct Options {
    uint32_t max_connections = 1024;
    // How long a closed connection's number stays taken.
    absl::Duration number_grace = absl::Minutes(1);
    // How many numbers there are, including those in their grace; there are
    // fewer if the process may not have that many files open.
    int max_numbers = kMaxTapped;
    // So many of them root has in any case.
    uint64_t root_numbers = 256;
    // Within this time a client must have said that it speaks HTTP/2, for which
    // it needs no answer from us.
    absl::Duration first_words = absl::Seconds(10);
    // For so long a message may stop before its end.
    absl::Duration message_pause = absl::Seconds(30);
    // Within this time somebody must have proved on a connection who they are,
    // if it doesn't say so itself.
    absl::Duration proof = absl::Seconds(30);
    uint32_t max_message_bytes = 16 << 20;
    // Who the accounts are that connect to a unix socket.
    LocalAccounts accounts;
    // By which clients' certificates have to be good for as long as their
    // connections are open; null when there is no TLS. Outlives the acceptor.
    const TlsContext* tls = nullptr;
  };
  // Takes over the descriptor that it is given.
  using Handover = std::function<void(int fd)>;

  // `listener` is a listening, non-blocking socket; `peers` and `room` must
  // outlive the acceptor. Starts its thread.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Start(
      os::Fd listener, PeerTable& peers, RequestRoom& room, Handover handover,
      const Options& options);
  // Stops accepting; existing connections stay.
  ~Acceptor();

  // Serves a connection that somebody else accepted, and on which `tls` goes
  // on, with the same bounds as those from the socket. Thread-safe.
  void Offer(os::Fd connection, Identity caller, std::unique_ptr<TlsSocket> tls)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Connections that are open, and all that ever were. Thread-safe.
  uint64_t open() const { return open_; }
  uint64_t accepted() const { return accepted_; }

 private:
  Acceptor(os::Fd listener, PeerTable& peers, RequestRoom& room,
           Handover handover, const Options& options, os::Fd epoll,
           os::Fd wake);
  void Loop();
  void AcceptSome();
  void Admit(os::Fd connection, const Identity& caller,
             std::unique_ptr<TlsSocket> tls);
  void TakeOffers() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the longest silent connection of `caller` that has no call open.
  // Returns whether there was one.
  bool EndSilent(const std::string& caller);
  // Makes room among those without proof for one of that network: in the place
  // of the oldest of the network that has most of them, if that has more.
  // Returns whether there is room now.
  bool EndStranger(const std::string& network);
  // It has proved who it is, or ends.
  void ForgetStranger(const std::string& network, uint64_t order);
  // Frees the numbers whose grace is over.
  void SweepNumbers();
  os::Fd Renumber(int fd);
  // Removes a connection that has ended.
  void Close(int watched);
  // Ends a connection.
  void End(int watched);
  // Ends the connections that the daemon no longer wants to have.
  void Sweep();
  void Listen(uint32_t events);
  // Stops listening for a while after an error that won't go away by itself.
  void BackOff(int error);

  struct Offered {
    os::Fd connection;
    Identity caller;
    std::unique_ptr<TlsSocket> tls;
  };

  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Offered> offered_ ABSL_GUARDED_BY(mutex_);
  os::Fd listener_;
  PeerTable& peers_;
  RequestRoom& room_;
  const Handover handover_;
  const Options options_;
  os::Fd epoll_;
  os::Fd wake_;
  int first_number_;
  int next_number_;
  bool listening_ = false;
  MonotonicTime resume_at_;
  MonotonicTime sweep_at_;
  MonotonicTime quiet_until_;  // so that the log isn't flooded
  uint64_t ended_ = 0;         // since the log's last line
  uint64_t flooded_ = 0;  // the room's total when memory was last given back
  struct Watched {
    os::Fd fd;
    int number;  // gRPC's descriptor
    std::string caller;
    ConnectionTap* tap;  // belongs to the table
    bool stranger;       // it doesn't say itself who is at its other end
    uint64_t order;      // of all that were accepted
  };
  std::atomic<uint64_t> open_ = 0;
  std::atomic<uint64_t> accepted_ = 0;
  ConnectionShares shares_;
  Shares numbers_;  // of the connections in the table
  // Connections without proof so far, as of the last sweep and since, by their
  // network and order; and the numbers of all that began without. They may have
  // half of what there is, so that strangers, who may come from any number of
  // addresses, keep nobody out who is known. Whoever is known by a token comes
  // as a stranger, so of that half no network may have all.
  std::map<std::string, std::map<uint64_t, int>> strangers_;
  uint32_t stranger_count_ = 0;
  Shares stranger_numbers_;
  std::map<int, Watched> watched_;
  std::thread thread_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_ACCEPTOR_H_
