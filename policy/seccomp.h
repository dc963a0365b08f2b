#ifndef SANDGLASS_POLICY_SECCOMP_H_
#define SANDGLASS_POLICY_SECCOMP_H_

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
class SeccompPolicy {
 public:
  // Reads `directory`/`name`.json and the sets that it includes. Errors name
  // file and JSON pointer.
  static absl::StatusOr<SeccompPolicy> Load(const std::string& directory,
                                            const std::string& name);

  // Compiles with libseccomp, binary-tree layout. Takes about 0.1 ms.
  absl::StatusOr<BpfProgram> Compile() const;

  struct ArgumentTest {
    unsigned index;  // 0–5
    std::string op;  // "==", "!=", "<", "<=", ">", ">=", "masked=="
    uint64_t value;
    uint64_t mask;  // for "masked=="
  };
  struct Rule {
    std::string syscall;
    int error;  // 0: allow; else the errno that it gives
    std::vector<ArgumentTest> tests;  // all must hold; empty: always
    std::string reason;
    std::string set;  // where it was read
  };
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  std::vector<Rule> rules_;
};

// Runs a filter as the kernel would; for tests. Returns the SECCOMP_RET_*
// action with its data, or an error when the program is malformed (a load
// outside seccomp_data, a jump out of range, no return).
absl::StatusOr<uint32_t> EvaluateFilter(const BpfProgram& program,
                                        uint32_t architecture, int number,
                                        const uint64_t (&arguments)[6]);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_H_
