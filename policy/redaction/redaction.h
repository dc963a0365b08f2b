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

// How often each pattern was replaced, by name, in the order of the patterns;
// contains only those that were.
using RedactionCounts = std::vector<std::pair<std::string, uint64_t>>;

// Adds the counts of `more` to `counts`; new names are appended.
void AddCounts(const RedactionCounts& more, RedactionCounts& counts);

// Replaces what its patterns match by "[redacted:NAME]".
//
// Every byte of every match is replaced, not only of those matches that a
// search from left to right would find. Matches that overlap become one mark
// with the name of the one that begins first; if several do, of the longest; if
// those are equally long, of the one whose pattern comes first. Adjacent
// matches remain two marks.
//
// Immutable, so any number of threads may use it.
class Redactor {
 public:
  struct Pattern {
    std::string name;
    RedactionPattern pattern;
  };

  // INVALID_ARGUMENT: there are no patterns, or they are too big together. The
  // caller has to check the names.
  static absl::StatusOr<std::shared_ptr<const Redactor>> Create(
      std::vector<Pattern> patterns);

  const std::vector<Pattern>& patterns() const { return patterns_; }
  // Redacts a whole text, with the same result as a StreamRedactor. Adds to
  // `counts` unless it is null.
  std::string Redact(std::string_view text, RedactionCounts* counts) const;

 private:
  friend class StreamRedactor;
  Redactor(std::vector<Pattern> patterns, RedactionAutomaton automaton);

  std::vector<Pattern> patterns_;
  std::vector<std::string> marks_;
  RedactionAutomaton automaton_;
};

// Redacts a text that comes in pieces; how it is cut makes no difference to the
// output as a whole. It holds back the end of the text, from the place where a
// match may have begun that isn't decided yet. If that would be more than
// kMaxHeld bytes, they are replaced as if they had matched, and so is what
// follows until it can't become a match any more.
// Not thread-safe. Needs up to about 2 MiB for its tables.
class StreamRedactor {
 public:
  static constexpr uint64_t kMaxHeld = uint64_t{64} << 10;

  // Shares ownership of `redactor`, which isn't null.
  explicit StreamRedactor(std::shared_ptr<const Redactor> redactor);

  // Appends to `out` what is decided.
  void Write(std::string_view data, std::string& out);
  // Says that the text has ended: appends the rest. A Write after that begins a
  // new text.
  void Finish(std::string& out);

  // The counts for what was appended.
  RedactionCounts counts() const;

 private:
  friend class Redactor;
  explicit StreamRedactor(const Redactor& redactor);

  // A range of bytes, by their places in the text.
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

  const std::shared_ptr<const Redactor> owned_;  // null if made by Redact
  const Redactor& redactor_;
  RedactionTracker tracker_;
  std::deque<Covered> covered_;  // not yet written; disjoint and in order
  uint64_t released_ = 0;        // all before this was written
  std::string held_;             // the bytes from held_from_ to piece_from_
  uint64_t held_from_ = 0;
  std::string_view piece_;  // of the current call of Write
  uint64_t piece_from_ = 0;
  uint64_t check_at_ = kMaxHeld + 1;  // before this not too much can be held
  bool swallows_ = false;             // while swallows_from_ is open
  uint64_t swallows_from_ = 0;
  std::vector<uint64_t> counts_;  // by the pattern's index
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_REDACTION_REDACTION_H_
