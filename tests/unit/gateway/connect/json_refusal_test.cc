// Requests as JSON that are refused, each with its place and what was expected.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/connect/json_codec.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "sandglass/v1/files.pb.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::gateway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// The one violation of the refusal; it is the message as well.
google::rpc::BadRequest::FieldViolation Violation(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  google::rpc::BadRequest bad;
  const auto payload =
      status.GetPayload("type.googleapis.com/google.rpc.BadRequest");
  EXPECT_TRUE(payload.has_value()) << status;
  if (payload.has_value()) bad.ParseFromString(std::string(*payload));
  EXPECT_THAT(bad.field_violations(), SizeIs(1));
  if (bad.field_violations_size() != 1) return {};
  // Of long places the detail has the beginning.
  constexpr size_t kLong = 200;
  if (bad.field_violations(0).field().size() >= kLong) {
    return bad.field_violations(0);
  }
  EXPECT_EQ(status.message(),
            absl::StrCat(bad.field_violations(0).field(), ": ",
                         bad.field_violations(0).description()));
  return bad.field_violations(0);
}

google::rpc::BadRequest::FieldViolation Refused(const std::string& json) {
  return Violation(ReadJson(json, *v1::RunCodeRequest::descriptor()).status());
}

struct Case {
  std::string json;
  std::string place;
  std::string words;
};

void ExpectRefused(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    const auto violation = Refused(each.json);
    EXPECT_EQ(violation.field(), each.place) << each.json;
    EXPECT_THAT(violation.description(), HasSubstr(each.words)) << each.json;
  }
}

TEST(JsonRefusal, WhatIsNoJson) {
  ExpectRefused({
      {"", "$", "is no JSON"},
      {" ", "$", "is no JSON"},
      {"{", "$", "is no JSON"},
      {"{}x", "$", "is no JSON"},
      {"{}{}", "$", "is no JSON"},
      {"{'code': 'x'}", "$", "is no JSON"},
      {"{code: \"x\"}", "$", "is no JSON"},
      {R"({"code": "x",})", "code", "is no JSON"},
      {R"({"code": "x" "a": 1})", "code", "is no JSON"},
      {R"({"args": ["a",]})", "args[1]", "is no JSON"},
      {"// words\n{}", "$", "is no JSON"},
      {R"({"code": "a)", "code", "is no JSON"},
      {"{\"code\": \"a\nb\"}", "code", "is no JSON"},
      {R"({"code": "\x41"})", "code", "is no JSON"},
      {R"({"code": tru})", "code", "is no JSON"},
      {R"({"pageSize": 01})", "pageSize", "is no field"},
      {R"({"priority": 01})", "priority", "is no JSON"},
      {R"({"priority": +1})", "priority", "is no JSON"},
      {R"({"priority": NaN})", "priority", "is no JSON"},
  });
}

TEST(JsonRefusal, AnotherRootThanAnObject) {
  ExpectRefused({{"null", "$", "expected an object, got null"},
                 {"[]", "$", "expected an object, got a list"},
                 {"1", "$", "expected an object, got the number 1"},
                 {"\"x\"", "$", "expected an object, got the string \"x\""},
                 {"true", "$", "expected an object, got true"}});
}

TEST(JsonRefusal, TextThatIsNotUtf8OrHasHalfASurrogatePair) {
  ExpectRefused({
      {"{\"code\": \"\xff\"}", "code", "is no JSON"},
      {"{\"code\": \"\xc0\x80\"}", "code", "is no JSON"},      // overlong
      {"{\"code\": \"\xed\xa0\x80\"}", "code", "is no JSON"},  // surrogate
      {"{\"c\xff\": 1}", "$", "is no JSON"},
      {R"({"code": "\ud800"})", "code", "is no JSON"},
      {R"({"code": "\udc00"})", "code", "is no JSON"},
      {R"({"code": "\ud800\ud800"})", "code", "is no JSON"},
      {R"({"code": "\ud800x"})", "code", "is no JSON"},
      {R"({"code": "\ud8"})", "code", "is no JSON"},
  });
}

TEST(JsonRefusal, NulInAnyForm) {
  using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
  ExpectRefused({{"{}\0"s, "$", "a NUL at byte 2"},
                 {"\0"s, "$", "a NUL at byte 0"},
                 {"{\"code\": \"a\0b\"}"s, "$", "a NUL at byte 11"},
                 {R"({"code": "a\u0000b"})", "code", "has a NUL"},
                 {R"({"args": ["", "\u0000"]})", "args[1]", "has a NUL"},
                 {R"({"env": {"A": "\u0000"}})", R"(env["A"])", "has a NUL"},
                 {R"({"env": {"A\u0000": ""}})", "env", "has a name with"},
                 {R"({"co\u0000de": ""})", "$", "has a name with"}});
}

TEST(JsonRefusal, NamesThatTheMessageDoesNotHave) {
  ExpectRefused({
      {R"({"codes": "x"})", "codes",
       "is no field of RunCodeRequest; did you mean \"code\"?"},
      {R"({"limits": {"walltime": "1s"}})", "limits.walltime",
       "is no field of Limits; did you mean \"wallTime\"?"},
      {R"({"files": [{}, {"mode": 1}]})", "files[1].mode",
       "is no field of InputFile"},
      {R"({"": 1})", R"([""])", "is no field"},
      {R"({"a b": 1})", R"(["a b"])", "is no field"},
      {R"({"Code": 1})", "Code", "is no field"},
      // Whatever it holds, it is refused before that is looked at.
      {R"({"zzz": [[[[)", "zzz", "is no field"},
      {"{\"a\xc3\xa9\": 1}", R"(["a\xc3\xa9"])", "is no field"},
  });
  const auto long_name = Refused("{\"" + std::string(100'000, 'x') + "\": 1}");
  EXPECT_LE(long_name.field().size(), 100u);
}

TEST(JsonRefusal, NamesThatAreThereTwice) {
  ExpectRefused({
      {R"({"code": "a", "code": "a"})", "code", "is given twice"},
      {R"({"requestId": "a", "request_id": "a"})", "request_id",
       "is given twice; expected requestId once"},
      {R"({"limits": {}, "limits": {}})", "limits", "is given twice"},
      {R"({"code": null, "code": "a"})", "code", "is given twice"},
      {R"({"env": {"A": "1", "A": "2"}})", R"(env["A"])", "is given twice"},
  });
  const auto oneof =
      Violation(ReadJson(R"({"started": {}, "chunk": {}})",
                         *v1::StreamRunCodeResponse::descriptor())
                    .status());
  EXPECT_EQ(oneof.field(), "chunk");
  EXPECT_THAT(oneof.description(), HasSubstr("one of several"));
}

TEST(JsonRefusal, ValuesOfAnotherType) {
  ExpectRefused({
      {R"({"code": 1})", "code", "expected a string, got the number 1"},
      {R"({"code": true})", "code", "expected a string, got true"},
      {R"({"code": {}})", "code", "expected a string, got an object"},
      {R"({"code": ["a"]})", "code", "expected a string, got a list"},
      {R"({"richResults": "true"})", "richResults",
       "expected true or false, got the string \"true\""},
      {R"({"richResults": 1})", "richResults", "expected true or false"},
      {R"({"limits": "x"})", "limits", "expected an object (Limits)"},
      {R"({"limits": []})", "limits",
       "expected an object (Limits), got a list"},
      {R"({"files": {}})", "files",
       "expected a list, of an object (InputFile) each, got an object"},
      {R"({"files": [null]})", "files[0]",
       "expected an object (InputFile), got null"},
      {R"({"files": [[]]})", "files[0]", "got a list"},
      {R"({"args": "a"})", "args", "expected a list, of a string each"},
      {R"({"args": ["a", null]})", "args[1]", "expected a string, got null"},
      {R"({"args": [["a"]]})", "args[0]", "expected a string, got a list"},
      {R"({"env": []})", "env", "expected an object, got a list"},
      {R"({"env": {"A": 1}})", R"(env["A"])", "expected a string"},
      {R"({"env": {"A": null}})", R"(env["A"])", "expected a string, got null"},
      {R"({"env": {"A": {}}})", R"(env["A"])", "got an object"},
      {R"({"env": "A=1"})", "env", "expected an object"},
  });
}

TEST(JsonRefusal, NumbersThatDoNotFit) {
  const std::string memory = R"({"limits": {"memoryBytes": )";
  const std::string processes = R"({"limits": {"maxProcesses": )";
  const char* const kWide =
      "expected a whole number from 0 to 18446744073709551615";
  const char* const kNarrow = "expected a whole number from 0 to 4294967295";
  for (const char* number : {"-1",
                             "18446744073709551616",
                             "1e400",
                             "-1e400",
                             "1e20",
                             "1.5",
                             "1e-1",
                             "1e-999999999",
                             "9007199254740993.0",
                             "123456789012345678901234567890",
                             "\"-1\"",
                             "\"18446744073709551616\"",
                             "\"1e3\"",
                             "\" 1\"",
                             "\"01\"",
                             "\"+1\"",
                             "\"\"",
                             "\"0x10\"",
                             "\"1.0\"",
                             "\"-\"",
                             "true",
                             "{}",
                             "[]"}) {
    ExpectRefused({{memory + number + "}}", "limits.memoryBytes", kWide}});
  }
  for (const char* number : {"4294967296", "-1", "\"4294967296\"", "0.5"}) {
    ExpectRefused(
        {{processes + number + "}}", "limits.maxProcesses", kNarrow}});
  }
  const auto huge = Refused(memory + "1e" + std::string(1'000'000, '9') + "}}");
  EXPECT_THAT(huge.description(),
              AllOf(HasSubstr(kWide), SizeIs(::testing::Le(200u))));
  const auto page = Violation(ReadJson(R"({"pageSize": 2147483648})",
                                       *v1::ListRunsRequest::descriptor())
                                  .status());
  EXPECT_THAT(page.description(),
              HasSubstr("whole number from -2147483648 to 2147483647"));
}

TEST(JsonRefusal, EnumsBase64AndTimesThatAreNone) {
  ExpectRefused({
      {R"({"priority": "BATCH"})", "priority",
       "expected one of RUN_PRIORITY_UNSPECIFIED, RUN_PRIORITY_BATCH, got the "
       "string \"BATCH\""},
      {R"({"priority": 99})", "priority", "expected one of"},
      {R"({"priority": 1.5})", "priority", "expected one of"},
      {R"({"stdin": "a"})", "stdin", "expected a string of base64"},
      {R"({"stdin": "YQ=\n="})", "stdin", "expected a string of base64"},
      {R"({"stdin": "hello world"})", "stdin", "expected a string of base64"},
      {R"({"stdin": 1})", "stdin", "expected a string of base64"},
  });
  for (const char* time :
       {"\"\"", "\"1\"", "\"s\"", "\"1 s\"", "\"1.s\"", "\".5s\"", "\"+1s\"",
        "\"1.0000000001s\"", "\"315576000001s\"", "\"-315576000001s\"",
        "\"99999999999999999999s\"", "\"1m\"", "1", "{\"seconds\": 1}",
        "\"0x1s\"", "\"1e3s\"", "\"infs\""}) {
    ExpectRefused({{absl::StrCat(R"({"limits": {"wallTime": )", time, "}}"),
                    "limits.wallTime",
                    "expected a duration in seconds such as \"1.5s\""}});
  }
  for (const char* time :
       {"", "now", "infinite-future", "2026-01-31", "2026-01-31T12:00:00",
        "2026-02-30T12:00:00Z", "10000-01-01T00:00:00Z", "0000-01-01T00:00:00Z",
        "2026-01-31 12:00:00Z", "-001-01-01T00:00:00Z"}) {
    const auto refused =
        Violation(ReadJson(absl::StrCat(R"({"createTime": ")", time, "\"}"),
                           *v1::RunSummary::descriptor())
                      .status());
    EXPECT_EQ(refused.field(), "createTime") << time;
    EXPECT_THAT(refused.description(), HasSubstr("expected a time")) << time;
  }
}

TEST(JsonRefusal, MoreThanTheBounds) {
  const auto& type = *v1::RunCodeRequest::descriptor();
  const auto words = [&type](const std::string& json,
                             const JsonBounds& bounds) {
    return Violation(ReadJson(json, type, bounds).status()).description();
  };
  const std::string json = R"({"args": ["a", "b"]})";
  EXPECT_TRUE(ReadJson(json, type, {.bytes = json.size()}).ok());
  EXPECT_THAT(words(json, {.bytes = json.size() - 1}),
              HasSubstr("expected at most 19 bytes, got 20"));
  EXPECT_TRUE(ReadJson(json, type, {.depth = 2}).ok());
  EXPECT_THAT(words(json, {.depth = 1}),
              HasSubstr("expected at most 1 objects"));
  EXPECT_TRUE(ReadJson(json, type, {.values = 4}).ok());
  EXPECT_THAT(words(json, {.values = 3}),
              HasSubstr("expected at most 3 values"));
}

TEST(JsonRefusal, BombsEndAtTheBounds) {
  // Two bytes of JSON are a message each.
  std::string many = R"({"files": [{})";
  for (int i = 0; i < 1'000'000; ++i) many += ",{}";
  const auto refused = Refused(many + "]}");
  EXPECT_EQ(refused.field(), "files[99998]");
  EXPECT_THAT(refused.description(),
              HasSubstr("expected at most 100000 values"));
  // Of a type that may hold itself without end.
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += R"({"nestedType":[)";
  const auto nested =
      Violation(ReadJson(deep, *google::protobuf::DescriptorProto::descriptor())
                    .status());
  EXPECT_THAT(nested.field(), StartsWith("nestedType[0].nestedType[0]"));
  EXPECT_THAT(nested.description(), HasSubstr("at most 32"));
  EXPECT_EQ(Refused(std::string(1'000'000, '[')).description(),
            "expected an object, got a list");
}

TEST(JsonRefusal, NoMessageHasMoreThanALineOfTheRequest) {
  const std::string text(1'000'000, 'x');
  for (const std::string& json :
       {"{\"code\": \"" + text, "{\"code\": " + text,
        "{\"priority\": \"" + text + "\"}", "{\"env\": {\"" + text + "\": 1}}",
        "{\"stdin\": \"!" + text + "\"}"}) {
    const auto refused = Refused(json);
    EXPECT_LE(refused.field().size() + refused.description().size(), 500u);
  }
}

}  // namespace
}  // namespace sandglass::gateway
