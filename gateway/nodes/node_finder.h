#ifndef SANDGLASS_GATEWAY_NODES_NODE_FINDER_H_
#define SANDGLASS_GATEWAY_NODES_NODE_FINDER_H_

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace sandglass::gateway {

// Where a node is, and the name that its certificate has there.
struct NodeAddress {
  std::string address;   // HOST:PORT
  std::string tls_name;  // empty: HOST

  friend auto operator<=>(const NodeAddress&, const NodeAddress&) = default;
};

// What a configuration says of where nodes are: "HOST:PORT" is one of them,
// "dns:HOST:PORT" one at each address of that name, "srv:NAME" one at each
// target of its SRV records. Whether the text has one of these forms.
bool IsNodeSource(const std::string& text);

// Asks DNS, and blocks for some seconds where that doesn't answer. NOT_FOUND:
// there is no such name, or nothing under it; UNAVAILABLE: nobody knows now.
absl::StatusOr<std::vector<NodeAddress>> ResolveNodes(
    const std::string& source);

// Finds nodes again and again, on a thread of its own.
class NodeFinder {
 public:
  using Resolve = std::function<absl::StatusOr<std::vector<NodeAddress>>(
      const std::string& source)>;
  // Gets all addresses when they are others than before.
  using Found = std::function<void(const std::vector<NodeAddress>&)>;
  // An address that DNS no longer has stays for so long: names flap, and a node
  // that is really gone is known by its silence.
  static constexpr absl::Duration kKeep = absl::Seconds(30);

  explicit NodeFinder(Resolve resolve, absl::Duration keep = kKeep);
  ~NodeFinder();
  NodeFinder(const NodeFinder&) = delete;
  NodeFinder& operator=(const NodeFinder&) = delete;

  // From now on these, each as IsNodeSource has it, looked up so often. Those
  // that need no DNS are found before this returns. `found` is called on this
  // thread or the finder's, one call at a time, with a lock held.
  void SetSources(const std::vector<std::string>& sources, absl::Duration every,
                  Found found) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  // What DNS gave, while the sources are still those.
  void Take(uint64_t turn, const std::string& source,
            const absl::StatusOr<std::vector<NodeAddress>>& answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void TellIfNew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Resolve resolve_;
  const absl::Duration keep_;
  absl::Mutex mutex_;
  Found found_ ABSL_GUARDED_BY(mutex_);
  absl::Duration every_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;  // there are new sources
  uint64_t turn_ ABSL_GUARDED_BY(mutex_) = 0;   // counts changes of sources
  std::vector<std::string> sources_ ABSL_GUARDED_BY(mutex_);
  // By source, when each address was seen last.
  std::map<std::string, std::map<NodeAddress, absl::Time>> seen_
      ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> errors_ ABSL_GUARDED_BY(mutex_);
  std::vector<NodeAddress> told_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_NODES_NODE_FINDER_H_
