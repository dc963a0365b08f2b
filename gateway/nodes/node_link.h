#ifndef SANDGLASS_GATEWAY_NODES_NODE_LINK_H_
#define SANDGLASS_GATEWAY_NODES_NODE_LINK_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "gateway/nodes/node_finder.h"
#include "grpcpp/alarm.h"
#include "grpcpp/channel.h"
#include "grpcpp/security/credentials.h"
#include "sandglass/node/v1/node.pb.h"
#include "server/base/clock.h"

namespace sandglass::gateway {

// The connections to one address, and the questions to the node there. They
// begin with Start and are asked anew whenever the node is gone. Thread-safe.
class NodeLink : public std::enable_shared_from_this<NodeLink> {
 public:
  // How often a node is asked.
  static constexpr absl::Duration kAskEvery = absl::Milliseconds(200);
  // A question that isn't answered by then won't be.
  static constexpr absl::Duration kPatience = absl::Seconds(5);

  // Both are called on gRPC's threads, one at a time, and not after Stop; a
  // lock is held meanwhile, so they call nothing here but channel. `told` gets
  // each answer and when it was asked for; a node whose answers can't be taken
  // is left alone for a while when it returns false.
  using Told = std::function<bool(const node::v1::WatchLoadResponse& answer,
                                  server::MonotonicTime asked)>;
  // Gets why: gRPC's words.
  using Lost = std::function<void(const std::string& why)>;

  // Calls are spread over several connections, since one carries only so many
  // at a time.
  NodeLink(const NodeAddress& address,
           const std::shared_ptr<grpc::ChannelCredentials>& credentials,
           Told told, Lost lost);

  void Start();
  // No more questions; what was asked is called off.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string& address() const { return address_; }
  // For the next call.
  std::shared_ptr<grpc::Channel> channel();

 private:
  class Watch;

  void Ask() ABSL_LOCKS_EXCLUDED(mutex_);
  // After Stop nobody is told.
  bool Tell(const node::v1::WatchLoadResponse& answer,
            server::MonotonicTime asked) ABSL_LOCKS_EXCLUDED(mutex_);
  void TellLost(const std::string& why) ABSL_LOCKS_EXCLUDED(mutex_);
  void AskLater(absl::Duration pause) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string address_;
  const Told told_;
  const Lost lost_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::atomic<size_t> next_ = 0;
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<Watch> watch_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_NODES_NODE_LINK_H_
