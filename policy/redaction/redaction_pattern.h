#ifndef SANDGLASS_POLICY_REDACTION_REDACTION_PATTERN_H_
#define SANDGLASS_POLICY_REDACTION_REDACTION_PATTERN_H_

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sandglass::policy {

// Describes what is to be replaced in a program's output, as a regular
// expression over bytes. The syntax is a part of RE2's, with the same meaning
// (in Latin-1 mode):
//
//   a .               itself; any byte but a newline
//   \. \n \t \r \f \v \xHH   a byte; any ASCII punctuation can be escaped
//   \d \w \s \D \W \S        ASCII digits, word characters, white space
//   [a-z_] [^\s"]            a class; "-" is first or last, "]" is escaped
//   ( ) (?: ) |              groups, which are the same here, and choices
//   ? * + {m} {m,n} {m,}     repeats, up to 1000 times
//   (?i)                     only at the start: ASCII letters in either case
//
// Everything else is refused: anchors, \b, look-around, back references, lazy
// repeats (every match is redacted, so they would have no meaning), other
// flags, and bytes outside ASCII (which are written \xHH).
class RedactionPattern {
 public:
  static constexpr size_t kMaxText = 1024;   // bytes
  static constexpr size_t kMaxNodes = 2048;  // a repeat counts its part n times
  static constexpr size_t kMaxNesting = 32;

  // A step of the automaton that searches for the pattern. Steps that consume
  // no byte may form cycles.
  struct Node {
    enum class Kind : uint8_t {
      kBytes,  // consumes a byte of sets()[set], goes to `next`
      kSplit,  // goes to both `next` and `other`
      kMatch,  // the end; there is one
    };
    Kind kind = Kind::kMatch;
    uint32_t set = 0;
    uint32_t next = 0;
    uint32_t other = 0;
  };
  using ByteSet = std::bitset<256>;

  // INVALID_ARGUMENT says what is wrong and at which byte of `text`: bad
  // syntax, a pattern that matches the empty text or can't match anything, or
  // one beyond the bounds above.
  static absl::StatusOr<RedactionPattern> Compile(std::string_view text);

  const std::string& text() const { return text_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<ByteSet>& sets() const { return sets_; }  // none is empty
  uint32_t start() const { return start_; }

 private:
  friend class RedactionPatternBuilder;
  std::string text_;
  std::vector<Node> nodes_;
  std::vector<ByteSet> sets_;
  uint32_t start_ = 0;
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_REDACTION_REDACTION_PATTERN_H_
