#ifndef SANDGLASS_GATEWAY_PLACE_NODE_TABLE_H_
#define SANDGLASS_GATEWAY_PLACE_NODE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gateway/place/node_load.h"
#include "gateway/place/node_set.h"
#include "gateway/place/sent_since.h"
#include "server/base/clock.h"

namespace sandglass::gateway {

// A node whose last report is older is silent and gets nothing. The age counts
// from the time at which the report was true, so that a node that died gets
// nothing from two seconds after its death on, however long its last report
// was on its way.
inline constexpr absl::Duration kSilentAfter = absl::Seconds(2);

// The most different languages that are remembered over all nodes, and likewise
// profiles and images. More than that are as if no node had them.
inline constexpr size_t kMaxNames = 4096;
// The most different sets of libraries that are remembered over all nodes. Of
// more than that some are not known to be installed anywhere, which costs a
// request that needs one an install at most.
inline constexpr size_t kMaxLayers = 16384;

// What a gateway knows of its nodes, and the index by which a place is found
// without a look at each: for every language, profile, image and layer the set
// of nodes that have it, and sets of those that are there and have room. A
// report changes the members that it is about and nothing else.
//
// Not thread-safe. It knows no clock: times are passed in.
class NodeTable {
 public:
  // What is known of one node.
  struct Node {
    NodeLoad load;      // as last reported
    SentSince since;    // what this gateway did to it since
    bool lost = false;  // its connection broke after its last report

    // These count what was sent since. Below zero, the node has more than it
    // said that it takes.
    int64_t free_slots() const;
    int64_t queue_room() const;  // runs that it takes, slots included
    int64_t run_memory() const;  // bytes
    int64_t session_room() const;
    int64_t session_memory() const;  // bytes
    // Runs that go on or wait there; never below zero.
    uint64_t runs() const;
    uint64_t warm_jails(std::string_view language) const;
  };
  // The same figures side by side: a decision that has to look at many nodes
  // reads no more memory than it must.
  struct Room {
    int64_t free_slots = 0;
    int64_t queue_room = 0;
    int64_t run_memory = 0;
    int64_t memory_budget = 0;
    int64_t session_room = 0;
    int64_t session_memory = 0;
  };
  // Nodes by something that they have.
  using Index = std::map<std::string, NodeSet, std::less<>>;

  // Takes a report in. Changes nothing where it fails:
  //   INVALID_ARGUMENT: see CheckNodeLoad.
  //   OUT_OF_RANGE: it goes back in time behind an earlier one.
  //   ALREADY_EXISTS: there is another node of that name, whose last report is
  //     less than kSilentAfter older, or one that was started again so fast
  //     that it looks like one.
  //   RESOURCE_EXHAUSTED: there are kMaxNodes others.
  absl::Status Report(NodeLoad load);
  // The connection to the node broke: it gets nothing until its next report.
  // Unknown names are ignored, here and below.
  void Lost(std::string_view name);
  // The node is none any more.
  void Forget(std::string_view name);

  // Counts what goes to a node from now on. Precondition: it is in the table.
  void Sent(NodeIndex node, const Taken& taken, server::MonotonicTime now);
  // What went there has ended, or never arrived. Ignored where the node was
  // started again since.
  void Ended(std::string_view name, std::string_view instance,
             const Taken& taken, server::MonotonicTime now);

  // Takes nodes out of there() that are silent by now.
  void Expire(server::MonotonicTime now);

  size_t size() const { return by_name_.size(); }
  // Null: no node has that name.
  const Node* Find(std::string_view name) const;
  // Precondition: it is in the table.
  const Node& node(NodeIndex node) const { return *nodes_[node]; }
  const Room& room(NodeIndex node) const { return rooms_[node]; }
  // NodeHash of its name. Precondition: as above.
  uint64_t hash(NodeIndex node) const { return hashes_[node]; }
  const std::map<std::string, NodeIndex, std::less<>>& by_name() const {
    return by_name_;
  }

  // Who has what, silent ones included. No set is empty.
  const Index& languages() const { return languages_; }
  const Index& profiles() const { return profiles_; }
  const Index& images() const { return images_; }
  const Index& layers() const { return layers_; }
  // Those that were heard and neither drain nor are lost, as of the last call
  // of Expire.
  const NodeSet& there() const { return there_; }
  // Those that can start a run at once, as far as slots go.
  const NodeSet& free() const { return free_; }
  // Those that take a run, and be it into their queue.
  const NodeSet& take_runs() const { return take_runs_; }
  // Those that take a session, as far as their number goes.
  const NodeSet& take_sessions() const { return take_sessions_; }

 private:
  absl::Status CheckIsNews(const Node& known, const NodeLoad& load) const;
  // The place of a new node. Precondition: there are less than kMaxNodes.
  NodeIndex MakeRoom(const NodeLoad& load);
  void IndexOffers(NodeIndex node, const NodeOffers& before,
                   const NodeOffers& after);
  // Brings the sets up to date with what the node has.
  void Refresh(NodeIndex node);

  std::map<std::string, NodeIndex, std::less<>> by_name_;
  std::vector<std::unique_ptr<Node>> nodes_;  // by NodeIndex; null: unused
  std::vector<Room> rooms_;                   // likewise
  std::vector<uint64_t> hashes_;              // likewise
  std::vector<NodeIndex> unused_;
  // Those of there_, and the times for which their reports are true.
  std::set<std::pair<server::MonotonicTime, NodeIndex>> heard_;

  Index languages_, profiles_, images_, layers_;
  NodeSet there_, free_, take_runs_, take_sessions_;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PLACE_NODE_TABLE_H_
