#ifndef SANDGLASS_POLICY_SECCOMP_SECCOMP_ADDITIONS_H_
#define SANDGLASS_POLICY_SECCOMP_SECCOMP_ADDITIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// Additions to a system call policy: small files of rules that a profile names
// beside its policy, for programs that need a call more.

// INVALID_ARGUMENT when `directory`/additions has no file of that name, with
// the nearest name that is there and all of them.
absl::Status CheckAdditionName(const std::string& directory,
                               const std::string& name);

// Puts additions' rules into a policy's. It decides nothing by the order in
// which additions are named: two may name the same call only if they say the
// same of it.
class RuleAdder {
 public:
  // `rules` are the policy's own; they are changed, and outlive the adder.
  explicit RuleAdder(std::vector<SeccompPolicy::Rule>& rules) : rules_(rules) {}

  // What `rules` say of a call takes the place of all that the policy says of
  // it. INVALID_ARGUMENT, and nothing is changed, when the addition allows a
  // call that none may allow, in some form or in all (namespaces, mounts, BPF,
  // keyrings, io_uring and the like: whatever reaches beyond the run); when it
  // allows a call whatever its arguments that the policy refuses by some of
  // them; when it says something else of a call than an earlier addition; or
  // when it gives a call another name than the policy does.
  absl::Status Add(const std::string& addition,
                   std::vector<SeccompPolicy::Rule> rules);

 private:
  std::vector<SeccompPolicy::Rule>& rules_;
  std::map<int, std::string> added_;  // by call: the addition that names it
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_SECCOMP_ADDITIONS_H_
