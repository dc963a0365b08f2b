#ifndef SANDGLASS_CLIENT_POLICY_POLICY_OPTIONS_H_
#define SANDGLASS_CLIENT_POLICY_POLICY_OPTIONS_H_

#include <optional>
#include <string>
#include <variant>

#include "client/flags/options.h"

namespace sandglass::client {

struct ListApprovalsOptions {
  bool all = false;  // include answered ones
  bool json = false;
};

struct ShowApprovalOptions {
  std::string approval_id;
  bool json = false;
};

struct AnswerApprovalOptions {
  std::string approval_id;
  bool approve = false;  // false: deny
  bool for_session = false;
  std::string comment;
  bool json = false;
};

using ApprovalsOptions = std::variant<ListApprovalsOptions, ShowApprovalOptions,
                                      AnswerApprovalOptions>;

struct CheckPolicyOptions {
  std::string file;  // a profile
  bool json = false;
};

struct TestPolicyOptions {
  std::string profile_file;  // "": the profile that `run` names
  RunOptions run;            // its program
  bool json = false;
};

using PolicyOptions = std::variant<CheckPolicyOptions, TestPolicyOptions>;

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_POLICY_POLICY_OPTIONS_H_
