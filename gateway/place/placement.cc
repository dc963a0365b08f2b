#include "gateway/place/placement.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/random/distributions.h"
#include "gateway/place/node_load.h"
#include "gateway/place/placement_errors.h"
#include "gateway/place/rendezvous.h"

namespace sandglass::gateway {
namespace {

using Node = NodeTable::Node;
using Room = NodeTable::Room;

// Null: no node has it.
const NodeSet* FindSet(const NodeTable::Index& index, const std::string& key) {
  const auto it = index.find(key);
  return it == index.end() ? nullptr : &it->second;
}

// One decision.
class Choice {
 public:
  Choice(const Wish& wish, const NodeTable& nodes, absl::BitGenRef random)
      : wish_(wish), nodes_(nodes), random_(random) {}

  // Sets those that are fit; false: there are none.
  bool FindFit(const std::vector<std::string>& excluded);
  // By the rule for requests without an id, and for those with one.
  std::optional<NodeIndex> TakeBetterOfTwo();
  std::optional<NodeIndex> TakeFirst(uint64_t request_hash, bool& displaced);

  bool HasLibrary(NodeIndex node) const {
    const NodeSet* with = FindSet(nodes_.layers(), wish_.library);
    return with != nullptr && with->Has(node);
  }
  bool Waits(NodeIndex node) const {
    return !wish_.session && !StartsAtOnce(nodes_.room(node));
  }

 private:
  bool Memory(int64_t bytes) const {
    return bytes >= static_cast<int64_t>(wish_.memory_bytes);
  }
  bool StartsAtOnce(const Room& room) const {
    return room.free_slots > 0 && Memory(room.run_memory);
  }
  // Whether it takes the request, be it into its queue.
  bool Takes(const Room& room) const {
    if (wish_.session) {
      return room.session_room > 0 && Memory(room.session_memory);
    }
    return room.queue_room > 0 && Memory(room.memory_budget);
  }
  bool IsBetter(const Node& one, const Node& other) const;
  // The better of two at random of those in `among` that `may` allows.
  template <typename May>
  std::optional<NodeIndex> BetterOfTwo(NodeSet among, const May& may);

  const Wish& wish_;
  const NodeTable& nodes_;
  absl::BitGenRef random_;
  NodeSet fit_;
};

bool Choice::FindFit(const std::vector<std::string>& excluded) {
  fit_ = nodes_.there();
  const auto narrow = [this](const NodeTable::Index& index,
                             const std::string& key) {
    if (key.empty()) return true;
    const NodeSet* having = FindSet(index, key);
    if (having != nullptr) fit_ = fit_ & *having;
    return having != nullptr;
  };
  if (!narrow(nodes_.languages(), wish_.language) ||
      !narrow(nodes_.profiles(), wish_.profile) ||
      !narrow(nodes_.images(), wish_.image)) {
    fit_ = {};
    return false;
  }
  for (const std::string& name : excluded) {
    const auto it = nodes_.by_name().find(name);
    if (it != nodes_.by_name().end()) fit_.Clear(it->second);
  }
  return !fit_.empty();
}

bool Choice::IsBetter(const Node& one, const Node& other) const {
  if (wish_.session) {
    if (one.session_memory() != other.session_memory()) {
      return one.session_memory() > other.session_memory();
    }
  } else if (one.free_slots() > 0 || other.free_slots() > 0) {
    if (one.free_slots() != other.free_slots()) {
      return one.free_slots() > other.free_slots();
    }
  } else {
    // Runs by slots, multiplied out. Both take runs, so they have slots.
    const uint64_t of_one = one.runs() * other.load.max_running;
    const uint64_t of_other = other.runs() * one.load.max_running;
    if (of_one != of_other) return of_one < of_other;
  }
  return one.warm_jails(wish_.language) > other.warm_jails(wish_.language);
}

template <typename May>
std::optional<NodeIndex> Choice::BetterOfTwo(NodeSet among, const May& may) {
  // After so many draws that `may` doesn't allow, all are looked at.
  constexpr int kMisses = 8;
  std::optional<NodeIndex> first;
  int misses = 0;
  for (size_t left = among.Count(); left > 0;) {
    const NodeIndex drawn = among.Nth(absl::Uniform<size_t>(random_, 0, left));
    among.Clear(drawn);
    --left;
    if (may(nodes_.room(drawn))) {
      if (!first.has_value()) {
        first = drawn;
        continue;
      }
      return IsBetter(nodes_.node(drawn), nodes_.node(*first)) ? drawn : *first;
    }
    if (++misses == kMisses) {
      among.ForEach([&](NodeIndex node) {
        if (!may(nodes_.room(node))) among.Clear(node);
      });
      left = among.Count();
    }
  }
  return first;
}

std::optional<NodeIndex> Choice::TakeBetterOfTwo() {
  const auto takes = [this](const Room& room) { return Takes(room); };
  const auto starts = [this](const Room& room) { return StartsAtOnce(room); };
  const NodeSet* with = FindSet(nodes_.layers(), wish_.library);
  std::optional<NodeIndex> found;
  if (wish_.session) {
    const NodeSet room = fit_ & nodes_.take_sessions();
    if (with != nullptr) found = BetterOfTwo(room & *with, takes);
    return found.has_value() ? found : BetterOfTwo(room, takes);
  }
  const NodeSet free = fit_ & nodes_.free();
  if (with != nullptr) found = BetterOfTwo(free & *with, starts);
  if (!found.has_value()) found = BetterOfTwo(free, starts);
  if (found.has_value()) return found;
  const NodeSet room = fit_ & nodes_.take_runs();
  if (with != nullptr) found = BetterOfTwo(room & *with, takes);
  return found.has_value() ? found : BetterOfTwo(room, takes);
}

std::optional<NodeIndex> Choice::TakeFirst(uint64_t request_hash,
                                           bool& displaced) {
  struct Best {
    std::optional<NodeIndex> node;
    uint64_t weight = 0;
  };
  Best first;       // of all that are fit
  Best first_room;  // of those that take it
  const auto comes_before = [&](NodeIndex node, uint64_t weight,
                                const Best& best) {
    if (!best.node.has_value()) return true;
    if (weight != best.weight) return weight > best.weight;
    return nodes_.node(node).load.name < nodes_.node(*best.node).load.name;
  };
  fit_.ForEach([&](NodeIndex node) {
    const uint64_t weight = RendezvousWeight(nodes_.hash(node), request_hash);
    if (comes_before(node, weight, first)) first = {node, weight};
    if (comes_before(node, weight, first_room) && Takes(nodes_.room(node))) {
      first_room = {node, weight};
    }
  });
  displaced = first.node != first_room.node;
  return first_room.node;
}

}  // namespace

absl::StatusOr<Placed> Place(const Wish& wish, NodeTable& nodes,
                             server::MonotonicTime now, absl::BitGenRef random,
                             const std::vector<std::string>& excluded,
                             std::string_view secret) {
  if (wish.memory_bytes > kMaxBytes) return TooMuchMemory(wish);
  nodes.Expire(now);
  Choice choice(wish, nodes, random);
  if (!choice.FindFit(excluded)) {
    return NobodyIsFit(wish, nodes, excluded, random);
  }
  bool displaced = false;
  const std::optional<NodeIndex> found =
      wish.request_id.empty()
          ? choice.TakeBetterOfTwo()
          : choice.TakeFirst(RequestHash(secret, wish.tenant, wish.request_id),
                             displaced);
  if (!found.has_value()) return AllAreFull(wish, nodes, excluded, random);
  const Node& node = nodes.node(*found);
  Placed placed{
      .node = node.load.name,
      .instance = node.load.instance,
      .taken = {.session = wish.session, .memory_bytes = wish.memory_bytes},
      .waits = choice.Waits(*found),
      .has_library = choice.HasLibrary(*found),
      .displaced = displaced};
  nodes.Sent(*found, placed.taken, now);
  return placed;
}

}  // namespace sandglass::gateway
