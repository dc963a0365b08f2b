#include "gateway/connect/call_head.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gateway/connect/query.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/unit/gateway/connect/support.h"

namespace sandglass::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr char kList[] = "/sandglass.v1.SandboxService/ListRuns";

HttpHead Post(const std::string& path, const std::string& type,
              HeaderFields more = {}) {
  more.push_back({"Content-Type", type});
  return {.method = "POST", .path = path, .headers = std::move(more)};
}

HttpHead Get(const std::string& query, HeaderFields headers = {}) {
  return {.method = "GET",
          .path = kList,
          .query = query,
          .headers = std::move(headers)};
}

CallHead Accepted(const HttpHead& head) {
  auto read = ReadCallHead(head);
  if (auto* answer = std::get_if<HttpAnswer>(&read)) {
    ADD_FAILURE() << answer->status << " " << answer->body;
    return {};
  }
  return std::get<CallHead>(std::move(read));
}

HttpAnswer Answered(const HttpHead& head) {
  auto read = ReadCallHead(head);
  if (std::holds_alternative<CallHead>(read)) {
    ADD_FAILURE() << "accepted: " << head.path;
    return {};
  }
  return std::get<HttpAnswer>(std::move(read));
}

// A refusal as a unary error of Connect.
void ExpectError(const HttpHead& head, int http, const std::string& code,
                 const std::string& words) {
  const HttpAnswer answer = Answered(head);
  EXPECT_EQ(answer.status, http) << answer.body;
  EXPECT_EQ(HeaderOf(answer, "content-type"), "application/json");
  const auto json = nlohmann::json::parse(answer.body, nullptr, false);
  ASSERT_TRUE(json.is_object()) << answer.body;
  EXPECT_EQ(json["code"], code);
  EXPECT_THAT(json["message"].get<std::string>(), HasSubstr(words));
}

TEST(CallHead, EachContentTypeSaysTheForm) {
  const std::vector<std::pair<const char*, Wire>> unary = {
      {"application/json", {Protocol::kConnectUnary, Codec::kJson}},
      {"Application/JSON; charset=UTF-8",
       {Protocol::kConnectUnary, Codec::kJson}},
      {"application/json;charset=\"utf-8\"",
       {Protocol::kConnectUnary, Codec::kJson}},
      {"application/proto", {Protocol::kConnectUnary, Codec::kProto}},
      {"application/grpc-web", {Protocol::kGrpcWeb, Codec::kProto}},
      {"application/grpc-web+proto", {Protocol::kGrpcWeb, Codec::kProto}},
      {"application/grpc-web-text", {Protocol::kGrpcWebText, Codec::kProto}},
      {"application/grpc-web-text+proto",
       {Protocol::kGrpcWebText, Codec::kProto}}};
  for (const auto& [type, wire] : unary) {
    const CallHead call = Accepted(Post(kRunPath, type));
    EXPECT_EQ(call.wire, wire) << type;
    EXPECT_EQ(call.method, FindMethod(kRunPath));
    EXPECT_FALSE(call.timeout.has_value());
    EXPECT_FALSE(call.texts);
    EXPECT_FALSE(call.query_message.has_value());
  }
  EXPECT_EQ(Accepted(Post(kStreamPath, "application/connect+json")).wire,
            (Wire{Protocol::kConnectStream, Codec::kJson}));
  EXPECT_EQ(Accepted(Post(kStreamPath, "application/connect+proto")).wire,
            (Wire{Protocol::kConnectStream, Codec::kProto}));
  EXPECT_EQ(Accepted(Post(kStreamPath, "application/grpc-web")).wire,
            (Wire{Protocol::kGrpcWeb, Codec::kProto}));
}

TEST(CallHead, OtherContentTypesAre415WithThoseThatThereAre) {
  for (const char* type :
       {"", "text/plain", "application/json; charset=latin1",
        "application/json; charset=utf-8; x=y",
        "application/x-www-form-urlencoded", "application/connect+json",
        "application/grpc", "application/jsonx", "application/grpc-web+json",
        "application/json, application/proto"}) {
    const HttpAnswer answer = Answered(Post(kRunPath, type));
    EXPECT_EQ(answer.status, 415) << type;
    EXPECT_EQ(HeaderOf(answer, "accept-post"),
              "application/json, application/proto, application/grpc-web, "
              "application/grpc-web+proto, application/grpc-web-text, "
              "application/grpc-web-text+proto");
    EXPECT_EQ(HeaderOf(answer, "content-type"), "text/plain; charset=utf-8");
  }
  for (const char* type : {"application/json", "application/proto"}) {
    const HttpAnswer answer = Answered(Post(kStreamPath, type));
    EXPECT_EQ(answer.status, 415) << type;
    EXPECT_THAT(
        HeaderOf(answer, "accept-post"),
        HasSubstr("application/connect+json, application/connect+proto"));
  }
  HttpHead twice = Post(kRunPath, "application/json");
  twice.headers.push_back({"content-type", "application/proto"});
  EXPECT_EQ(Answered(twice).status, 415);
}

TEST(CallHead, OtherPathsAndMethodsOfHttpAreRefused) {
  EXPECT_EQ(Answered(Post("/x", "application/json")).status, 404);
  EXPECT_EQ(Answered({.method = "GET", .path = "/"}).status, 404);
  for (const char* method : {"GET", "PUT", "HEAD", "OPTIONS", "post", ""}) {
    HttpHead head = Post(kRunPath, "application/json");
    head.method = method;
    const HttpAnswer answer = Answered(head);
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(HeaderOf(answer, "allow"), "POST");
  }
  HttpHead head = Post(kList, "application/json");
  head.method = "PUT";
  EXPECT_EQ(HeaderOf(Answered(head), "allow"), "GET, POST");
}

TEST(CallHead, NoRefusalRepeatsTheRequestAsItIs) {
  const HttpAnswer answer =
      Answered(Post("/\r\nx: <script>\xff" + std::string(10'000, 'x'), "a"));
  EXPECT_LE(answer.body.size(), 400u);
  EXPECT_EQ(answer.body.find('\r'), std::string::npos);
  EXPECT_EQ(answer.body.find('\xff'), std::string::npos);
}

TEST(CallHead, TheProtocolsVersionIsOneOrLeftOut) {
  Accepted(
      Post(kRunPath, "application/json", {{"Connect-Protocol-Version", "1"}}));
  for (const char* version : {"", "2", "1 ", "v1"}) {
    ExpectError(Post(kRunPath, "application/json",
                     {{"connect-protocol-version", version}}),
                400, "invalid_argument", "connect-protocol-version is to be 1");
  }
}

TEST(CallHead, TimeoutsAreRead) {
  const auto connect = [](const char* ms) {
    return Accepted(
               Post(kRunPath, "application/json", {{"Connect-Timeout-Ms", ms}}))
        .timeout.value_or(absl::InfiniteDuration());
  };
  EXPECT_EQ(connect("5000"), absl::Seconds(5));
  EXPECT_EQ(connect("0"), absl::ZeroDuration());
  EXPECT_EQ(connect("9999999999"), absl::Milliseconds(9'999'999'999));
  const auto web = [](const char* timeout) {
    return Accepted(Post(kRunPath, "application/grpc-web",
                         {{"grpc-timeout", timeout}}))
        .timeout.value_or(absl::InfiniteDuration());
  };
  EXPECT_EQ(web("2H"), absl::Hours(2));
  EXPECT_EQ(web("2M"), absl::Minutes(2));
  EXPECT_EQ(web("2S"), absl::Seconds(2));
  EXPECT_EQ(web("2m"), absl::Milliseconds(2));
  EXPECT_EQ(web("2u"), absl::Microseconds(2));
  EXPECT_EQ(web("2n"), absl::Nanoseconds(2));
  EXPECT_EQ(web("99999999H"), absl::Hours(24 * 115));
}

TEST(CallHead, OtherTimeoutsAreRefused) {
  for (const char* ms : {"", "-1", "+1", "1.5", "12345678901", "1s", " 1", "x",
                         "99999999999999999999"}) {
    ExpectError(
        Post(kRunPath, "application/json", {{"connect-timeout-ms", ms}}), 400,
        "invalid_argument", "connect-timeout-ms is to be a whole number");
  }
  ExpectError(Post(kRunPath, "application/json",
                   {{"connect-timeout-ms", "1"}, {"Connect-Timeout-Ms", "2"}}),
              400, "invalid_argument", "given twice");
  for (const char* timeout :
       {"", "1", "S", "123456789S", "1s", "-1S", "1 S", "1.5S"}) {
    const HttpAnswer answer = Answered(
        Post(kRunPath, "application/grpc-web", {{"grpc-timeout", timeout}}));
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.body, HasSubstr("grpc-status: 3\r\n")) << timeout;
  }
}

TEST(CallHead, IdentityAndGzipAreEncodings) {
  const auto gzip = [](const char* path, const char* type, const char* name,
                       const char* value) {
    return Accepted(Post(path, type, {{name, value}})).gzip;
  };
  EXPECT_FALSE(Accepted(Post(kRunPath, "application/json",
                             {{"Content-Encoding", "Identity"},
                              {"Accept-Encoding", "gzip"}}))
                   .gzip);
  EXPECT_TRUE(gzip(kRunPath, "application/json", "content-encoding", "GZIP"));
  EXPECT_TRUE(gzip(kStreamPath, "application/connect+json",
                   "connect-content-encoding", "gzip"));
  EXPECT_TRUE(
      gzip(kStreamPath, "application/grpc-web", "grpc-encoding", "gzip"));
  for (const char* encoding : {"br", "gzip, gzip", "deflate", ""}) {
    ExpectError(
        Post(kRunPath, "application/json", {{"content-encoding", encoding}}),
        501, "unimplemented", "only \"identity\" and \"gzip\"");
  }
  // Each protocol has its own header.
  for (const char* name : {"connect-content-encoding", "grpc-encoding"}) {
    ExpectError(Post(kRunPath, "application/json", {{name, "gzip"}}), 501,
                "unimplemented", "only \"identity\"");
  }
}

TEST(CallHead, ARefusedStreamEndsInItsOwnForm) {
  const HttpAnswer connect =
      Answered(Post(kStreamPath, "application/connect+proto",
                    {{"connect-content-encoding", "br"}}));
  EXPECT_EQ(connect.status, 200);
  EXPECT_EQ(HeaderOf(connect, "content-type"), "application/connect+proto");
  ASSERT_GT(connect.body.size(), 5u);
  EXPECT_EQ(connect.body[0], 2);
  const auto end = nlohmann::json::parse(connect.body.substr(5));
  EXPECT_EQ(end["error"]["code"], "unimplemented");
  EXPECT_EQ(end["error"]["details"][0]["debug"]["reason"],
            "UNSUPPORTED_ENCODING");
  const HttpAnswer web = Answered(
      Post(kStreamPath, "application/grpc-web", {{"grpc-encoding", "br"}}));
  EXPECT_EQ(web.status, 200);
  EXPECT_EQ(web.body[0], '\x80');
  EXPECT_THAT(web.body, HasSubstr("grpc-status: 12\r\n"));
}

TEST(CallHead, MetadataIsReadAndChecked) {
  const CallHead call = Accepted(
      Post(kRunPath, "application/json", {{"Authorization", "Bearer t"}}));
  EXPECT_THAT(call.metadata,
              ElementsAre(HeaderField{"authorization", "Bearer t"}));
  ExpectError(
      Post(kRunPath, "application/json", {{"authorization", "a\r\nb: c"}}), 400,
      "invalid_argument", "authorization has a character");
}

TEST(CallHead, TextIsAskedForByAHeaderOrTheQuery) {
  const auto texts = [](const char* value) {
    return Accepted(
               Post(kRunPath, "application/json", {{"Sandglass-Text", value}}))
        .texts;
  };
  EXPECT_TRUE(texts("1"));
  EXPECT_FALSE(texts("0"));
  HttpHead head = Post(kRunPath, "application/json");
  head.query = "text=1";
  EXPECT_TRUE(Accepted(head).texts);
  head.query = "text=yes";
  ExpectError(head, 400, "invalid_argument", "text is to be 0 or 1");
  ExpectError(Post(kRunPath, "application/json", {{"sandglass-text", "true"}}),
              400, "invalid_argument", "sandglass-text is to be 0 or 1");
}

TEST(CallHead, AGetHasItsMessageInTheQuery) {
  const CallHead json = Accepted(
      Get("connect=v1&encoding=json&message=%7B%22pageSize%22:+1%7D&x=y",
          {{"connect-timeout-ms", "10"}}));
  EXPECT_EQ(json.query_message, "{\"pageSize\": 1}");
  EXPECT_EQ(json.wire, (Wire{Protocol::kConnectUnary, Codec::kJson}));
  EXPECT_EQ(json.timeout, absl::Milliseconds(10));
  const CallHead proto = Accepted(
      Get("message=CAE%3D&base64=1&encoding=proto&compression=identity"));
  EXPECT_EQ(proto.query_message, "\x08\x01");
  EXPECT_EQ(proto.wire.codec, Codec::kProto);
  EXPECT_EQ(Accepted(Get("message=&encoding=proto&base64=1")).query_message,
            "");
}

TEST(CallHead, OtherGetsAreRefused) {
  for (const char* query :
       {"", "message={}", "message={}&encoding=xml",
        "message={}&encoding=connect%2Bjson",
        "message={}&encoding=connect+json", "message={}&encoding=grpc-web"}) {
    EXPECT_EQ(Answered(Get(query)).status, 415) << query;
  }
  const std::vector<std::pair<const char*, const char*>> bad = {
      {"encoding=json", "message isn't there"},
      {"encoding=json&message={}&message={}", "given twice"},
      {"encoding=json&encoding=proto&message={}", "given twice"},
      {"encoding=json&message=%7", "\"%\" without two"},
      {"encoding=json&message=%zz", "\"%\" without two"},
      {"encoding=json&message=%ff", "is not UTF-8"},
      {"encoding=json&message=!&base64=1", "is not base64"},
      {"encoding=json&message={}&connect=v2", "connect is to be v1"}};
  for (const auto& [query, words] : bad) {
    ExpectError(Get(query), 400, "invalid_argument", words);
  }
  ExpectError(Get("encoding=json&message={}&compression=br"), 501,
              "unimplemented", "only \"identity\"");
}

TEST(Query, ParametersAreDecoded) {
  const auto read = ReadQuery("a=1&b=%20x+y&c&d==&&%65=f");
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(*read,
              ElementsAre(Pair("a", "1"), Pair("b", " x y"), Pair("c", ""),
                          Pair("d", "="), Pair("e", "f")));
  EXPECT_FALSE(ReadQuery("%").ok());
  EXPECT_FALSE(ReadQuery("a=1&%61=2").ok());
  EXPECT_TRUE(ReadQuery("")->empty());
}

}  // namespace
}  // namespace sandglass::gateway
