#ifndef SANDGLASS_GATEWAY_NODES_NODE_REGISTRY_H_
#define SANDGLASS_GATEWAY_NODES_NODE_REGISTRY_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/synchronization/mutex.h"
#include "gateway/nodes/node_link.h"
#include "gateway/place/node_table.h"
#include "gateway/place/placement.h"
#include "gateway/proxy/router.h"

namespace sandglass::gateway {

// How a node does, as operators see it.
struct NodeState {
  std::string name;
  std::string address;
  bool there = false;  // it may be given something new, unless it drains
  bool draining = false;
  absl::Duration report_age;
  int64_t free_slots = 0;
  uint64_t queued = 0;
  uint64_t sessions = 0;
};

// The nodes of a gateway, and where calls go: what a request names is where its
// id says, and everything else where Place says. Thread-safe.
class NodeRegistry final : public Router {
 public:
  NodeRegistry() = default;
  // Nothing may ask for nodes any more.
  ~NodeRegistry() override;

  // The nodes to ask from now on; those that aren't among them get nothing new.
  // `credentials` are for addresses that come anew.
  void SetNodes(const std::vector<NodeAddress>& addresses,
                const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      ABSL_LOCKS_EXCLUDED(mutex_);

  absl::StatusOr<std::unique_ptr<Visit>> Find(
      Route route, const RoutingFields& fields, const server::Identity& caller,
      const std::vector<std::string>& tried) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::unique_ptr<Visit>> All() override
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The nodes that have told of themselves, in the order of their names.
  std::vector<NodeState> States() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether one of them is there.
  bool AnyThere() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Stay;

  bool Told(const std::string& address,
            const node::v1::WatchLoadResponse& answer,
            server::MonotonicTime asked) ABSL_LOCKS_EXCLUDED(mutex_);
  void Lost(const std::string& address, const std::string& why)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::unique_ptr<Visit>> FindNamed(
      const std::string& id, const std::vector<std::string>& tried)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::unique_ptr<Visit>> FindAny(
      const std::vector<std::string>& tried)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::unique_ptr<Stay> StayAt(const std::string& node)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A language as nodes tell it; what no node knows as it is.
  std::string LanguageOf(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Learn(const node::v1::Offer& offer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsThere(const std::string& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Whether a node was last heard of at the address: it may have moved to
  // another since.
  bool IsAt(const std::string& node, const std::string& address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetNodeAt(const std::string& address, const std::string& node)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // What is known of one address.
  struct Known {
    std::shared_ptr<NodeLink> link;
    std::string node;  // empty: it has not told yet
    node::v1::Offer offer;
    bool away = false;  // as the log says
  };

  absl::Mutex mutex_;
  NodeTable table_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Known> known_ ABSL_GUARDED_BY(mutex_);  // by address
  // The addresses of nodes, by name.
  std::map<std::string, std::string> addresses_ ABSL_GUARDED_BY(mutex_);
  // Of all nodes' languages, with their ids.
  std::map<std::string, std::string> aliases_ ABSL_GUARDED_BY(mutex_);
  absl::BitGen random_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_NODES_NODE_REGISTRY_H_
