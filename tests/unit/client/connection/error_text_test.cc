#include "client/connection/error_text.h"

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kAddress[] = "unix:/a";

TEST(RpcErrorTextTest, PrintsOneLineForEachViolatedField) {
  google::rpc::BadRequest bad;
  auto* violation = bad.add_field_violations();
  violation->set_field("run.limits.memory_bytes");
  violation->set_description("is 1 GiB; the profile allows 256 MiB");
  violation = bad.add_field_violations();
  violation->set_field("run.code");
  violation->set_description("is empty");
  google::rpc::ErrorInfo info;
  info.set_reason("INVALID_REQUEST");
  EXPECT_EQ(RpcErrorText(RichStatus(grpc::StatusCode::INVALID_ARGUMENT,
                                    "the request is not valid", {&bad, &info}),
                         kAddress),
            "sandglass: INVALID_ARGUMENT: the request is not valid\n"
            "  run.limits.memory_bytes: is 1 GiB; the profile allows 256 MiB\n"
            "  run.code: is empty\n"
            "  reason: INVALID_REQUEST\n");
}

TEST(RpcErrorTextTest, SaysTheOnlyViolationOnce) {
  google::rpc::BadRequest bad;
  bad.add_field_violations()->set_field("run.code");
  bad.mutable_field_violations(0)->set_description("is empty");
  EXPECT_EQ(RpcErrorText(RichStatus(grpc::StatusCode::INVALID_ARGUMENT,
                                    "run.code: is empty", {&bad}),
                         kAddress),
            "sandglass: INVALID_ARGUMENT: run.code: is empty\n");
}

TEST(RpcErrorTextTest, SaysWhenToTryAgain) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(2);
  EXPECT_EQ(RpcErrorText(RichStatus(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                    "the queue is full", {&retry}),
                         kAddress),
            "sandglass: RESOURCE_EXHAUSTED: the queue is full\n"
            "  try again in 2.00 s\n");
}

TEST(RpcErrorTextTest, NamesADaemonThatDoesNotAnswer) {
  for (const grpc::Status& status :
       {grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded"),
        grpc::Status(grpc::StatusCode::UNAVAILABLE,
                     "keepalive watchdog timeout")}) {
    EXPECT_EQ(RpcErrorText(status, kAddress),
              "sandglass: the daemon at unix:/a does not answer: it is stopped "
              "or hangs, or its machine is out of memory; see its log "
              "(docs/troubleshooting.md)\n");
  }
  google::rpc::ErrorInfo info;
  info.set_reason("DEADLINE_TOO_SHORT");
  EXPECT_THAT(RpcErrorText(RichStatus(grpc::StatusCode::DEADLINE_EXCEEDED,
                                      "no time is left", {&info}),
                           kAddress),
              HasSubstr("DEADLINE_EXCEEDED: no time is left\n"));
}

TEST(RpcErrorTextTest, NamesAServerThatSpeaksSomethingElse) {
  EXPECT_EQ(
      RpcErrorText(grpc::Status(grpc::StatusCode::UNKNOWN, "Stream removed"),
                   kAddress),
      "sandglass: UNKNOWN: Stream removed\n"
      "  is unix:/a a sandglassd of this client's version?\n");
}

TEST(RpcErrorTextTest, SurvivesDetailsThatAreGarbage) {
  EXPECT_EQ(RpcErrorText(grpc::Status(grpc::StatusCode::INTERNAL, "oops",
                                      "\xff\xff garbage"),
                         kAddress),
            "sandglass: INTERNAL: oops\n");
  google::rpc::ErrorInfo unknown;
  google::protobuf::Any any;
  any.set_type_url("type.googleapis.com/google.rpc.BadRequest");
  any.set_value("\xff\xff");
  EXPECT_EQ(RpcErrorText(RichStatus(grpc::StatusCode::ABORTED, "x", {&any}),
                         kAddress),
            "sandglass: ABORTED: x\n");
}

TEST(RpcErrorTextTest, LetsNoEscapeThrough) {
  google::rpc::ErrorInfo info;
  info.set_reason("A\x1b[2J");
  EXPECT_EQ(RpcErrorText(RichStatus(grpc::StatusCode::NOT_FOUND, "one\ntwo\x07",
                                    {&info}),
                         kAddress),
            "sandglass: NOT_FOUND: one\n  two\\x07\n  reason: A\\x1b[2J\n");
}

TEST(RpcErrorTextTest, TellsALostConnectionFromTheDaemonsOwnWord) {
  const grpc::Status lost(grpc::StatusCode::UNAVAILABLE, "Socket closed");
  EXPECT_TRUE(IsConnectionLoss(lost));
  EXPECT_EQ(RpcErrorText(lost, kAddress),
            "sandglass: the connection to the daemon at unix:/a broke (Socket "
            "closed); see whether it still runs with: sandglass info\n");
  // Such a port may speak TLS.
  EXPECT_THAT(RpcErrorText(lost, "127.0.0.1:8443"),
              HasSubstr("--ca FILE, or write dns:///127.0.0.1:8443"));
  EXPECT_THAT(RpcErrorText(lost, "dns:///host.example:8443"),
              Not(HasSubstr("--ca")));
  google::rpc::ErrorInfo info;
  info.set_reason("SHUTTING_DOWN");
  EXPECT_FALSE(IsConnectionLoss(
      RichStatus(grpc::StatusCode::UNAVAILABLE, "going down", {&info})));
}

TEST(RpcErrorTextTest, SuspectsTheWrongServerWhenACallIsUnknown) {
  EXPECT_EQ(
      RpcErrorText(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, ""), kAddress),
      "sandglass: UNIMPLEMENTED: \n"
      "  is unix:/a a sandglassd of this client's version?\n");
}

TEST(RpcErrorTextTest, WithoutAdviceOnlyWhatTheDaemonSaid) {
  google::rpc::ErrorInfo info;
  info.set_reason("SESSION_EXPIRED");
  const grpc::Status status =
      RichStatus(grpc::StatusCode::NOT_FOUND, "it has ended", {&info});
  EXPECT_THAT(RpcErrorText(status, "unix:/s"), HasSubstr("session create"));
  EXPECT_EQ(RpcErrorText(status, "unix:/s", Advice::kNone),
            "sandglass: NOT_FOUND: it has ended\n  reason: SESSION_EXPIRED\n");
}

TEST(ViolatedFieldsTest, AreThoseOfTheDetails) {
  google::rpc::BadRequest bad;
  bad.add_field_violations()->set_field("run.language");
  bad.add_field_violations()->set_field("run.code");
  EXPECT_THAT(ViolatedFields(
                  RichStatus(grpc::StatusCode::INVALID_ARGUMENT, "m", {&bad})),
              ElementsAre("run.language", "run.code"));
  EXPECT_THAT(ViolatedFields(grpc::Status(grpc::StatusCode::INTERNAL, "m")),
              IsEmpty());
}

}  // namespace
}  // namespace sandglass::client
