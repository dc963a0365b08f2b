#include "gateway/connect/unary.h"

#include <string>
#include <utility>
#include <vector>

#include "gateway/connect/base64.h"
#include "gateway/connect/error_json.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "sandglass/v1/run.pb.h"
#include "server/base/errors.h"
#include "tests/unit/gateway/connect/support.h"

namespace sandglass::gateway {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

CallHead RunCall(Codec codec) {
  CallHead call;
  call.method = FindMethod("/sandglass.v1.SandboxService/RunCode");
  call.wire = {Protocol::kConnectUnary, codec};
  return call;
}

TEST(ConnectUnary, JsonBecomesAMessageAndProtobufStaysAsItIs) {
  v1::RunCodeRequest request;
  request.set_code("x");
  EXPECT_EQ(*UnaryRequest(RunCall(Codec::kJson), R"({"code": "x"})", {}),
            request.SerializeAsString());
  EXPECT_EQ(*UnaryRequest(RunCall(Codec::kProto), "\xff any bytes", {}),
            "\xff any bytes");
  EXPECT_EQ(*UnaryRequest(RunCall(Codec::kProto), "", {}), "");
  CallHead get = RunCall(Codec::kJson);
  get.query_message = R"({"code": "x"})";
  EXPECT_EQ(*UnaryRequest(get, "ignored", {}), request.SerializeAsString());
}

TEST(ConnectUnary, BadBodiesAreRefused) {
  const auto empty = UnaryRequest(RunCall(Codec::kJson), "", {});
  EXPECT_EQ(empty.status().code(), absl::StatusCode::kInvalidArgument);
  for (const Codec codec : {Codec::kJson, Codec::kProto}) {
    const auto large =
        UnaryRequest(RunCall(codec), std::string(11, ' '), {.bytes = 10});
    EXPECT_EQ(large.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(server::ErrorReason(large.status()), "MESSAGE_TOO_LARGE");
  }
}

TEST(ConnectUnary, AnAnswerHasTheRequestsTypeAndTheDaemonsMetadata) {
  v1::RunCodeResponse response;
  response.set_run_id("r");
  const std::string bytes = response.SerializeAsString();
  const HttpAnswer json =
      UnaryAnswer(RunCall(Codec::kJson), bytes, {{"x-a", "1"}}, {{"x-b", "2"}});
  EXPECT_EQ(json.status, 200);
  EXPECT_EQ(json.body, R"({"runId":"r"})");
  EXPECT_THAT(
      json.headers,
      ElementsAre(HeaderField{"content-type", "application/json"},
                  HeaderField{"cache-control", "no-store"},
                  HeaderField{"x-a", "1"}, HeaderField{"trailer-x-b", "2"}));
  const HttpAnswer proto = UnaryAnswer(RunCall(Codec::kProto), bytes, {}, {});
  EXPECT_EQ(proto.body, bytes);
  EXPECT_EQ(HeaderOf(proto, "content-type"), "application/proto");
}

TEST(ConnectUnary, AnAnswerThatCannotBeWrittenIsAnError) {
  const HttpAnswer answer = UnaryAnswer(RunCall(Codec::kJson), "\x0a", {}, {});
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(nlohmann::json::parse(answer.body)["code"], "internal");
}

TEST(ConnectUnary, CodesAndStatusesAreThoseOfTheProtocol) {
  const std::vector<std::pair<const char*, int>> table = {
      {"canceled", 499},
      {"unknown", 500},
      {"invalid_argument", 400},
      {"deadline_exceeded", 504},
      {"not_found", 404},
      {"already_exists", 409},
      {"permission_denied", 403},
      {"resource_exhausted", 429},
      {"failed_precondition", 400},
      {"aborted", 409},
      {"out_of_range", 400},
      {"unimplemented", 501},
      {"internal", 500},
      {"unavailable", 503},
      {"data_loss", 500},
      {"unauthenticated", 401}};
  for (size_t i = 0; i < table.size(); ++i) {
    const HttpAnswer answer =
        UnaryError({.code = static_cast<int>(i) + 1, .message = "m"}, {}, {});
    EXPECT_EQ(answer.status, table[i].second);
    EXPECT_EQ(HeaderOf(answer, "content-type"), "application/json");
    const auto json = nlohmann::json::parse(answer.body);
    EXPECT_EQ(json["code"], table[i].first);
    EXPECT_EQ(json["message"], "m");
    EXPECT_FALSE(json.contains("details"));
  }
  for (const int code : {-1, 17, 1'000'000}) {
    EXPECT_EQ(CodeName(code), "unknown");
    EXPECT_EQ(HttpStatusOf(code), 500);
  }
}

TEST(ConnectUnary, DetailsReasonsAndTimesToRetrySurvive) {
  const HttpAnswer answer =
      UnaryError(ToCallStatus(server::QueueFull(7, absl::Milliseconds(1500))),
                 {{"x-a", "1"}}, {{"x-b", "2"}});
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(HeaderOf(answer, "retry-after"), "2");
  EXPECT_EQ(HeaderOf(answer, "x-a"), "1");
  EXPECT_EQ(HeaderOf(answer, "trailer-x-b"), "2");
  const auto details = nlohmann::json::parse(answer.body)["details"];
  ASSERT_EQ(details.size(), 2u);
  bool reason = false;
  bool retry = false;
  for (const auto& detail : details) {
    const std::string value = detail["value"];
    EXPECT_EQ(value.find('='), std::string::npos);
    const auto bytes = DecodeBase64(value);
    ASSERT_TRUE(bytes.has_value());
    if (detail["type"] == "google.rpc.ErrorInfo") {
      google::rpc::ErrorInfo info;
      ASSERT_TRUE(info.ParseFromString(*bytes));
      EXPECT_EQ(info.reason(), "QUEUE_FULL");
      EXPECT_EQ(detail["debug"]["reason"], "QUEUE_FULL");
      EXPECT_EQ(detail["debug"]["domain"], "sandglass.dev");
      reason = true;
    } else {
      EXPECT_EQ(detail["type"], "google.rpc.RetryInfo");
      EXPECT_EQ(detail["debug"]["retryDelay"], "1.500s");
      retry = true;
    }
  }
  EXPECT_TRUE(reason && retry);
}

TEST(ConnectUnary, DetailsOfUnknownTypesAreSentWithoutDebug) {
  google::rpc::Status details;
  details.add_details()->set_type_url("type.googleapis.com/other.v1.Thing");
  details.mutable_details(0)->set_value("\xff");
  details.add_details()->set_type_url("google.rpc.RetryInfo");
  details.mutable_details(1)->set_value("\xff");
  const HttpAnswer answer =
      UnaryError({.code = 14, .details = details.SerializeAsString()}, {}, {});
  EXPECT_EQ(answer.body, R"({"code":"unavailable","details":[)"
                         R"({"type":"other.v1.Thing","value":"/w"},)"
                         R"({"type":"google.rpc.RetryInfo","value":"/w"}]})");
  EXPECT_EQ(HeaderOf(answer, "retry-after"), "");
  EXPECT_EQ(ErrorJson({.code = 14, .details = "\xff no status"}),
            R"({"code":"unavailable"})");
}

TEST(ConnectUnary, ATimeToRetryIsRoundedUp) {
  const auto after = [](absl::Duration delay) {
    return HeaderOf(
        UnaryError(ToCallStatus(server::QueueFull(1, delay)), {}, {}),
        "retry-after");
  };
  EXPECT_EQ(after(absl::ZeroDuration()), "0");
  EXPECT_EQ(after(absl::Milliseconds(1)), "1");
  EXPECT_EQ(after(absl::Seconds(3)), "3");
  EXPECT_EQ(after(-absl::Seconds(3)), "");
}

TEST(ConnectUnary, WhoIsNotKnownIsToldHowToSayIt) {
  const HttpAnswer answer =
      UnaryError(ToCallStatus(absl::UnauthenticatedError("who?")), {}, {});
  EXPECT_EQ(answer.status, 401);
  EXPECT_THAT(answer.headers,
              Contains(HeaderField{"www-authenticate", "Bearer"}));
}

TEST(ConnectUnary, AMessageThatIsNotUtf8IsStillJson) {
  const std::string json = ErrorJson({.code = 2, .message = "a\xff\"\r\n"});
  EXPECT_EQ(nlohmann::json::parse(json)["message"], "a\xef\xbf\xbd\"\r\n");
}

TEST(ConnectUnary, ErrorsOfTheGatewayHaveReasons) {
  const CallStatus status = ToCallStatus(absl::InternalError("x"));
  EXPECT_THAT(ErrorJson(status), HasSubstr("UNEXPECTED"));
  EXPECT_TRUE(ToCallStatus(absl::OkStatus()).ok());
}

}  // namespace
}  // namespace sandglass::gateway
