#ifndef SANDGLASS_POLICY_VERDICT_HINTS_H_
#define SANDGLASS_POLICY_VERDICT_HINTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/limits/limits.h"
#include "policy/verdict/verdict.h"

namespace sandglass::policy {

// A plain sentence that helps the author of the program.
struct Hint {
  std::string id;  // stable, for example "network-off"
  std::string message;
  friend bool operator==(const Hint&, const Hint&) = default;
};

// What a profile offers to a program that lacks a library.
enum class LibraryOffer {
  kNothing,
  kToOthers,  // to programs in other languages
  kToIt,
};

// The facts from which hints are derived. Texts may be any bytes; only the last
// kHintScanBytes of each are examined.
struct HintFacts {
  Outcome outcome = Outcome::kOk;
  std::vector<LimitKind> limits;  // that it met, whether or not one decided
  // The end of what the program wrote to stderr, and of an error's traceback.
  std::string_view stderr_tail;
  std::string_view stdout_tail;
  bool stdin_given = false;       // the request had at least a byte of stdin
  bool output_truncated = false;  // of either stream
  bool files_left_out = false;    // more files matched than were examined
  bool compiling = false;         // all this is about the compile phase
  bool uncharged = false;         // the limit was only about kernel memory
  bool has_network = false;       // the profile lets it reach some hosts
  LibraryOffer libraries = LibraryOffer::kNothing;
  // Of a run that shows neither values nor figures and keeps no files; else
  // empty: the language's id, the program's text, whether the request fetches
  // files, and how many it left in /workspace if not.
  std::string_view language;
  std::string_view source;
  bool fetches = false;
  uint64_t files_lost = 0;
};

inline constexpr size_t kHintScanBytes = size_t{16} << 10;

// Sets what a verdict says: the outcome and the limits.
void TakeVerdict(const Verdict& verdict, HintFacts& facts);

// Returns hints in a fixed order, each id at most once. A pure function.
// Messages are ASCII and contain from the program's text at most a name of
// harmless characters, so they are safe to print. There are none for runs that
// ended for reasons on our side (CANCELLED, SHUTDOWN, JAIL_FAILED).
//
// Ids: memory, timeout, cpu-share, cpu-time, pids, output-limit,
// output-truncated, files-left-out, disk-full, file-size, open-files,
// network-off, read-only-root, packages, missing-module, missing-command,
// no-terminal, no-file-watch, stdin-empty, stdin-ended, figure-unseen,
// files-lost, value-unseen.
std::vector<Hint> MakeHints(const HintFacts& facts);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_VERDICT_HINTS_H_
