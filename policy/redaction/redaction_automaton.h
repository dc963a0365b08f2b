#ifndef SANDGLASS_POLICY_REDACTION_REDACTION_AUTOMATON_H_
#define SANDGLASS_POLICY_REDACTION_REDACTION_AUTOMATON_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "policy/redaction/redaction_pattern.h"

namespace sandglass::policy {

// Several patterns in one automaton. Immutable.
class RedactionAutomaton {
 public:
  static constexpr size_t kMaxNodes = 8192;

  // INVALID_ARGUMENT: together they need more than kMaxNodes.
  static absl::StatusOr<RedactionAutomaton> Create(
      const std::vector<RedactionPattern>& patterns);

 private:
  friend class RedactionTracker;
  RedactionAutomaton() = default;
  void FindByteClasses();
  void FindBeginnings();

  std::vector<RedactionPattern::Node> nodes_;
  std::vector<uint32_t> pattern_of_;  // by node
  std::vector<RedactionPattern::ByteSet> sets_;
  std::vector<uint32_t> beginnings_;  // the nodes that accept a first byte
  std::array<bool, 256> begins_{};    // whether any of them accepts the byte
  // Bytes of the same class are in the same sets.
  std::array<uint8_t, 256> class_of_{};
  size_t class_count_ = 1;
};

// Follows a text through an automaton: it knows which beginnings of matches are
// open, meaning that they may still become a match or a longer one, and where
// matches end.
//
// The open nodes are in groups, one for each place in the text where a match
// may have begun, the earliest first. A node that is reached from two places
// belongs only to the earlier one: from there on both continue in the same way,
// and the match from the earlier place covers the other. The groups without
// their places are the states of a deterministic automaton. States that occur
// are kept with their transitions, up to a bound; then all are dropped and
// built again. A byte takes constant time if its transition is known; otherwise
// the time grows with the number of open nodes.
class RedactionTracker {
 public:
  // A match that ends directly after the last byte that was consumed.
  struct Match {
    uint64_t begin = 0;
    uint32_t pattern = 0;
  };

  // `automaton` has to outlive this object.
  explicit RedactionTracker(const RedactionAutomaton& automaton);

  // Consumes bytes up to and including the first one at which a match ends, and
  // returns their number. If several matches end there, `match` is the one that
  // begins first, and among those the one of the first pattern. nullopt: no
  // match has ended.
  size_t Feed(std::string_view data, std::optional<Match>& match);

  uint64_t taken() const { return taken_; }
  // Where the earliest open match begins; when none is open, the number of
  // bytes consumed.
  uint64_t first_open() const {
    return begins_.empty() ? taken_ : begins_.front();
  }
  // The first pattern that is open there. Precondition: a match is open.
  uint32_t first_open_pattern() const;
  // Closes all open beginnings, as at the end of the text.
  void Close();

 private:
  static constexpr size_t kMaxCachedBytes = size_t{1} << 20;
  static constexpr uint32_t kIdle = 0;  // the state in which nothing is open
  static constexpr uint32_t kEndOfGroup = UINT32_MAX;
  static constexpr uint32_t kNewGroup = UINT32_MAX;
  // Values in `table_`: states, and below zero -1 and -2 - index into `edges_`.
  static constexpr int32_t kUnknown = -1;

  // A transition that changes groups or at which a match ends.
  struct Edge {
    uint32_t target = kIdle;
    std::vector<uint32_t> from;  // for each new group the old one's index
    bool matches = false;
    uint32_t pattern = 0;
    uint32_t group = 0;  // the old group in which the match began
  };
  using Nodes = std::vector<uint32_t>;  // groups, each with kEndOfGroup

  const Edge& FindEdge(uint8_t byte);
  void FollowAll(uint8_t byte);
  void Follow(uint32_t node, uint32_t group);
  void EndGroup(size_t begin, uint32_t group);
  bool KeepsGroups() const;
  uint32_t StateOf(const Nodes& nodes);
  void Forget();
  void Apply(const Edge& edge, std::optional<Match>& match);

  const RedactionAutomaton& automaton_;
  uint64_t taken_ = 0;
  uint32_t state_ = kIdle;
  std::vector<uint64_t> begins_;  // where the state's groups begin

  std::vector<Nodes> states_;
  absl::flat_hash_map<Nodes, uint32_t> state_of_;
  std::vector<int32_t> table_;  // indexed by state and byte class
  std::vector<Edge> edges_;
  size_t cached_bytes_ = 0;

  // For the transition that is being computed.
  Edge edge_;
  Nodes next_;
  std::vector<uint32_t> seen_;  // by node: when it was last reached
  uint32_t now_ = 0;
  std::vector<uint32_t> to_do_;
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_REDACTION_REDACTION_AUTOMATON_H_
