#ifndef SANDGLASS_SERVER_DAEMON_KEPT_LISTENERS_H_
#define SANDGLASS_SERVER_DAEMON_KEPT_LISTENERS_H_

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sandbox/os/fd.h"
#include "server/base/listen_address.h"

namespace sandglass::server {

// Listening sockets that outlive a daemon, so that who connects between its end
// and the start of the next one waits in the backlog and is answered, instead
// of being refused. A service manager keeps them over a restart of the service,
// and a supervisor over a death of its daemon.
class KeptListeners {
 public:
  // Takes over the sockets that a service manager passed to this process by
  // LISTEN_FDS, as sd_listen_fds(3) has it, and removes that variable.
  // Preconditions: single-threaded.
  static KeptListeners FromServiceManager();

  KeptListeners() = default;
  KeptListeners(KeptListeners&&) = default;
  KeptListeners& operator=(KeptListeners&&) = default;

  // For a supervisor. Opens the channel through which its daemons send their
  // sockets.
  absl::Status Open();
  // Receives what the daemon has sent, for the next one. Returns whether there
  // is something to keep now.
  bool Collect();
  // Closes all that is kept: nobody will accept any more.
  void Release();
  // The same, and has the service manager close what it keeps, too.
  void Forget();

  // For the daemon, of which these are a copy. Closes all other descriptors
  // from 3 on: whatever files the process that started us left open aren't ours
  // to use.
  void CloseOthers();
  // Returns the socket that listens at this address, or an empty one. Closes
  // the others and logs that.
  os::Fd Take(const ListenAddress& address);
  // Has the supervisor and the service manager keep a socket, unless it is one
  // that Take returned: that one they have.
  void Keep(const os::Fd& listener);

 private:
  std::vector<os::Fd> kept_;
  os::Fd sending_;  // to receiving_, from the daemon to the supervisor
  os::Fd receiving_;
  bool taken_ = false;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_KEPT_LISTENERS_H_
