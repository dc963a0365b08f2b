#ifndef SANDGLASS_CLIENT_MCP_NETWORK_HINT_H_
#define SANDGLASS_CLIENT_MCP_NETWORK_HINT_H_

#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/mcp/daemon_link.h"
#include "grpcpp/client_context.h"
#include "sandglass/v1/server_info.pb.h"

namespace sandglass::client {

// Whether programs of a profile can reach anything outside, as far as that can
// be said without delay. Thread-safe.
class NetworkHint {
 public:
  // `link` has to outlive this object.
  NetworkHint(DaemonLink& link, std::string profile)
      : link_(link), profile_(std::move(profile)) {}
  ~NetworkHint();
  NetworkHint(const NetworkHint&) = delete;
  NetworkHint& operator=(const NetworkHint&) = delete;

  // If the last answer is old, asks the daemon and waits a little for the
  // answer. Returns true when nothing is known, because that is the cautious
  // assumption.
  bool MayReachOutside() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Ask() ABSL_LOCKS_EXCLUDED(mutex_);
  std::optional<v1::GetServerInfoResponse> InfoOf(const Daemon& daemon)
      ABSL_LOCKS_EXCLUDED(mutex_);

  DaemonLink& link_;
  const std::string profile_;
  absl::Mutex mutex_;
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<bool> known_ ABSL_GUARDED_BY(mutex_);
  absl::Time known_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_NETWORK_HINT_H_
