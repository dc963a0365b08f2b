#ifndef SANDGLASS_POLICY_REDACTION_REDACTION_PATTERN_H_
#define SANDGLASS_POLICY_REDACTION_REDACTION_PATTERN_H_

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sandglass::policy {

// What is to be replaced in a program's output, as a regular expression over
// bytes. The syntax is a part of RE2's, with its meaning (in Latin-1 mode):
//
//   a .               itself; any byte but a newline
//   \. \n \t \r \f \v \xHH   a byte; any ASCII punctuation can be escaped
//   \d \w \s \D \W \S        ASCII digits, word characters, white space
//   [a-z_] [^\s"]            a class; "-" stands first or last, "]" escaped
//   ( ) (?: ) |              groups, which are the same here, and choices
//   ? * + {m} {m,n} {m,}     repeats, up to 1000 times
//   (?i)                     first of all: ASCII letters in either case
//
// All else is refused: anchors, \b, look-around, back references, lazy repeats
// (every match is redacted, so they would mean nothing), other flags, bytes
// outside ASCII (written \xHH).
class RedactionPattern {
 public:
  static constexpr size_t kMaxText = 1024;   // bytes
  static constexpr size_t kMaxNodes = 2048;  // a repeat has its part n times
  static constexpr size_t kMaxNesting = 32;

  // A step of the automaton that looks for the pattern. Steps that take no byte
  // may form circles.
  struct Node {
    enum class Kind : uint8_t {
      kBytes,  // takes a byte of sets()[set], goes to `next`
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
  // syntax, a pattern that matches the empty text or nothing at all, or one
  // beyond the bounds above.
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
