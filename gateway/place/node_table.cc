#include "gateway/place/node_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gateway/place/rendezvous.h"

namespace sandglass::gateway {
namespace {

using server::MonotonicTime;

// Every figure of a report is within kMaxCount or kMaxBytes.
int64_t Signed(uint64_t figure) { return static_cast<int64_t>(figure); }

// Takes the node out of the sets of what it has no more, and puts it into those
// of what it has now. Of new keys at most `max_keys` are remembered.
void IndexNames(NodeIndex node, const Names& before, const Names& after,
                size_t max_keys, NodeTable::Index& index) {
  if (before == after) return;
  for (const std::string& name : before) {
    if (after.count(name) != 0) continue;
    const auto it = index.find(name);
    if (it == index.end()) continue;
    it->second.Clear(node);
    if (it->second.empty()) index.erase(it);
  }
  // Also what it had before: there may have been no room for it then.
  for (const std::string& name : after) {
    const auto it = index.find(name);
    if (it != index.end()) {
      it->second.Set(node);
    } else if (index.size() < max_keys) {
      index[name].Set(node);
    }
  }
}

}  // namespace

int64_t NodeTable::Node::free_slots() const {
  return Signed(load.max_running) - Signed(runs());
}

int64_t NodeTable::Node::queue_room() const {
  // Without slots nothing that waits would ever start.
  if (load.max_running == 0) return 0;
  return free_slots() + Signed(load.max_queued);
}

int64_t NodeTable::Node::run_memory() const {
  const int64_t reserved =
      Signed(load.memory_reserved) + since.sum().run_memory;
  return Signed(load.memory_budget) - std::max<int64_t>(reserved, 0);
}

int64_t NodeTable::Node::session_room() const {
  const int64_t sessions = Signed(load.sessions) + since.sum().sessions;
  return Signed(load.max_sessions) - std::max<int64_t>(sessions, 0);
}

int64_t NodeTable::Node::session_memory() const {
  return Signed(load.session_memory_left) - since.sum().session_memory;
}

uint64_t NodeTable::Node::runs() const {
  const int64_t runs =
      Signed(load.running) + Signed(load.queued) + since.sum().runs;
  return static_cast<uint64_t>(std::max<int64_t>(runs, 0));
}

uint64_t NodeTable::Node::warm_jails(std::string_view language) const {
  const auto it = load.warm_jails.find(language);
  return it == load.warm_jails.end() ? 0 : it->second;
}

absl::Status NodeTable::CheckIsNews(const Node& known,
                                    const NodeLoad& load) const {
  if (load.heard < known.load.heard || load.as_of < known.load.as_of) {
    return absl::OutOfRangeError(
        absl::StrCat("the report of node ", load.name,
                     " is older than one that came before it"));
  }
  if (load.instance != known.load.instance && !known.lost &&
      server::Between(known.load.as_of, load.as_of) < kSilentAfter) {
    return absl::AlreadyExistsError(absl::StrCat(
        "there are two nodes with the name ", load.name,
        ": give one of them another; a node that was started again is taken "
        "in once nothing has been heard of its former self for ",
        absl::FormatDuration(kSilentAfter)));
  }
  return absl::OkStatus();
}

NodeIndex NodeTable::MakeRoom(const NodeLoad& load) {
  NodeIndex index = 0;
  if (unused_.empty()) {
    index = static_cast<NodeIndex>(nodes_.size());
    nodes_.emplace_back();
    rooms_.emplace_back();
    hashes_.emplace_back();
  } else {
    index = unused_.back();
    unused_.pop_back();
  }
  nodes_[index] = std::make_unique<Node>();
  hashes_[index] = NodeHash(load.name);
  by_name_[load.name] = index;
  return index;
}

absl::Status NodeTable::Report(NodeLoad load) {
  absl::Status status = CheckNodeLoad(load);
  if (!status.ok()) return status;
  const auto found = by_name_.find(load.name);
  if (found != by_name_.end()) {
    status = CheckIsNews(*nodes_[found->second], load);
    if (!status.ok()) return status;
  } else if (by_name_.size() >= kMaxNodes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("node ", load.name, " is one more than the ", kMaxNodes,
                     " that a gateway can have"));
  }
  const NodeIndex index =
      found != by_name_.end() ? found->second : MakeRoom(load);
  Node& node = *nodes_[index];
  heard_.erase({node.load.as_of, index});
  IndexOffers(index, node.load.offers, load.offers);
  // What a former self had been sent went down with it.
  if (load.instance != node.load.instance) node.since = SentSince();
  node.since.Reported(load.as_of);
  node.load = std::move(load);
  node.lost = false;
  heard_.emplace(node.load.as_of, index);
  there_.Put(index, !node.load.draining);
  Refresh(index);
  return absl::OkStatus();
}

void NodeTable::IndexOffers(NodeIndex node, const NodeOffers& before,
                            const NodeOffers& after) {
  IndexNames(node, before.languages, after.languages, kMaxNames, languages_);
  IndexNames(node, before.profiles, after.profiles, kMaxNames, profiles_);
  IndexNames(node, before.images, after.images, kMaxNames, images_);
  IndexNames(node, before.layers, after.layers, kMaxLayers, layers_);
}

void NodeTable::Refresh(NodeIndex index) {
  const Node& node = *nodes_[index];
  const Room room = {.free_slots = node.free_slots(),
                     .queue_room = node.queue_room(),
                     .run_memory = node.run_memory(),
                     .memory_budget = Signed(node.load.memory_budget),
                     .session_room = node.session_room(),
                     .session_memory = node.session_memory()};
  rooms_[index] = room;
  free_.Put(index, room.free_slots > 0);
  take_runs_.Put(index, room.queue_room > 0);
  take_sessions_.Put(index, room.session_room > 0);
}

void NodeTable::Lost(std::string_view name) {
  const auto it = by_name_.find(name);
  if (it == by_name_.end()) return;
  nodes_[it->second]->lost = true;
  there_.Clear(it->second);
}

void NodeTable::Forget(std::string_view name) {
  const auto it = by_name_.find(name);
  if (it == by_name_.end()) return;
  const NodeIndex index = it->second;
  IndexOffers(index, nodes_[index]->load.offers, {});
  heard_.erase({nodes_[index]->load.as_of, index});
  for (NodeSet* set : {&there_, &free_, &take_runs_, &take_sessions_}) {
    set->Clear(index);
  }
  nodes_[index].reset();
  unused_.push_back(index);
  by_name_.erase(it);
}

void NodeTable::Sent(NodeIndex index, const Taken& taken, MonotonicTime now) {
  nodes_[index]->since.Sent(taken, now);
  Refresh(index);
}

void NodeTable::Ended(std::string_view name, std::string_view instance,
                      const Taken& taken, MonotonicTime now) {
  const auto it = by_name_.find(name);
  if (it == by_name_.end()) return;
  Node& node = *nodes_[it->second];
  if (node.load.instance != instance) return;
  node.since.Ended(taken, now);
  Refresh(it->second);
}

void NodeTable::Expire(MonotonicTime now) {
  while (!heard_.empty() &&
         server::Between(heard_.begin()->first, now) > kSilentAfter) {
    there_.Clear(heard_.begin()->second);
    heard_.erase(heard_.begin());
  }
}

const NodeTable::Node* NodeTable::Find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : nodes_[it->second].get();
}

}  // namespace sandglass::gateway
