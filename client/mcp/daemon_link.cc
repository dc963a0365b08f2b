#include "client/mcp/daemon_link.h"

#include <utility>

namespace sandglass::client {

absl::StatusOr<std::shared_ptr<const DaemonLink::Connection>>
DaemonLink::Get() {
  const absl::MutexLock lock(&mutex_);
  if (connection_ != nullptr && IsConnected(connection_->daemon)) {
    return connection_;
  }
  // Calls that still use the old connection will end by themselves.
  connection_ = nullptr;
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint_);
  if (!daemon.ok()) return daemon.status();
  connection_ = std::make_shared<const Connection>(*std::move(daemon));
  return connection_;
}

}  // namespace sandglass::client
