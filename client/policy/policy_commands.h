#ifndef SANDGLASS_CLIENT_POLICY_POLICY_COMMANDS_H_
#define SANDGLASS_CLIENT_POLICY_POLICY_COMMANDS_H_

#include <string>

#include "client/connection/endpoint.h"
#include "client/policy/policy_options.h"
#include "sandglass/v1/policy.pb.h"

namespace sandglass::client {

// `sandglass approvals …` and `sandglass policy …`. Each returns the exit code:
// "policy check" returns 1 for a profile with problems, "policy test" the code
// of a run with this decision.
int ApprovalsCommand(const Endpoint& endpoint, const ApprovalsOptions& options);
int PolicyCommand(const Endpoint& endpoint, const PolicyOptions& options);

// A list of approvals, and one approval with its program, as text for people.
std::string ApprovalsText(const v1::ListApprovalsResponse& approvals);
std::string ApprovalText(const v1::Approval& approval);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_POLICY_POLICY_COMMANDS_H_
