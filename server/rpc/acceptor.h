#ifndef SANDGLASS_SERVER_RPC_ACCEPTOR_H_
#define SANDGLASS_SERVER_RPC_ACCEPTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"
#include "server/base/clock.h"
#include "server/base/shares.h"
#include "server/rpc/connection_shares.h"
#include "server/rpc/connection_tap.h"
#include "server/rpc/peers.h"
#include "server/rpc/request_room.h"
#include "server/rpc/socket_tap.h"

namespace sandglass::server {

// Takes connections from the daemon's socket, be it a unix one or TCP: notes
// who is there (SO_PEERCRED; nobody knows on TCP) and passes the descriptor on.
// gRPC would accept by itself but tells nothing of a peer's uid, and takes
// whoever comes first.
//
// No caller can shut another out: each has a share of the connections. Whoever
// wants more gets them in the place of its own that are silent longest, with no
// call open, or else is told so and sent away. A connection that doesn't speak
// HTTP/2 soon, or stops in the middle of a message, ends.
//
// Each connection keeps a second descriptor here, which shows when it ends and
// so lets its entry in the table go. Numbers that go to gRPC rise and are not
// used again soon. Until they may be, they count in the share of the caller who
// had them, so that whoever connects and hangs up without end shuts out itself.
class Acceptor {
 public:
  struct Options {
    uint32_t max_connections = 1024;
    // How long a closed connection's number stays taken.
    absl::Duration number_grace = absl::Minutes(1);
    // Numbers that there are, those in their grace with them; fewer where the
    // process may not have as many files open.
    int most_numbers = kMostTapped;
    // Of them root has so many in any case.
    uint64_t root_numbers = 256;
    // By then a client has said that it speaks HTTP/2, which needs no answer.
    absl::Duration first_words = absl::Seconds(10);
    // So long a message may stop before its end.
    absl::Duration message_pause = absl::Seconds(30);
    uint32_t max_message_bytes = 16 << 20;
  };
  // Owns the descriptor that it is given.
  using Handover = std::function<void(int fd)>;

  // `listener` is a listening, non-blocking socket; `peers` and `room` outlive
  // the acceptor. The thread starts here.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Start(
      os::Fd listener, PeerTable& peers, RequestRoom& room, Handover handover,
      const Options& options);
  // Stops accepting; connections stay.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  Acceptor(os::Fd listener, PeerTable& peers, RequestRoom& room,
           Handover handover, const Options& options, os::Fd epoll,
           os::Fd wake);
  void Loop();
  void AcceptSome();
  void Admit(os::Fd connection);
  // Whether there is a connection less of `caller`: the longest silent one that
  // has no call open.
  bool EndSilent(const std::string& caller);
  // Lets numbers go whose grace is over.
  void SweepNumbers();
  os::Fd Renumber(int fd);
  // The connection is over.
  void Close(int watched);
  // Ends it.
  void End(int watched);
  // Ends what the daemon doesn't want to have any more.
  void Sweep();
  void Listen(uint32_t events);
  // Stops listening for a while after an error that will not pass by itself.
  void BackOff(int error);

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
  MonotonicTime quiet_until_;  // for the log
  uint64_t ended_ = 0;         // since the log's last line
  uint64_t flooded_ = 0;       // of the room's total, memory was given back for
  struct Watched {
    os::Fd fd;
    int number;  // gRPC's descriptor
    std::string caller;
    ConnectionTap* tap;  // the table's
  };
  ConnectionShares shares_;
  Shares numbers_;  // of connections that the table knows
  std::map<int, Watched> watched_;
  std::thread thread_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_ACCEPTOR_H_
