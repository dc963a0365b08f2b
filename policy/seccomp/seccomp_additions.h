#ifndef SANDGLASS_POLICY_SECCOMP_SECCOMP_ADDITIONS_H_
#define SANDGLASS_POLICY_SECCOMP_SECCOMP_ADDITIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// Additions to a system call policy: small files of rules that a profile names
// in addition to its policy, for programs that need one more call.

// INVALID_ARGUMENT when `directory`/additions has no file of that name; the
// message has the nearest existing name, and all names.
absl::Status CheckAdditionName(const std::string& directory,
                               const std::string& name);

// Adds the rules of additions to those of a policy. The order in which
// additions are named doesn't matter: two of them may only name the same call
// if they say the same about it.
class RuleAdder {
 public:
  // `rules` are the policy's own; they are changed, and have to outlive this
  // object.
  explicit RuleAdder(std::vector<SeccompPolicy::Rule>& rules) : rules_(rules) {}

  // Replaces everything that the policy says about the calls in `rules`.
  // INVALID_ARGUMENT, without any change, when the addition allows a call that
  // no addition may allow, in whole or in part (namespaces, mounts, BPF,
  // keyrings, io_uring and the like: whatever reaches beyond the run); when it
  // allows a call with any arguments that the policy refuses for some
  // arguments; when it says something else about a call than an earlier
  // addition; or when it gives a call another name than the policy does.
  absl::Status Add(const std::string& addition,
                   std::vector<SeccompPolicy::Rule> rules);

 private:
  std::vector<SeccompPolicy::Rule>& rules_;
  std::map<int, std::string> added_;  // by call: the addition that names it
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_SECCOMP_ADDITIONS_H_
