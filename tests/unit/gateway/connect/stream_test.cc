#include "gateway/connect/stream.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "sandglass/v1/files.pb.h"
#include "sandglass/v1/run.pb.h"
#include "server/base/errors.h"
#include "tests/unit/gateway/connect/support.h"

namespace sandglass::gateway {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kWrite[] = "/sandglass.v1.FileService/WriteFile";

std::string Request(const std::string& code) {
  v1::StreamRunCodeRequest request;
  request.mutable_run()->set_code(code);
  return request.SerializeAsString();
}

TEST(ConnectStream, JsonInEnvelopesBecomesMessagesByteByByte) {
  const CallHead call =
      CallOf(kStreamPath, Protocol::kConnectStream, Codec::kJson);
  StreamReader reader(call, {});
  std::vector<std::string> messages;
  for (const char c : Enveloped(R"({"run": {"code": "x"}})")) {
    ASSERT_TRUE(reader.Feed(std::string(1, c), messages).ok());
  }
  EXPECT_TRUE(reader.Finish().ok());
  EXPECT_THAT(messages, ElementsAre(Request("x")));
}

TEST(ConnectStream, AClientMayStreamWhereTheMethodSays) {
  const CallHead call = CallOf(kWrite, Protocol::kConnectStream, Codec::kProto);
  StreamReader reader(call, {});
  std::vector<std::string> messages;
  ASSERT_TRUE(
      reader.Feed(Enveloped("a") + Enveloped("") + Enveloped("b"), messages)
          .ok());
  EXPECT_TRUE(reader.Finish().ok());
  EXPECT_THAT(messages, ElementsAre("a", "", "b"));
  StreamReader none(call, {});
  EXPECT_TRUE(none.Finish().ok());
}

TEST(ConnectStream, AMethodThatTakesOneMessageTakesOne) {
  const CallHead call =
      CallOf(kStreamPath, Protocol::kConnectStream, Codec::kProto);
  StreamReader none(call, {});
  EXPECT_THAT(std::string(none.Finish().message()), HasSubstr("no message"));
  StreamReader two(call, {});
  std::vector<std::string> messages;
  const absl::Status fed =
      two.Feed(Enveloped(Request("a")) + Enveloped(Request("b")), messages);
  EXPECT_EQ(fed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(fed.message()), HasSubstr("second message"));
  EXPECT_THAT(messages, SizeIs(1));
}

TEST(ConnectStream, BadJsonAndBadFramesEndIt) {
  const CallHead call =
      CallOf(kStreamPath, Protocol::kConnectStream, Codec::kJson);
  std::vector<std::string> messages;
  StreamReader json(call, {});
  EXPECT_THAT(
      std::string(
          json.Feed(Enveloped(R"({"run": {"cod": 1}})"), messages).message()),
      HasSubstr("run.cod: is no field of RunCodeRequest"));
  StreamReader frame(call, {});
  EXPECT_FALSE(frame.Feed("\x02\x00\x00\x00\x02{}"s, messages).ok());
  StreamReader large(call, {.bytes = 10});
  EXPECT_EQ(large.Feed("\x00\x00\x00\x00\x0b"s, messages).code(),
            absl::StatusCode::kResourceExhausted);
  StreamReader cut(call, {});
  EXPECT_TRUE(cut.Feed("\x00\x00\x00"s, messages).ok());
  EXPECT_FALSE(cut.Finish().ok());
  EXPECT_THAT(messages, IsEmpty());
}

TEST(ConnectStream, GrpcWebAsTextIsReadInPieces) {
  const CallHead call = CallOf(kRunPath, Protocol::kGrpcWebText, Codec::kProto);
  const std::string message = Request("x");
  for (size_t piece = 1; piece < 9; ++piece) {
    std::string_view text;
    const std::string all = WebText(Enveloped(message));
    text = all;
    StreamReader reader(call, {});
    std::vector<std::string> messages;
    while (!text.empty()) {
      ASSERT_TRUE(reader.Feed(text.substr(0, piece), messages).ok());
      text.remove_prefix(std::min(piece, text.size()));
    }
    EXPECT_TRUE(reader.Finish().ok());
    EXPECT_THAT(messages, ElementsAre(message));
  }
  StreamReader reader(call, {});
  std::vector<std::string> messages;
  EXPECT_FALSE(reader.Feed("AAAA*AAA", messages).ok());
}

v1::StreamRunCodeResponse Result() {
  v1::StreamRunCodeResponse response;
  response.set_sequence(3);
  response.mutable_result()->mutable_stdout()->set_data("42\n");
  return response;
}

TEST(ConnectStream, AnswersAreEnvelopesOfTheFormThatWasAskedFor) {
  const std::string bytes = Result().SerializeAsString();
  CallHead call = CallOf(kStreamPath, Protocol::kConnectStream, Codec::kJson);
  call.texts = true;
  const auto json = StreamMessage(call, bytes);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->substr(0, 4), "\x00\x00\x00\x00"s);
  const auto read = nlohmann::json::parse(json->substr(5));
  EXPECT_EQ(read["sequence"], "3");
  EXPECT_EQ(read["result"]["stdout"]["text"], "42\n");
  EXPECT_EQ(
      *StreamMessage(
          CallOf(kStreamPath, Protocol::kConnectStream, Codec::kProto), bytes),
      Enveloped(bytes));
  EXPECT_EQ(*StreamMessage(
                CallOf(kStreamPath, Protocol::kGrpcWeb, Codec::kProto), bytes),
            Enveloped(bytes));
  EXPECT_EQ(
      *StreamMessage(CallOf(kStreamPath, Protocol::kGrpcWebText, Codec::kProto),
                     bytes),
      WebText(Enveloped(bytes)));
  EXPECT_EQ(StreamMessage(call, "\x0a").status().code(),
            absl::StatusCode::kInternal);
}

TEST(ConnectStream, TheEndTellsHowItEnded) {
  const Wire connect = {Protocol::kConnectStream, Codec::kJson};
  EXPECT_EQ(StreamEnd(connect, {}, {}), "\x02\x00\x00\x00\x02{}"s);
  const CallStatus full =
      ToCallStatus(server::QueueFull(7, absl::Milliseconds(1500)));
  const std::string end =
      StreamEnd(connect, full, {{"x-cost", "1"}, {"x-cost", "2"}});
  EXPECT_EQ(end[0], 2);
  const auto json = nlohmann::json::parse(end.substr(5));
  EXPECT_EQ(json["error"]["code"], "resource_exhausted");
  EXPECT_EQ(json["metadata"]["x-cost"], nlohmann::json({"1", "2"}));
  EXPECT_EQ(StreamEnd({Protocol::kGrpcWeb, Codec::kProto}, {}, {}),
            "\x80\x00\x00\x00\x10grpc-status: 0\r\n"s);
  EXPECT_EQ(StreamEnd({Protocol::kGrpcWebText, Codec::kProto}, {}, {}),
            WebText("\x80\x00\x00\x00\x10grpc-status: 0\r\n"s));
}

TEST(ConnectStream, ItBeginsWithTheDaemonsMetadata) {
  const HttpAnswer answer =
      StreamBegin({Protocol::kGrpcWebText, Codec::kProto},
                  {{"x-a", "1"}, {"content-type", "application/grpc"}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(
      answer.headers,
      ElementsAre(
          HeaderField{"content-type", "application/grpc-web-text+proto"},
          HeaderField{"cache-control", "no-store"}, HeaderField{"x-a", "1"}));
  EXPECT_THAT(answer.body, IsEmpty());
}

}  // namespace
}  // namespace sandglass::gateway
