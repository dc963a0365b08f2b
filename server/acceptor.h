#ifndef SANDGLASS_SERVER_ACCEPTOR_H_
#define SANDGLASS_SERVER_ACCEPTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"
#include "server/clock.h"
#include "server/peers.h"

namespace sandglass::server {

// Takes connections from the unix socket: notes who is there (SO_PEERCRED) and
// passes the descriptor on. gRPC would accept by itself but tells nothing of a
// peer's uid.
//
// Each connection keeps a second descriptor here, which shows when it ends and
// so lets its entry in the table go. Numbers that go to gRPC rise and are not
// used again soon.
class Acceptor {
 public:
  struct Options {
    uint32_t max_connections = 1024;  // more wait in the kernel's backlog
    // How long a closed connection's number stays taken.
    absl::Duration number_grace = absl::Minutes(1);
  };
  // Owns the descriptor that it is given.
  using Handover = std::function<void(int fd)>;

  // `listener` is a listening, non-blocking unix socket; `peers` outlives the
  // acceptor. The thread starts here.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Start(
      os::Fd listener, PeerTable& peers, Handover handover,
      const Options& options);
  // Stops accepting; connections stay.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  Acceptor(os::Fd listener, PeerTable& peers, Handover handover,
           const Options& options, os::Fd epoll, os::Fd wake);
  void Loop();
  void AcceptSome();
  void Admit(os::Fd connection);
  os::Fd Renumber(int fd);
  void Close(int watched);
  void Listen(uint32_t events);
  // Stops listening for a while after an error that will not pass by itself.
  void BackOff(int error);

  os::Fd listener_;
  PeerTable& peers_;
  const Handover handover_;
  const Options options_;
  os::Fd epoll_;
  os::Fd wake_;
  int first_number_;
  int next_number_;
  bool listening_ = false;
  MonotonicTime resume_at_;
  MonotonicTime quiet_until_;  // for the log
  struct Watched {
    os::Fd fd;
    int number;  // gRPC's descriptor
  };
  std::map<int, Watched> watched_;
  std::thread thread_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ACCEPTOR_H_
