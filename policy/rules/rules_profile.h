#ifndef SANDGLASS_POLICY_RULES_RULES_PROFILE_H_
#define SANDGLASS_POLICY_RULES_RULES_PROFILE_H_

#include <vector>

#include "absl/time/time.h"
#include "policy/rules/rules.h"
#include "policy/text/json_reader.h"

namespace sandglass::policy {

// How runs are approved if a rule requires that.
struct ApprovalPolicy {
  // A caller may approve its own runs.
  bool self_approval = false;
  // How long an approval can be given and used.
  absl::Duration expires_after = absl::Minutes(10);
};

// Reads the key "rules" of a profile; no rules when there is no such key.
std::vector<Rule> ReadRules(JsonObject& profile);
// Reads the key "approval" of a profile.
ApprovalPolicy ReadApproval(JsonObject& profile);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_RULES_RULES_PROFILE_H_
