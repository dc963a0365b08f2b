#ifndef SANDGLASS_POLICY_VERDICT_HINTS_H_
#define SANDGLASS_POLICY_VERDICT_HINTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "policy/verdict/verdict.h"

namespace sandglass::policy {

// A plain sentence that helps the author of the program.
struct Hint {
  std::string id;  // stable, for example "network-off"
  std::string message;
  friend bool operator==(const Hint&, const Hint&) = default;
};

// The facts from which hints are derived.
struct HintFacts {
  Outcome outcome;
  // The end of what the program wrote to stderr, as any bytes. Only the last
  // kHintScanBytes are examined.
  std::string_view stderr_tail;
  bool stdin_given = false;       // the request had at least a byte of stdin
  bool output_truncated = false;  // of either stream
  bool files_left_out = false;    // more files matched than were examined
  bool compiling = false;         // all this is about the compile phase
  bool uncharged = false;         // the limit was only about kernel memory
  bool has_network = false;       // the profile lets it reach some hosts
};

inline constexpr size_t kHintScanBytes = 4096;

// Returns hints in a fixed order, each id at most once. A pure function.
// Messages are ASCII and contain from the program's text at most a name of
// harmless characters, so they are safe to print. There are none for runs that
// ended for reasons on our side (CANCELLED, SHUTDOWN, JAIL_FAILED).
//
// Ids: memory, timeout, cpu-time, pids, output-limit, output-truncated,
// files-left-out, disk-full, file-size, open-files, network-off,
// read-only-root, missing-module, missing-command, no-terminal, no-file-watch,
// stdin-empty, stdin-ended.
std::vector<Hint> MakeHints(const HintFacts& facts);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_VERDICT_HINTS_H_
