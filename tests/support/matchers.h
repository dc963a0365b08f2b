#ifndef SANDGLASS_TESTS_SUPPORT_MATCHERS_H_
#define SANDGLASS_TESTS_SUPPORT_MATCHERS_H_

#include <gmock/gmock.h>

#include <string>

#include "tests/support/daemon/client.h"

namespace sandglass::testing {

// One readable line each, for messages.
std::string Describe(const grpc::Status& status);
std::string Describe(const v1::RunCodeResponse& response);
std::string Describe(const RunResult& result);
std::string Describe(const StreamResult& result);

// gtest prints results by these.
void PrintTo(const RunResult& result, std::ostream* out);
void PrintTo(const StreamResult& result, std::ostream* out);

inline const grpc::Status& StatusOf(const grpc::Status& status) {
  return status;
}
inline const grpc::Status& StatusOf(const RunResult& result) {
  return result.status;
}
inline const grpc::Status& StatusOf(const StreamResult& result) {
  return result.status;
}

// A grpc::Status, RunResult or StreamResult without an error.
MATCHER(IsOk, negation ? "has an error" : "is OK") {
  *result_listener << "whose status is " << Describe(StatusOf(arg));
  return StatusOf(arg).ok();
}

// The same with this error code.
MATCHER_P(StatusIs, code, "has status code " + std::to_string(code)) {
  *result_listener << "whose status is " << Describe(StatusOf(arg));
  return StatusOf(arg).error_code() == code;
}

// INVALID_ARGUMENT whose BadRequest names the field, with ErrorInfo of ours.
MATCHER_P(RefusesField, field, std::string("refuses the field ") + field) {
  const grpc::Status& status = StatusOf(arg);
  const ErrorDetails details = DetailsOf(status);
  *result_listener << "whose status is " << Describe(status);
  return status.error_code() == grpc::StatusCode::INVALID_ARGUMENT &&
         details.domain == "sandglass.dev" && !details.reason.empty() &&
         details.fields.contains(field) && !details.fields.at(field).empty();
}

// A run that was answered, with this outcome.
MATCHER_P(OutcomeIs, outcome, "has outcome " + v1::Outcome_Name(outcome)) {
  *result_listener << Describe(arg);
  return StatusOf(arg).ok() && ResponseOf(arg).outcome() == outcome;
}

inline const v1::RunCodeResponse& ResponseOf(const RunResult& result) {
  return result.response;
}
inline const v1::RunCodeResponse& ResponseOf(const StreamResult& result) {
  return result.result() == nullptr ? v1::RunCodeResponse::default_instance()
                                    : *result.result();
}

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_MATCHERS_H_
