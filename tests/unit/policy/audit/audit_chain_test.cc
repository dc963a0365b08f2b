#include "policy/audit/audit_chain.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sandglass::policy {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

constexpr char kZeros[] =
    "0000000000000000000000000000000000000000000000000000000000000000";
const absl::Time kTime =
    absl::FromUnixSeconds(1'738'315'800) + absl::Microseconds(42);

std::string Body(const std::string& event, const Json& fields) {
  const auto body = AuditBody(event, fields);
  EXPECT_TRUE(body.ok()) << body.status();
  return body.value_or("");
}

TEST(AuditChain, ALineIsItsBytesAndTheirSum) {
  AuditHead head;
  const std::string line =
      MakeAuditLine(Body("run", {{"a", 1}, {"b", "x"}}), kTime, head);
  const std::string hashed =
      std::string(
          "{\"seq\":1,\"time\":\"2025-01-31T09:30:00.000042Z\",\"prev\":\"") +
      kZeros + "\",\"event\":\"run\",\"a\":1,\"b\":\"x\"";
  EXPECT_EQ(head, (AuditHead{1, AuditHash(hashed)}));
  EXPECT_EQ(line, hashed + ",\"hash\":\"" + head.hash + "\"}\n");
  EXPECT_TRUE(Json::accept(line));
  const AuditHead first = head;
  const std::string next = MakeAuditLine(Body("stop", nullptr), kTime, head);
  EXPECT_THAT(next, HasSubstr("{\"seq\":2,"));
  EXPECT_THAT(next, HasSubstr("\"prev\":\"" + first.hash + "\""));
  EXPECT_TRUE(Json::accept(next));
}

TEST(AuditChain, TheSumIsSha256) {
  // FIPS 180-2, B.1.
  EXPECT_EQ(AuditHash("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(AuditChain, ALineIsReadBack) {
  AuditHead head{41, AuditHash("before")};
  std::string line =
      MakeAuditLine(Body("run", {{"a", "\"},\"hash\":\""}}), kTime, head);
  line.pop_back();
  const auto parts = ReadAuditLine(line);
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(parts->seq, 42u);
  EXPECT_EQ(parts->time, "2025-01-31T09:30:00.000042Z");
  EXPECT_EQ(parts->prev, AuditHash("before"));
  EXPECT_EQ(parts->event, "run");
  EXPECT_EQ(parts->hash, head.hash);
  EXPECT_EQ(HashOfAuditLine(line), head.hash);
  EXPECT_EQ(parts->body, Body("run", {{"a", "\"},\"hash\":\""}}));
}

TEST(AuditChain, WhatHasNotTheFormIsNoLine) {
  AuditHead head;
  std::string line = MakeAuditLine(Body("run", {{"a", 1}}), kTime, head);
  line.pop_back();
  ASSERT_TRUE(ReadAuditLine(line).has_value());
  for (size_t size = 0; size < line.size(); ++size) {
    EXPECT_FALSE(ReadAuditLine(line.substr(0, size)).has_value()) << size;
    EXPECT_FALSE(ReadAuditLine(line.substr(size + 1)).has_value()) << size;
  }
  const auto with = [&](const std::string& old, const std::string& other) {
    std::string changed = line;
    changed.replace(changed.find(old), old.size(), other);
    return ReadAuditLine(changed).has_value();
  };
  EXPECT_FALSE(with("\"seq\":1", "\"seq\":0"));
  EXPECT_FALSE(with("\"seq\":1", "\"seq\":01"));
  EXPECT_FALSE(with("\"seq\":1", "\"seq\":-1"));
  EXPECT_FALSE(with("\"seq\":1", "\"seq\": 1"));
  EXPECT_FALSE(with("\"seq\":1", "\"seq\":99999999999999999999"));
  EXPECT_FALSE(with("\"seq\":1", "\"seq\":18446744073709551615"));
  EXPECT_FALSE(with("2025", "2o25"));
  EXPECT_FALSE(with("Z\"", "+\""));
  EXPECT_FALSE(with(kZeros, std::string(64, 'A')));
  EXPECT_FALSE(with(kZeros, std::string(63, '0')));
  EXPECT_FALSE(with("\"run\"", "\"Run\""));
  EXPECT_FALSE(with("\"run\"", "\"\""));
  EXPECT_FALSE(with("\"run\",", "\"run\":"));
  EXPECT_FALSE(with("\"run\"", "\"" + std::string(33, 'a') + "\""));
  EXPECT_TRUE(with("\"run\"", "\"" + std::string(32, 'a') + "\""));
}

TEST(AuditChain, ValuesCanHoldAnything) {
  const std::string body =
      Body("run", {{"text", std::string("\xff\0\n\x1b\x7f\xc3\xa4\"\\", 9)},
                   {"more", "\xe2\x80\xae"}});
  for (const char c : body) EXPECT_TRUE(c >= ' ' && c <= '~') << body;
  EXPECT_THAT(body,
              HasSubstr("\\ufffd\\u0000\\n\\u001b\\u007f\\u00e4\\\"\\\\"));
  AuditHead head;
  EXPECT_TRUE(Json::accept(MakeAuditLine(body, kTime, head)));
}

TEST(AuditChain, FieldsThatCantBeAreRefused) {
  for (const char* key : {"seq", "time", "prev", "event", "hash"}) {
    const auto body = AuditBody("run", {{key, 1}});
    EXPECT_EQ(body.status().code(), absl::StatusCode::kInvalidArgument) << key;
    EXPECT_THAT(std::string(body.status().message()), HasSubstr(key));
  }
  EXPECT_FALSE(AuditBody("run", Json::array()).ok());
  EXPECT_FALSE(AuditBody("run", "text").ok());
  EXPECT_FALSE(AuditBody("", {}).ok());
  EXPECT_FALSE(AuditBody("a b", {}).ok());
  EXPECT_FALSE(AuditBody("run\"", {}).ok());
  EXPECT_FALSE(AuditBody(std::string(33, 'a'), {}).ok());
  EXPECT_EQ(Body("run", Json::object()), "\"event\":\"run\"");
}

TEST(AuditChain, HeadsAreWrittenAndRead) {
  const AuditHead head{7, AuditHash("x")};
  const auto read = ParseAuditHead(FormatAuditHead(head));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, head);
  EXPECT_EQ(ParseAuditHead(std::string("0:") + kZeros).value(), AuditHead());
  for (const std::string& bad :
       {std::string(), std::string(":"), "7:" + head.hash + "0",
        "7" + head.hash, "-7:" + head.hash, " 7:" + head.hash,
        "07:" + head.hash, "7:" + head.hash + "\n", "7:" + head.hash.substr(1),
        "7:" + std::string(64, 'g'), "0:" + head.hash,
        "99999999999999999999:" + head.hash, std::string("7:\x1b\0", 4)}) {
    const auto parsed = ParseAuditHead(bad);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument)
        << bad;
    EXPECT_EQ(parsed.status().message().find('\x1b'), absl::string_view::npos);
  }
}

TEST(AuditChain, FilesAreNamedByTheirFirstLine) {
  EXPECT_EQ(AuditFileName(1), "audit-0000000001.jsonl");
  EXPECT_EQ(AuditFileName(12'345'678'901), "audit-12345678901.jsonl");
  EXPECT_EQ(ParseAuditFileName("audit-0000000001.jsonl"), 1u);
  EXPECT_EQ(ParseAuditFileName("audit-12345678901.jsonl"), 12'345'678'901u);
  for (const char* bad :
       {"", "audit-.jsonl", "audit-1.jsonl", "audit-0000000000.jsonl",
        "audit-00000000001.jsonl", "audit-0000000001.jsonl.gz",
        "audit-000000000x.jsonl", "xaudit-0000000001.jsonl",
        "audit-99999999999999999999.jsonl", "audit- 000000001.jsonl",
        "audit-+000000001.jsonl"}) {
    EXPECT_FALSE(ParseAuditFileName(bad).has_value()) << bad;
  }
}

TEST(AuditChain, WhatACrashLeftIsNamed) {
  const std::string body = RecoveredBody("{\"seq\":3,\"ti");
  EXPECT_THAT(body, StartsWith("\"event\":\"recovered\",\"torn_bytes\":12,"));
  EXPECT_THAT(body, EndsWith("\"" + AuditHash("{\"seq\":3,\"ti") + "\""));
}

}  // namespace
}  // namespace sandglass::policy
