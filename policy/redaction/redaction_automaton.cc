#include "policy/redaction/redaction_automaton.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sandglass::policy {

using Node = RedactionPattern::Node;

absl::StatusOr<RedactionAutomaton> RedactionAutomaton::Create(
    const std::vector<RedactionPattern>& patterns) {
  RedactionAutomaton all;
  for (size_t i = 0; i < patterns.size(); ++i) {
    const RedactionPattern& pattern = patterns[i];
    if (all.nodes_.size() + pattern.nodes().size() > kMaxNodes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "with their repeats written out the patterns have more than ",
          kMaxNodes, " steps together"));
    }
    const auto first_node = static_cast<uint32_t>(all.nodes_.size());
    const auto first_set = static_cast<uint32_t>(all.sets_.size());
    for (Node node : pattern.nodes()) {
      node.next += first_node;
      node.other += first_node;
      node.set += first_set;
      all.nodes_.push_back(node);
      all.pattern_of_.push_back(static_cast<uint32_t>(i));
    }
    all.sets_.insert(all.sets_.end(), pattern.sets().begin(),
                     pattern.sets().end());
    all.beginnings_.push_back(first_node + pattern.start());
  }
  all.FindByteClasses();
  all.FindBeginnings();
  return all;
}

void RedactionAutomaton::FindByteClasses() {
  for (const RedactionPattern::ByteSet& set : sets_) {
    std::map<std::pair<uint8_t, bool>, uint8_t> classes;
    for (size_t byte = 0; byte < class_of_.size(); ++byte) {
      const auto fresh = static_cast<uint8_t>(classes.size());
      class_of_[byte] = classes.try_emplace({class_of_[byte], set[byte]}, fresh)
                            .first->second;
    }
    class_count_ = classes.size();
  }
}

void RedactionAutomaton::FindBeginnings() {
  std::vector<bool> seen(nodes_.size());
  std::vector<uint32_t> to_do = std::move(beginnings_);
  beginnings_.clear();
  while (!to_do.empty()) {
    const uint32_t at = to_do.back();
    to_do.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    const Node& node = nodes_[at];
    if (node.kind == Node::Kind::kSplit) {
      to_do.push_back(node.next);
      to_do.push_back(node.other);
    } else if (node.kind == Node::Kind::kBytes) {
      beginnings_.push_back(at);
      for (size_t byte = 0; byte < begins_.size(); ++byte) {
        begins_[byte] = begins_[byte] || sets_[node.set][byte];
      }
    }
  }
}

RedactionTracker::RedactionTracker(const RedactionAutomaton& automaton)
    : automaton_(automaton), seen_(automaton.nodes_.size()) {
  Forget();
}

size_t RedactionTracker::Feed(std::string_view data,
                              std::optional<Match>& match) {
  match.reset();
  const size_t width = automaton_.class_count_;
  size_t at = 0;
  while (at < data.size()) {
    const auto byte = static_cast<uint8_t>(data[at]);
    if (state_ == kIdle && !automaton_.begins_[byte]) {
      ++at;
      ++taken_;
      continue;
    }
    const int32_t next = table_[state_ * width + automaton_.class_of_[byte]];
    ++at;
    ++taken_;
    if (next >= 0) {
      state_ = static_cast<uint32_t>(next);
      continue;
    }
    Apply(next == kUnknown ? FindEdge(byte)
                           : edges_[static_cast<size_t>(-2 - next)],
          match);
    if (match) break;
  }
  return at;
}

uint32_t RedactionTracker::first_open_pattern() const {
  uint32_t first = UINT32_MAX;
  for (const uint32_t node : states_[state_]) {
    if (node == kEndOfGroup) break;
    first = std::min(first, automaton_.pattern_of_[node]);
  }
  return first;
}

void RedactionTracker::Close() {
  state_ = kIdle;
  begins_.clear();
}

void RedactionTracker::Apply(const Edge& edge, std::optional<Match>& match) {
  const uint64_t last = taken_ - 1;
  if (edge.matches) {
    match = {edge.group == kNewGroup ? last : begins_[edge.group],
             edge.pattern};
  }
  // Old groups only ever move towards the front.
  const size_t count = edge.from.size();
  if (begins_.size() < count) begins_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    begins_[i] = edge.from[i] == kNewGroup ? last : begins_[edge.from[i]];
  }
  begins_.resize(count);
  state_ = edge.target;
}

// The transition of the current state for `byte`; it is kept if there is room.
const RedactionTracker::Edge& RedactionTracker::FindEdge(uint8_t byte) {
  FollowAll(byte);
  if (cached_bytes_ > kMaxCachedBytes) {
    Forget();
    edge_.target = StateOf(next_);
    return edge_;
  }
  edge_.target = StateOf(next_);
  int32_t& entry =
      table_[state_ * automaton_.class_count_ + automaton_.class_of_[byte]];
  if (KeepsGroups()) {
    entry = static_cast<int32_t>(edge_.target);
  } else {
    entry = -2 - static_cast<int32_t>(edges_.size());
    edges_.push_back(edge_);
    cached_bytes_ += sizeof(Edge) + edge_.from.size() * sizeof(uint32_t);
  }
  return edge_;
}

// Sets `next_` and everything in `edge_` except its target.
void RedactionTracker::FollowAll(uint8_t byte) {
  edge_ = {};
  next_.clear();
  if (++now_ == 0) {
    std::fill(seen_.begin(), seen_.end(), 0);
    now_ = 1;
  }
  const auto step = [&](uint32_t at, uint32_t group) {
    const Node& node = automaton_.nodes_[at];
    if (automaton_.sets_[node.set][byte]) Follow(node.next, group);
  };
  uint32_t group = 0;
  size_t begin = 0;
  for (const uint32_t node : states_[state_]) {
    if (node != kEndOfGroup) {
      step(node, group);
      continue;
    }
    EndGroup(begin, group++);
    begin = next_.size();
  }
  for (const uint32_t node : automaton_.beginnings_) step(node, kNewGroup);
  EndGroup(begin, kNewGroup);
}

// Adds to `next_` what can be reached from `node` without consuming a byte.
void RedactionTracker::Follow(uint32_t node, uint32_t group) {
  to_do_.push_back(node);
  while (!to_do_.empty()) {
    const uint32_t at = to_do_.back();
    to_do_.pop_back();
    if (std::exchange(seen_[at], now_) == now_) continue;
    switch (automaton_.nodes_[at].kind) {
      case Node::Kind::kBytes:
        next_.push_back(at);
        break;
      case Node::Kind::kSplit:
        to_do_.push_back(automaton_.nodes_[at].next);
        to_do_.push_back(automaton_.nodes_[at].other);
        break;
      case Node::Kind::kMatch: {
        const uint32_t pattern = automaton_.pattern_of_[at];
        if (!edge_.matches ||
            (edge_.group == group && pattern < edge_.pattern)) {
          edge_.matches = true;
          edge_.pattern = pattern;
          edge_.group = group;
        }
        break;
      }
    }
  }
}

void RedactionTracker::EndGroup(size_t begin, uint32_t group) {
  if (next_.size() == begin) return;
  std::sort(next_.begin() + static_cast<ptrdiff_t>(begin), next_.end());
  next_.push_back(kEndOfGroup);
  edge_.from.push_back(group);
}

bool RedactionTracker::KeepsGroups() const {
  if (edge_.matches || edge_.from.size() != begins_.size()) return false;
  for (size_t i = 0; i < edge_.from.size(); ++i) {
    if (edge_.from[i] != i) return false;
  }
  return true;
}

uint32_t RedactionTracker::StateOf(const Nodes& nodes) {
  const auto [found, fresh] =
      state_of_.try_emplace(nodes, static_cast<uint32_t>(states_.size()));
  if (fresh) {
    states_.push_back(nodes);
    table_.resize(table_.size() + automaton_.class_count_, kUnknown);
    cached_bytes_ += 2 * (sizeof(Nodes) + nodes.size() * sizeof(uint32_t)) +
                     automaton_.class_count_ * sizeof(int32_t);
  }
  return found->second;
}

void RedactionTracker::Forget() {
  states_.clear();
  state_of_.clear();
  table_.clear();
  edges_.clear();
  cached_bytes_ = 0;
  StateOf({});  // kIdle
}

}  // namespace sandglass::policy
