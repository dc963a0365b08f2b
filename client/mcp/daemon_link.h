#ifndef SANDGLASS_CLIENT_MCP_DAEMON_LINK_H_
#define SANDGLASS_CLIENT_MCP_DAEMON_LINK_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/connection/daemon.h"
#include "client/connection/endpoint.h"
#include "client/toolbox/toolbox.h"

namespace sandglass::client {

// A daemon that may come and go: callers get the present connection, or a new
// one when that has ended. Thread-safe.
class DaemonLink {
 public:
  struct Connection {
    Daemon daemon;
    Toolbox toolbox;

    explicit Connection(Daemon opened)
        : daemon(std::move(opened)), toolbox(daemon, ToolBounds()) {}
  };

  // Doesn't connect yet.
  explicit DaemonLink(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

  // Returns the errors of OpenDaemon.
  absl::StatusOr<std::shared_ptr<const Connection>> Get()
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const Endpoint endpoint_;
  absl::Mutex mutex_;
  std::shared_ptr<const Connection> connection_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_DAEMON_LINK_H_
