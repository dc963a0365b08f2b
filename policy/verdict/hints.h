#ifndef SANDGLASS_POLICY_VERDICT_HINTS_H_
#define SANDGLASS_POLICY_VERDICT_HINTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "policy/verdict/verdict.h"

namespace sandglass::policy {

// A plain sentence that helps the program's author.
struct Hint {
  std::string id;  // stable, for example "network-off"
  std::string message;
  friend bool operator==(const Hint&, const Hint&) = default;
};

// What hints are drawn from.
struct HintFacts {
  Outcome outcome;
  // End of what the program wrote to stderr: any bytes. Only the last
  // kHintScanBytes are looked at.
  std::string_view stderr_tail;
  bool stdin_given = false;       // the request had a byte of stdin
  bool output_truncated = false;  // of either stream
  bool files_left_out = false;    // more matched than were looked at
  bool compiling = false;         // all of it is about the compile phase
  bool uncharged = false;         // the limit was one of kernel memory alone
  bool has_network = false;       // its profile lets it reach some hosts
};

inline constexpr size_t kHintScanBytes = 4096;

// Hints in a fixed order, each id at most once. Pure. Messages are ASCII and
// carry of the program's text at most a name of harmless characters, so they
// are safe to print. None for runs that ended for reasons of ours (CANCELLED,
// SHUTDOWN, JAIL_FAILED).
//
// Ids: memory, timeout, cpu-time, pids, output-limit, output-truncated,
// files-left-out,
// disk-full, file-size, open-files, network-off, read-only-root,
// missing-module, missing-command, stdin-empty, stdin-ended.
std::vector<Hint> MakeHints(const HintFacts& facts);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_VERDICT_HINTS_H_
