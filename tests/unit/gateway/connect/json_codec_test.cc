#include "gateway/connect/json_codec.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gateway/connect/base64.h"
#include "gateway/connect/methods.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "sandglass/v1/files.pb.h"
#include "sandglass/v1/operator.pb.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::gateway {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::util::MessageDifferencer;

template <typename Type>
Type Read(const std::string& json) {
  const auto read = ReadJson(json, *Type::descriptor());
  EXPECT_TRUE(read.ok()) << json << "\n" << read.status();
  Type message;
  if (read.ok()) message.CopyFrom(**read);
  return message;
}

// Fills every field with a value that isn't its default, `seed` apart.
void Fill(Message& message, int seed, int depth);

void FillTime(Message& message, int seed) {
  message.GetReflection()->SetInt64(
      &message, message.GetDescriptor()->FindFieldByName("seconds"), 7 + seed);
  message.GetReflection()->SetInt32(
      &message, message.GetDescriptor()->FindFieldByName("nanos"),
      500'000'000 + seed);
}

void FillMessage(Message& message, int seed, int depth) {
  if (absl::StartsWith(message.GetDescriptor()->full_name(),
                       "google.protobuf.")) {
    FillTime(message, seed);
  } else if (depth > 0 || message.GetDescriptor()->options().map_entry()) {
    Fill(message, seed, depth - 1);
  }
}

void FillOne(Message& message, const FieldDescriptor& field, int seed,
             int depth) {
  const Reflection& reflection = *message.GetReflection();
  const bool many = field.is_repeated();
  const auto put = [&](auto set, auto add, auto value) {
    (reflection.*(many ? add : set))(&message, &field, value);
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(&Reflection::SetInt32, &Reflection::AddInt32, -5 - seed);
    case FieldDescriptor::CPPTYPE_INT64:
      return put(&Reflection::SetInt64, &Reflection::AddInt64,
                 int64_t{-9007199254740993} - seed);
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(&Reflection::SetUInt32, &Reflection::AddUInt32,
                 4294967295u - static_cast<uint32_t>(seed));
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(&Reflection::SetUInt64, &Reflection::AddUInt64,
                 uint64_t{18446744073709551615u} - static_cast<uint64_t>(seed));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put(&Reflection::SetDouble, &Reflection::AddDouble, 1.5e300);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(&Reflection::SetFloat, &Reflection::AddFloat, 0.25f);
    case FieldDescriptor::CPPTYPE_BOOL:
      return put(&Reflection::SetBool, &Reflection::AddBool, true);
    case FieldDescriptor::CPPTYPE_ENUM:
      return put(&Reflection::SetEnumValue, &Reflection::AddEnumValue,
                 field.enum_type()
                     ->value(field.enum_type()->value_count() - 1)
                     ->number());
    case FieldDescriptor::CPPTYPE_STRING:
      return put(&Reflection::SetString, &Reflection::AddString,
                 field.type() == FieldDescriptor::TYPE_BYTES
                     ? absl::StrCat("\xff\x80", std::string(1, '\0'), seed)
                     : absl::StrCat("\"é\\\n\U0001f600 ", seed));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return FillMessage(many ? *reflection.AddMessage(&message, &field)
                              : *reflection.MutableMessage(&message, &field),
                         seed, depth);
  }
}

void Fill(Message& message, int seed, int depth) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const auto* const oneof = field.real_containing_oneof();
    // Of a oneof another one each time.
    if (oneof != nullptr &&
        field.index_in_oneof() != seed % oneof->field_count()) {
      continue;
    }
    FillOne(message, field, seed, depth);
    if (field.is_repeated()) FillOne(message, field, seed + 1, depth);
  }
}

TEST(JsonCodec, WhatProtobufWritesOfAnyMessageOfTheApiIsReadBackTheSame) {
  constexpr int kDepth = 5;
  int texts = 0;
  for (const Method& method : ApiMethods()) {
    for (const auto* type : {method.request, method.response}) {
      for (const int seed : {0, 1, 2, 3, 4, 5}) {
        const auto message = NewMessage(*type);
        Fill(*message, seed, kDepth);
        std::string json;
        ASSERT_TRUE(
            google::protobuf::util::MessageToJsonString(*message, &json).ok());
        const auto read = ReadJson(json, *type);
        ASSERT_TRUE(read.ok()) << type->full_name() << read.status();
        EXPECT_TRUE(MessageDifferencer::Equals(**read, *message)) << json;
        // And protobuf's own reader agrees with ours.
        const auto again = NewMessage(*type);
        ASSERT_TRUE(
            google::protobuf::util::JsonStringToMessage(json, again.get())
                .ok());
        EXPECT_TRUE(MessageDifferencer::Equals(**read, *again)) << json;
        texts += message->ByteSizeLong() > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GE(texts, 500);
}

TEST(JsonCodec, WhatIsWrittenOfAnyAnswerIsReadBackTheSame) {
  constexpr int kDepth = 5;
  for (const Method& method : ApiMethods()) {
    const auto message = NewMessage(*method.response);
    Fill(*message, 1, kDepth);
    const auto json =
        WriteJson(message->SerializeAsString(), *method.response, false);
    ASSERT_TRUE(json.ok()) << json.status();
    const auto read = ReadJson(*json, *method.response);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(MessageDifferencer::Equals(**read, *message)) << *json;
  }
}

TEST(JsonCodec, AFieldHasBothSpellings) {
  EXPECT_EQ(Read<v1::RunCodeRequest>(R"({"requestId": "a"})").request_id(),
            "a");
  EXPECT_EQ(Read<v1::RunCodeRequest>(R"({"request_id": "a"})").request_id(),
            "a");
}

TEST(JsonCodec, NullIsAsIfTheNameWerentThere) {
  const auto request = Read<v1::RunCodeRequest>(
      R"({"language": null, "limits": null, "files": null, "env": null,
          "priority": null, "stdin": null, "code": "x"})");
  v1::RunCodeRequest expected;
  expected.set_code("x");
  EXPECT_TRUE(MessageDifferencer::Equals(request, expected));
}

TEST(JsonCodec, WholeNumbersMayBeWrittenAsStringsOrWithExponents) {
  for (const char* number :
       {"2097152", "\"2097152\"", "2097152.0", "2.097152e6", "2097152e0"}) {
    const auto request = Read<v1::RunCodeRequest>(
        absl::StrCat(R"({"limits": {"memoryBytes": )", number, "}}"));
    EXPECT_EQ(request.limits().memory_bytes(), 2097152u) << number;
  }
  EXPECT_EQ(Read<v1::RunCodeRequest>(
                R"({"limits": {"memoryBytes": 18446744073709551615}})")
                .limits()
                .memory_bytes(),
            18446744073709551615u);
  EXPECT_EQ(
      Read<v1::ListRunsRequest>(R"({"pageSize": -2147483648})").page_size(),
      -2147483647 - 1);
}

TEST(JsonCodec, BytesAreBase64OfEitherAlphabetPaddedOrNot) {
  for (const char* text : {"+/8=", "+/8", "-_8=", "-_8"}) {
    EXPECT_EQ(
        Read<v1::RunCodeRequest>(absl::StrCat(R"({"stdin": ")", text, R"("})"))
            .stdin(),
        "\xfb\xff")
        << text;
  }
  EXPECT_EQ(Read<v1::RunCodeRequest>(R"({"stdin": ""})").stdin(), "");
}

TEST(JsonCodec, EnumsAreNamesOrNumbers) {
  for (const char* value : {"\"RUN_PRIORITY_BATCH\"", "1", "1.0"}) {
    EXPECT_EQ(
        Read<v1::RunCodeRequest>(absl::StrCat(R"({"priority": )", value, "}"))
            .priority(),
        v1::RUN_PRIORITY_BATCH)
        << value;
  }
}

TEST(JsonCodec, TimesAreText) {
  const auto limits =
      Read<v1::Limits>(R"({"wallTime": "1.5s", "cpuTime": "-0.000000001s"})");
  EXPECT_EQ(limits.wall_time().seconds(), 1);
  EXPECT_EQ(limits.wall_time().nanos(), 500'000'000);
  EXPECT_EQ(limits.cpu_time().nanos(), -1);
  const auto summary =
      Read<v1::RunSummary>(R"({"createTime": "1970-01-01T01:00:01.25+01:00"})");
  EXPECT_EQ(summary.create_time().seconds(), 1);
  EXPECT_EQ(summary.create_time().nanos(), 250'000'000);
}

TEST(JsonCodec, SurrogatePairsAreOneCharacter) {
  EXPECT_EQ(Read<v1::RunCodeRequest>(R"({"code": "\ud83d\ude00"})").code(),
            "\U0001f600");
}

TEST(JsonCodec, AMemberOfAOneofMayStandBesideNullsOfTheOthers) {
  const auto response = Read<v1::StreamRunCodeResponse>(
      R"({"started": null, "chunk": {"data": "YQ=="}, "result": null})");
  EXPECT_EQ(response.chunk().data(), "a");
}

v1::RunCodeResponse Printed(const std::string& data) {
  v1::RunCodeResponse response;
  response.mutable_stdout()->set_data(data);
  response.mutable_stderr()->set_data("\xff");
  response.add_files()->set_path("a.txt");
  response.mutable_files(0)->set_content("c");
  response.add_results()->add_data()->set_data("d");
  return response;
}

TEST(JsonCodec, BytesAreTextBesidesOnlyWhereItIsAskedFor) {
  const std::string bytes = Printed("héllo\n").SerializeAsString();
  const auto& type = *v1::RunCodeResponse::descriptor();
  const auto plain = WriteJson(bytes, type, false);
  ASSERT_TRUE(plain.ok());
  EXPECT_THAT(*plain, ::testing::Not(::testing::HasSubstr("ext\"")));
  const auto with = WriteJson(bytes, type, true);
  ASSERT_TRUE(with.ok());
  const auto json = nlohmann::json::parse(*with);
  EXPECT_EQ(json["stdout"]["text"], "héllo\n");
  EXPECT_EQ(json["stdout"]["data"], absl::Base64Escape("héllo\n"));
  EXPECT_FALSE(json["stderr"].contains("text"));
  EXPECT_EQ(json["files"][0]["pathText"], "a.txt");
  EXPECT_EQ(json["files"][0]["text"], "c");
  EXPECT_EQ(json["results"][0]["data"][0]["text"], "d");
  // A client of this schema reads both, since both are of it.
  v1::RunCodeResponse read;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(*with, &read).ok());
}

TEST(JsonCodec, AnAnswerThatIsNoSuchMessageIsAnError) {
  const auto& type = *v1::RunCodeResponse::descriptor();
  for (const char* bytes : {"\x0a", "\x0a\x05no", "\x0a\x01\xff"}) {
    const auto json = WriteJson(bytes, type, false);
    EXPECT_EQ(json.status().code(), absl::StatusCode::kInternal);
  }
  v1::RunCodeResponse late;
  late.mutable_start_time()->set_seconds(int64_t{1} << 60);
  EXPECT_EQ(WriteJson(late.SerializeAsString(), type, false).status().code(),
            absl::StatusCode::kInternal);
}

TEST(Base64, OtherTextIsNone) {
  EXPECT_EQ(DecodeBase64(""), "");
  EXPECT_EQ(DecodeBase64("YQ=="), "a");
  EXPECT_EQ(DecodeBase64("YQ"), "a");
  for (const char* text : {"Y", "YQ=", "YQ===", "=", "====", "Y Q=", "YQ==YQ==",
                           "YQ\n", "é", "YWJj=", "YW.j"}) {
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
  }
  EXPECT_EQ(UnpaddedBase64("a"), "YQ");
  EXPECT_EQ(UnpaddedBase64(""), "");
}

}  // namespace
}  // namespace sandglass::gateway
