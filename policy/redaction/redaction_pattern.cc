#include "policy/redaction/redaction_pattern.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "policy/redaction/redaction_syntax.h"

namespace sandglass::policy {

// Thompson's construction, from the end to the front: each part is built for
// the node that follows it.
class RedactionPatternBuilder {
 public:
  explicit RedactionPatternBuilder(RedactionPattern& pattern)
      : pattern_(pattern) {}

  void Build(const RedactionSyntax& syntax) {
    pattern_.nodes_ = {{}};  // the match
    pattern_.start_ = Add(syntax, 0);
  }

 private:
  using Node = RedactionPattern::Node;
  using Kind = RedactionSyntax::Kind;

  // Returns the node at which the part begins.
  uint32_t Add(const RedactionSyntax& part, uint32_t next) {
    switch (part.kind) {
      case Kind::kBytes:
        return AddNode({Node::Kind::kBytes, SetIndex(part.bytes), next, 0});
      case Kind::kSequence:
        for (auto piece = part.parts.rbegin(); piece != part.parts.rend();
             ++piece) {
          next = Add(*piece, next);
        }
        return next;
      case Kind::kChoice: {
        uint32_t begin = Add(part.parts.back(), next);
        for (auto piece = std::next(part.parts.rbegin());
             piece != part.parts.rend(); ++piece) {
          begin = AddSplit(Add(*piece, next), begin);
        }
        return begin;
      }
      case Kind::kRepeat:
        return AddRepeat(part, next);
    }
    return next;
  }

  uint32_t AddRepeat(const RedactionSyntax& repeat, uint32_t next) {
    const RedactionSyntax& part = repeat.parts[0];
    uint32_t begin = next;
    uint32_t copies = repeat.min;
    if (repeat.max) {
      // From each of the optional copies there is a way to the end.
      for (uint32_t i = repeat.min; i < *repeat.max; ++i) {
        begin = AddSplit(Add(part, begin), next);
      }
    } else {
      const uint32_t again = AddSplit(next, next);
      begin = Add(part, again);
      pattern_.nodes_[again].next = begin;
      if (repeat.min == 0) begin = again;
      copies = std::max(copies, 1u) - 1;
    }
    for (uint32_t i = 0; i < copies; ++i) begin = Add(part, begin);
    return begin;
  }

  uint32_t AddSplit(uint32_t next, uint32_t other) {
    return AddNode({Node::Kind::kSplit, 0, next, other});
  }

  uint32_t AddNode(Node node) {
    pattern_.nodes_.push_back(node);
    return static_cast<uint32_t>(pattern_.nodes_.size() - 1);
  }

  uint32_t SetIndex(const RedactionPattern::ByteSet& set) {
    auto& sets = pattern_.sets_;
    const auto found = std::find(sets.begin(), sets.end(), set);
    const auto index = static_cast<uint32_t>(found - sets.begin());
    if (found == sets.end()) sets.push_back(set);
    return index;
  }

  RedactionPattern& pattern_;
};

absl::StatusOr<RedactionPattern> RedactionPattern::Compile(
    std::string_view text) {
  absl::StatusOr<RedactionSyntax> syntax = ParseRedaction(text);
  if (!syntax.ok()) return syntax.status();
  if (syntax->MayBeEmpty()) {
    return absl::InvalidArgumentError(
        "the pattern matches the empty text, which is everywhere");
  }
  // One more, for the node of the match.
  if (syntax->NodeCount(kMaxNodes) + 1 > kMaxNodes) {
    return absl::InvalidArgumentError(
        absl::StrCat("with its repeats written out the pattern has more than ",
                     kMaxNodes, " steps; use smaller numbers in { }"));
  }
  RedactionPattern pattern;
  pattern.text_ = std::string(text);
  RedactionPatternBuilder(pattern).Build(*syntax);
  return pattern;
}

}  // namespace sandglass::policy
