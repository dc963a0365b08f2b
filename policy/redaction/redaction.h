#ifndef SANDGLASS_POLICY_REDACTION_REDACTION_H_
#define SANDGLASS_POLICY_REDACTION_REDACTION_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/redaction/redaction_automaton.h"
#include "policy/redaction/redaction_pattern.h"

namespace sandglass::policy {

// How often each pattern was replaced, by name, in the patterns' order; only
// those that were.
using RedactionCounts = std::vector<std::pair<std::string, uint64_t>>;

// Adds the counts of `more` to `counts`; new names go to the end.
void AddCounts(const RedactionCounts& more, RedactionCounts& counts);

// Replaces what matches its patterns by "[redacted:NAME]".
//
// Every byte of every match is replaced, not only of those that a search from
// left to right would find: matches that overlap become one mark, which is
// named after the one that begins first, of several the longest, of those the
// one whose pattern stands first. Matches that touch stay two.
//
// Never changes once it is made; any number of threads may use it.
class Redactor {
 public:
  struct Pattern {
    std::string name;
    RedactionPattern pattern;
  };

  // INVALID_ARGUMENT: there are no patterns, or they are too big together.
  // Names are the caller's to check.
  static absl::StatusOr<std::shared_ptr<const Redactor>> Create(
      std::vector<Pattern> patterns);

  const std::vector<Pattern>& patterns() const { return patterns_; }
  // A text as a whole, as a StreamRedactor would do it. Adds to `counts`
  // unless it is null.
  std::string Redact(std::string_view text, RedactionCounts* counts) const;

 private:
  friend class StreamRedactor;
  Redactor(std::vector<Pattern> patterns, RedactionAutomaton automaton);

  std::vector<Pattern> patterns_;
  std::vector<std::string> marks_;
  RedactionAutomaton automaton_;
};

// Redacts a text that comes in pieces; how it is cut makes no difference to
// what comes out altogether. Held back is the end of the text from where a
// match may have begun that isn't decided yet. What would have to hold more
// than kMostHeld bytes back is replaced as if it had matched, and so is what
// follows until it can't become a match any more.
// One thread at a time. Takes up to about 2 MiB for its tables.
class StreamRedactor {
 public:
  static constexpr uint64_t kMostHeld = uint64_t{64} << 10;

  // Keeps `redactor`, which isn't null.
  explicit StreamRedactor(std::shared_ptr<const Redactor> redactor);

  // Appends to `out` what can be told.
  void Write(std::string_view data, std::string& out);
  // No more comes: appends the rest. A Write after that begins a new text.
  void Finish(std::string& out);

  // Of what was appended.
  RedactionCounts counts() const;

 private:
  friend class Redactor;
  explicit StreamRedactor(const Redactor& redactor);

  // Bytes by their place in the text.
  struct Covered {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t pattern = 0;
  };

  void Cover(uint64_t begin, uint32_t pattern);
  uint64_t HeldFrom() const;
  void CheckHeld(std::string& out);
  void Release(uint64_t limit, std::string& out);
  void AppendText(uint64_t begin, uint64_t end, std::string& out) const;

  const std::shared_ptr<const Redactor> owned_;  // null for Redact
  const Redactor& redactor_;
  RedactionTracker tracker_;
  std::deque<Covered> covered_;  // not yet told; apart and in order
  uint64_t released_ = 0;        // up to here all is told
  std::string held_;             // the bytes from held_from_ to piece_from_
  uint64_t held_from_ = 0;
  std::string_view piece_;  // of the Write that is going on
  uint64_t piece_from_ = 0;
  uint64_t check_at_ = kMostHeld + 1;  // no sooner can too much be held
  bool swallows_ = false;              // while swallows_from_ is open
  uint64_t swallows_from_ = 0;
  std::vector<uint64_t> counts_;  // by pattern
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_REDACTION_REDACTION_H_
