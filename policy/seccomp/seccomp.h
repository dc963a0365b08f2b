#ifndef SANDGLASS_POLICY_SECCOMP_SECCOMP_H_
#define SANDGLASS_POLICY_SECCOMP_SECCOMP_H_

#include <linux/filter.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sandglass::policy {

// A compiled classic BPF program for seccomp(2), ready to install.
using BpfProgram = std::vector<sock_filter>;

// A system call policy: named sets of rules with reasons, read from JSON files
// (with comments) in policy/data/seccomp/. Calls that no rule names get ENOSYS,
// named dangerous calls EPERM, foreign architectures and x32 numbers ENOSYS. No
// call is answered with a kill, because lists of calls to kill for become
// outdated with updates of libc.
//
// All rules for one call are in one set. The first rule whose tests hold
// decides; the last one has no tests, so that the answer for every call is
// written down.
class SeccompPolicy {
 public:
  // Reads `directory`/`name`.json and the sets that it includes,
  // `directory`/sets/<set>.json; then the additions,
  // `directory`/additions/<addition>.json. Each addition replaces everything
  // that the policy says about the calls that it names (seccomp_additions.h).
  // INVALID_ARGUMENT, with file and JSON pointer of each problem; NOT_FOUND: a
  // file is missing.
  static absl::StatusOr<SeccompPolicy> Load(
      const std::string& directory, const std::string& name,
      const std::vector<std::string>& additions = {});

  // Compiles for this architecture to a binary tree over the call numbers.
  // Takes about 0.1 ms. RESOURCE_EXHAUSTED: the result exceeds the kernel's
  // 4096 instructions.
  absl::StatusOr<BpfProgram> Compile() const;

  // The call has no effect and succeeds.
  static constexpr int kIgnored = -1;

  // Holds if (argument & mask) op value, compared as unsigned 64-bit numbers.
  // For an int argument the mask has no bit above 31, since the kernel ignores
  // those bits.
  struct ArgumentTest {
    unsigned index;  // 0–5
    std::string op;  // "==", "!=", "<", "<=", ">", ">="
    uint64_t value;  // no bit outside mask
    uint64_t mask;   // not 0
  };
  struct Rule {
    std::string syscall;
    int number;  // on this architecture
    int error;   // 0: allow; kIgnored; else the errno to fail with
    std::vector<ArgumentTest> tests;  // all must hold; empty: always
    std::string reason;
    std::string set;  // where it was read; of an addition "additions/<name>"
  };
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  std::vector<Rule> rules_;
};

// Runs a filter as the kernel would, with instruction pointer 0; for tests.
// Returns the SECCOMP_RET_* action with its data. INVALID_ARGUMENT: a program
// that the kernel would not install, wherever its fault is (unknown
// instruction, a load outside of seccomp_data, a jump out of range, an end
// without return, scratch memory read before it is written, a division by
// constant 0). Such a program is refused even if this call's path avoids the
// fault.
absl::StatusOr<uint32_t> EvaluateFilter(const BpfProgram& program,
                                        uint32_t architecture, int number,
                                        const uint64_t (&arguments)[6]);

// The same filter, except that where it would return an errno, it asks the
// process with its listener (SECCOMP_RET_USER_NOTIF), which then has to return
// that errno itself. Ignored calls are still ignored.
BpfProgram AskInsteadOfRefusing(BpfProgram program);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_SECCOMP_H_
