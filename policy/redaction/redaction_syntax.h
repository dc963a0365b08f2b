#ifndef SANDGLASS_POLICY_REDACTION_REDACTION_SYNTAX_H_
#define SANDGLASS_POLICY_REDACTION_REDACTION_SYNTAX_H_

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sandglass::policy {

// A part of a parsed redaction pattern; redaction_pattern.h describes the
// syntax.
struct RedactionSyntax {
  enum class Kind : uint8_t { kBytes, kSequence, kChoice, kRepeat };
  Kind kind = Kind::kSequence;
  std::bitset<256> bytes;              // kBytes; not empty
  std::vector<RedactionSyntax> parts;  // one for kRepeat
  uint32_t min = 0;                    // kRepeat
  std::optional<uint32_t> max;         // kRepeat; not 0; absent: any

  // Whether it matches the empty text.
  bool MayBeEmpty() const;
  // The number of automaton steps that it needs, or `bound` when it needs more.
  size_t NodeCount(size_t bound) const;
};

// INVALID_ARGUMENT says what is wrong and at which byte of `text`. Of the
// bounds only those of the text's size and of nesting are checked.
absl::StatusOr<RedactionSyntax> ParseRedaction(std::string_view text);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_REDACTION_REDACTION_SYNTAX_H_
