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

// Several patterns as one automaton. Never changes once it is made.
class RedactionAutomaton {
 public:
  static constexpr size_t kMaxNodes = 8192;

  // INVALID_ARGUMENT: together they have more than kMaxNodes.
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
  std::vector<uint32_t> beginnings_;  // the nodes that take a first byte
  std::array<bool, 256> begins_{};    // whether any of them takes the byte
  // Bytes of one class are in the same sets.
  std::array<uint8_t, 256> class_of_{};
  size_t class_count_ = 1;
};

// Follows one text through an automaton: which beginnings of matches are open,
// that is may still become one or become longer, and where matches end.
//
// The nodes that are open stand in groups, one for each place in the text where
// they began, the earliest first. A node that is reached from two places
// belongs to the earlier one alone: from there on both go the same way, and the
// match from the earlier place covers the other. Groups without their places
// are the states of a deterministic automaton; those that occur are kept with
// their transitions, up to a bound, then all are forgotten and made again. A
// byte takes constant time where its transition is known, else time that grows
// with the number of open nodes.
class RedactionTracker {
 public:
  // A match that ends behind the last byte that was taken.
  struct Match {
    uint64_t begin = 0;
    uint32_t pattern = 0;
  };

  // `automaton` outlives this.
  explicit RedactionTracker(const RedactionAutomaton& automaton);

  // Takes bytes up to and with the first at which a match ends, and returns how
  // many. Of several matches that end there `match` is the one that begins
  // first, of those the one of the first pattern; none: nullopt.
  size_t Take(std::string_view data, std::optional<Match>& match);

  uint64_t taken() const { return taken_; }
  // Where the first open beginning is; without one all that was taken.
  uint64_t first_open() const {
    return begins_.empty() ? taken_ : begins_.front();
  }
  // The first pattern that is open there. Precondition: there is one.
  uint32_t first_open_pattern() const;
  // Nothing is open any more, as at the text's end.
  void Close();

 private:
  static constexpr size_t kMostCachedBytes = size_t{1} << 20;
  static constexpr uint32_t kIdle = 0;  // the state in which nothing is open
  static constexpr uint32_t kEndOfGroup = UINT32_MAX;
  static constexpr uint32_t kNewGroup = UINT32_MAX;
  // In `table_`: states, below them -1 and -2 - index into `edges_`.
  static constexpr int32_t kUnknown = -1;

  // A transition after which groups are others or a match has ended.
  struct Edge {
    uint32_t target = kIdle;
    std::vector<uint32_t> from;  // of each new group the old one's index
    bool matches = false;
    uint32_t pattern = 0;
    uint32_t group = 0;  // old, in which the match began
  };
  using Nodes = std::vector<uint32_t>;  // groups, each with an end

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
  std::vector<uint64_t> begins_;  // of the state's groups

  std::vector<Nodes> states_;
  absl::flat_hash_map<Nodes, uint32_t> state_of_;
  std::vector<int32_t> table_;  // by state and byte class
  std::vector<Edge> edges_;
  size_t cached_bytes_ = 0;

  // Of the transition that is being made.
  Edge edge_;
  Nodes next_;
  std::vector<uint32_t> seen_;  // by node: when it was reached last
  uint32_t now_ = 0;
  std::vector<uint32_t> to_do_;
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_REDACTION_REDACTION_AUTOMATON_H_
