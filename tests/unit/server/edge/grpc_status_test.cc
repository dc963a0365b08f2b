// What a caller gets of the errors that the daemon makes.
#include "server/edge/grpc_status.h"

#include <cerrno>

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "sandbox/yard/spawner_event.h"
#include "server/base/errors.h"

namespace sandglass::server {
namespace {

template <typename Detail>
Detail DetailOf(const grpc::Status& status) {
  google::rpc::Status rich;
  EXPECT_TRUE(rich.ParseFromString(status.error_details()));
  EXPECT_EQ(rich.code(), static_cast<int>(status.error_code()));
  Detail detail;
  for (const google::protobuf::Any& any : rich.details()) {
    if (any.Is<Detail>()) any.UnpackTo(&detail);
  }
  return detail;
}

struct Row {
  absl::Status status;
  std::string reason;
  grpc::StatusCode code;
  bool retry;
};

TEST(Errors, EachHasItsCodeReasonAndRetryHint) {
  const absl::Duration soon = absl::Milliseconds(1500);
  const Row rows[] = {
      {InvalidRequest({{"code", "is empty"}}), "INVALID_REQUEST",
       grpc::StatusCode::INVALID_ARGUMENT, false},
      {MalformedMessage("T"), "MALFORMED_MESSAGE",
       grpc::StatusCode::INVALID_ARGUMENT, false},
      {LanguageUnavailable("no"), "LANGUAGE_UNAVAILABLE",
       grpc::StatusCode::FAILED_PRECONDITION, false},
      {NeverFits(2, 1), "MEMORY_BUDGET_TOO_SMALL",
       grpc::StatusCode::FAILED_PRECONDITION, false},
      {QueueFull(3, soon), "QUEUE_FULL", grpc::StatusCode::RESOURCE_EXHAUSTED,
       true},
      {QueueShareFull("uid:1", 3, 4, soon), "QUEUE_SHARE_FULL",
       grpc::StatusCode::RESOURCE_EXHAUSTED, true},
      {QueueBytesFull(3, soon), "QUEUE_BYTES_FULL",
       grpc::StatusCode::RESOURCE_EXHAUSTED, true},
      {TenantCeiling("a", "queued", 3, 3, soon), "TENANT_CEILING",
       grpc::StatusCode::RESOURCE_EXHAUSTED, true},
      {TenantCeilingTooLow("a", "memory", 3, 2), "TENANT_CEILING",
       grpc::StatusCode::RESOURCE_EXHAUSTED, false},
      {TenantBudgetSpent("a", {.room_after = soon}), "TENANT_BUDGET_SPENT",
       grpc::StatusCode::RESOURCE_EXHAUSTED, true},
      {DeadlineUnreachable(soon, soon, soon), "DEADLINE_UNREACHABLE",
       grpc::StatusCode::RESOURCE_EXHAUSTED, true},
      {QueueTimeout(soon, soon), "QUEUE_TIMEOUT",
       grpc::StatusCode::RESOURCE_EXHAUSTED, true},
      {DeadlineTooShort(soon, soon), "DEADLINE_TOO_SHORT",
       grpc::StatusCode::DEADLINE_EXCEEDED, false},
      {RequestIdReused("x"), "REQUEST_ID_REUSED",
       grpc::StatusCode::ALREADY_EXISTS, false},
      {RunNotFound("x"), "RUN_NOT_FOUND", grpc::StatusCode::NOT_FOUND, false},
      {AnswerBytesFull("uid:1", 2, 1, "so"), "ANSWER_BYTES_FULL",
       grpc::StatusCode::RESOURCE_EXHAUSTED, false},
      {AuditUnwritable("/a", "full"), "AUDIT_UNWRITABLE",
       grpc::StatusCode::UNAVAILABLE, true},
      {ShuttingDown(), "SHUTTING_DOWN", grpc::StatusCode::UNAVAILABLE, true},
      {UnknownCaller(), "UNKNOWN_CALLER", grpc::StatusCode::UNAUTHENTICATED,
       false},
      {RunFailed(absl::InternalError("mount_proc: EPERM")), "JAIL_FAILED",
       grpc::StatusCode::INTERNAL, false},
      {RunFailed(absl::UnavailableError("gone")), "SANDBOX_UNAVAILABLE",
       grpc::StatusCode::UNAVAILABLE, true},
      {RunFailed(absl::ResourceExhaustedError("full")), "NO_JAIL_SLOT",
       grpc::StatusCode::RESOURCE_EXHAUSTED, true},
      // The sandbox's own mark is none of a reason, and isn't sent.
      {RunFailed(sandbox::SetupFailure(0, ENOMEM)), "NO_JAIL_SLOT",
       grpc::StatusCode::RESOURCE_EXHAUSTED, true},
      {sandbox::SetupFailure(0, ENOMEM), "UNEXPECTED",
       grpc::StatusCode::RESOURCE_EXHAUSTED, false},
      {absl::InternalError("naked"), "UNEXPECTED", grpc::StatusCode::INTERNAL,
       false},
  };
  for (const Row& row : rows) {
    const grpc::Status status = ToGrpcStatus(row.status);
    EXPECT_EQ(status.error_code(), row.code) << row.reason;
    const auto info = DetailOf<google::rpc::ErrorInfo>(status);
    EXPECT_EQ(info.reason(), row.reason);
    EXPECT_EQ(info.domain(), "sandglass.dev") << row.reason;
    const auto retry = DetailOf<google::rpc::RetryInfo>(status);
    EXPECT_EQ(retry.has_retry_delay(), row.retry) << row.reason;
  }
}

TEST(Errors, RetryDelayKeepsItsFraction) {
  const auto retry = DetailOf<google::rpc::RetryInfo>(
      ToGrpcStatus(QueueFull(1, absl::Milliseconds(1500))));
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 500'000'000);
}

TEST(Errors, AllViolationsAreThereWithTheirPaths) {
  const grpc::Status status = ToGrpcStatus(
      InvalidRequest({{"code", "is empty"}, {"args[3]", "has a NUL byte"}}));
  EXPECT_EQ(status.error_message(), "code: is empty (and 1 more)");
  const auto bad = DetailOf<google::rpc::BadRequest>(status);
  ASSERT_EQ(bad.field_violations_size(), 2);
  EXPECT_EQ(bad.field_violations(1).field(), "args[3]");
  EXPECT_EQ(bad.field_violations(1).description(), "has a NUL byte");
}

TEST(Errors, ManyLongViolationsFitIntoAClientsMetadata) {
  const std::vector<policy::FieldViolation> many(
      500, {std::string(1000, 'f'), std::string(5000, 'd')});
  const grpc::Status status = ToGrpcStatus(InvalidRequest(many));
  // Base64 in the trailer, next to the message; 8 KiB is gRPC's default bound.
  EXPECT_LT(status.error_details().size() * 4 / 3 +
                status.error_message().size() + 256,
            8192u);
  EXPECT_GE(DetailOf<google::rpc::BadRequest>(status).field_violations_size(),
            1);
  const auto small = DetailOf<google::rpc::BadRequest>(ToGrpcStatus(
      InvalidRequest(std::vector<policy::FieldViolation>(40, {"f", "d"}))));
  EXPECT_EQ(small.field_violations_size(), 32);
}

TEST(Errors, OkStaysOk) { EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok()); }

}  // namespace
}  // namespace sandglass::server
