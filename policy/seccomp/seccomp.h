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

// A system call policy: named sets of explained rules, read from JSON (with
// comments) under policy/data/seccomp/. Calls that no rule names get ENOSYS;
// named dangerous ones EPERM; a foreign architecture and x32 numbers ENOSYS;
// nothing is ever answered by a kill (libc updates rot kill lists).
//
// The rules of one call all stand in one set. The first whose tests hold
// decides; the last has no tests, so every call's answer is written down.
class SeccompPolicy {
 public:
  // Reads `directory`/`name`.json and the sets that it includes,
  // `directory`/sets/<set>.json; then the additions,
  // `directory`/additions/<addition>.json, each of which takes the place of all
  // that the policy says of the calls that it names (seccomp_additions.h).
  // INVALID_ARGUMENT names file and JSON pointer of each problem; NOT_FOUND: a
  // file is missing.
  static absl::StatusOr<SeccompPolicy> Load(
      const std::string& directory, const std::string& name,
      const std::vector<std::string>& additions = {});

  // Compiles for x86-64 to a binary tree over the call numbers. Takes about
  // 0.1 ms. RESOURCE_EXHAUSTED: longer than the kernel's 4096 instructions.
  absl::StatusOr<BpfProgram> Compile() const;

  // The call does nothing and succeeds.
  static constexpr int kIgnored = -1;

  // Holds when (argument & mask) op value, compared as unsigned 64-bit
  // numbers. A test of an int argument has no mask bit above 31, since the
  // kernel doesn't look there.
  struct ArgumentTest {
    unsigned index;  // 0–5
    std::string op;  // "==", "!=", "<", "<=", ">", ">="
    uint64_t value;  // no bit outside mask
    uint64_t mask;   // not 0
  };
  struct Rule {
    std::string syscall;
    int number;  // on x86-64
    int error;   // 0: allow; kIgnored; else the errno that it gives
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
// that the kernel would not install, wherever in it the fault is (unknown
// instruction, a load outside seccomp_data, a jump out of range, an end
// without return, scratch memory read before it is written, a division by
// constant 0). Such a program is refused even when this call's path avoids the
// fault.
absl::StatusOr<uint32_t> EvaluateFilter(const BpfProgram& program,
                                        uint32_t architecture, int number,
                                        const uint64_t (&arguments)[6]);

// The same filter, but where it would return an errno it asks whoever holds its
// listener (SECCOMP_RET_USER_NOTIF), who is to give that errno himself. What is
// ignored stays so.
BpfProgram AskInsteadOfRefusing(BpfProgram program);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_SECCOMP_H_
