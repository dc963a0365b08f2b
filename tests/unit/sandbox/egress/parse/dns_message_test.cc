#include "sandbox/egress/parse/dns_message.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/hex.h"

namespace sandglass::egress {
namespace {

using ::testing::HasSubstr;
using Kind = ParsedDns::Kind;

std::string Short(unsigned number) {
  return {static_cast<char>(number >> 8 & 0xff),
          static_cast<char>(number & 0xff)};
}

std::string Header(unsigned flags, unsigned questions = 1,
                   unsigned additional = 0) {
  return "\xab\xcd" + Short(flags) + Short(questions) + Short(0) + Short(0) +
         Short(additional);
}

std::string Name(const std::vector<std::string>& labels) {
  std::string name;
  for (const std::string& label : labels) {
    name.push_back(static_cast<char>(label.size()));
    name += label;
  }
  return name + '\0';
}

std::string Question(const std::vector<std::string>& labels, unsigned type,
                     unsigned dns_class = 1) {
  return Name(labels) + Short(type) + Short(dns_class);
}

std::string Opt(const std::string& options = "", unsigned version = 0) {
  return '\0' + Short(41) + Short(1232) + Short(version) + Short(0x8000) +
         Short(static_cast<unsigned>(options.size())) + options;
}

std::string Query(const std::vector<std::string>& labels, unsigned type) {
  return Header(0x0100) + Question(labels, type);
}

DnsQuery Taken(const std::string& message) {
  const ParsedDns parsed = ParseDnsQuery(message);
  EXPECT_EQ(parsed.kind, Kind::kQuery) << parsed.words;
  return parsed.query;
}

// Returns the answer to it.
std::string ExpectError(const std::string& message, DnsCode code,
                        const std::string& words) {
  const ParsedDns parsed = ParseDnsQuery(message);
  EXPECT_EQ(parsed.kind, Kind::kError) << words;
  EXPECT_EQ(parsed.code, code) << parsed.words;
  EXPECT_THAT(parsed.words, HasSubstr(words));
  return BuildDnsAnswer(parsed.query, parsed.code);
}

TEST(DnsQueryTest, ReadsAQueryForAnAddress) {
  const DnsQuery query = Taken(Query({"Www", "Example_x", "COM"}, kDnsTypeA));
  EXPECT_EQ(query.id, 0xabcd);
  EXPECT_EQ(query.name, "www.example_x.com");
  EXPECT_EQ(query.type, kDnsTypeA);
  EXPECT_TRUE(query.recursion_desired);
  EXPECT_FALSE(query.checking_disabled);
  EXPECT_FALSE(query.edns);
  EXPECT_EQ(query.question, Question({"Www", "Example_x", "COM"}, kDnsTypeA));
}

// With EDNS and a cookie, as dig asks.
TEST(DnsQueryTest, ReadsAQueryOfDig) {
  const DnsQuery query = Taken(sandglass::testing::FromHex(
      "2b1d012000010000000000010161016200001c0001"
      "000029100000000000000c000a0008a2d5b2b4ad5e3a4f"));
  EXPECT_EQ(query.name, "a.b");
  EXPECT_EQ(query.type, kDnsTypeAaaa);
  EXPECT_TRUE(query.edns);
}

TEST(DnsQueryTest, ReadsTheRootAndTheLongestName) {
  EXPECT_EQ(Taken(Query({}, 2)).name, "");
  const std::string label(63, 'a');
  const std::vector<std::string> longest = {label, label, label,
                                            std::string(61, 'a')};
  const DnsQuery query = Taken(Query(longest, kDnsTypeA));
  EXPECT_EQ(query.name.size(), 253u);
  ExpectError(Query({label, label, label, std::string(62, 'a')}, kDnsTypeA),
              DnsCode::kFormatError, "more than 255");
  // Many small ones.
  EXPECT_EQ(Taken(Query(std::vector<std::string>(127, "a"), 1)).name.size(),
            253u);
  ExpectError(Query(std::vector<std::string>(128, "a"), 1),
              DnsCode::kFormatError, "more than 255");
}

TEST(DnsQueryTest, ReadsAQueryWithEdns) {
  const std::string question = Question({"a"}, kDnsTypeA);
  EXPECT_TRUE(Taken(Header(0x0010, 1, 1) + question + Opt()).edns);
  EXPECT_TRUE(Taken(Header(0x0010, 1, 1) + question + Opt("padding"))
                  .checking_disabled);
  const std::string answer =
      ExpectError(Header(0, 1, 1) + question + Opt("", 1), DnsCode::kBadVersion,
                  "version of EDNS is 1");
  // The code's high bits are in the OPT record.
  EXPECT_EQ(answer, "\xab\xcd" + Short(0x8080) + Short(1) + Short(0) +
                        Short(0) + Short(1) + question + '\0' + Short(41) +
                        Short(kMaxDnsQueryBytes) + Short(0x0100) + Short(0) +
                        Short(0));
}

TEST(DnsQueryTest, WhatIsNoQueryIsDropped) {
  const std::string query = Query({"a"}, 1);
  for (size_t size = 0; size < 12; ++size) {
    EXPECT_EQ(ParseDnsQuery(query.substr(0, size)).kind, Kind::kDrop);
  }
  const ParsedDns answer = ParseDnsQuery(Header(0x8000) + Question({"a"}, 1));
  EXPECT_EQ(answer.kind, Kind::kDrop);
  EXPECT_THAT(answer.words, HasSubstr("is an answer"));
}

TEST(DnsQueryTest, OtherOpcodesAreNotImplemented) {
  for (unsigned opcode = 1; opcode < 16; ++opcode) {
    const std::string answer =
        ExpectError(Header(opcode << 11), DnsCode::kNotImplemented, "opcode");
    EXPECT_EQ(answer,
              "\xab\xcd" + Short(0x8084 | opcode << 11) + std::string(8, '\0'));
  }
}

TEST(DnsQueryTest, MalformedQueriesAreFormatErrors) {
  const auto malformed = [](const std::string& message,
                            const std::string& words) {
    return ExpectError(message, DnsCode::kFormatError, words);
  };
  const std::string question = Question({"a", "b"}, 1);
  // Cut anywhere.
  for (size_t size = 0; size < question.size(); ++size) {
    malformed(Header(0) + question.substr(0, size), "cut short");
  }
  malformed(Header(0, 0), "one question");
  malformed(Header(0, 2) + question + question, "one question");
  malformed(Header(0, 1, 2) + question + Opt() + Opt(), "one question");
  malformed(Header(0x0200) + question, "one question");
  malformed("\xab\xcd" + Short(0) + Short(1) + Short(1) + Short(0) + Short(0) +
                question,
            "one question");
  malformed("\xab\xcd" + Short(0) + Short(1) + Short(0) + Short(1) + Short(0) +
                question,
            "one question");
  malformed(Header(0) + question + "x", "behind its end");
  malformed(Header(0) + Short(0xc00c) + Short(1) + Short(1), "compressed");
  malformed(Header(0) +
                "\x01"
                "a" +
                Short(0xc00c) + Short(1) + Short(1),
            "compressed");
  malformed(Header(0) + "\x40" + std::string(70, 'a'), "compressed");
  const std::string opt = Opt("abc");
  for (size_t size = 0; size < opt.size(); ++size) {
    malformed(Header(0, 1, 1) + question + opt.substr(0, size), "no EDNS");
  }
  malformed(Header(0, 1, 1) + question + opt + "x", "no EDNS");
  malformed(Header(0, 1, 1) + question + "x" + opt, "no EDNS");
  malformed(Header(0, 1, 1) + question + '\0' + Short(1) + std::string(8, 0),
            "no EDNS");
  const std::string padding(kMaxDnsQueryBytes, 'x');
  malformed(Header(0, 1, 1) + question + Opt(padding), "at most 1232");
  // Nothing of the question is said again.
  EXPECT_EQ(malformed(Header(0, 0), ""),
            "\xab\xcd" + Short(0x8081) + std::string(8, '\0'));
}

TEST(DnsQueryTest, OtherClassesAndOddNamesAreRefused) {
  for (const unsigned dns_class : {0, 3, 4, 254, 255}) {
    ExpectError(Header(0) + Question({"version", "bind"}, 16, dns_class),
                DnsCode::kRefused, "class");
  }
  for (const char* label : {"a.b", "a b", "*", "\xc3\xa9", "a/b", "a:"}) {
    const std::string answer =
        ExpectError(Query({label, "com"}, 1), DnsCode::kRefused, "host name");
    EXPECT_THAT(answer, HasSubstr(label));
  }
  ExpectError(Header(0) + Question({std::string(1, '\0')}, 1),
              DnsCode::kRefused, "host name");
}

TEST(DnsAnswerTest, ContainsTheAddresses) {
  const std::string question = Question({"a", "b"}, kDnsTypeA);
  const DnsQuery query = Taken(Header(0x0110) + question);
  const std::string v6(16, '\x20');
  const std::string record =
      Short(0xc00c) + Short(1) + Short(1) + Short(0) + Short(60) + Short(4);
  EXPECT_EQ(
      BuildDnsAddresses(query, {"\x01\x02\x03\x04", v6, "abcd", "odd"}, 60),
      "\xab\xcd" + Short(0x8190) + Short(1) + Short(2) + Short(0) + Short(0) +
          question + record + "\x01\x02\x03\x04" + record + "abcd");
}

TEST(DnsAnswerTest, ContainsIpv6AddressesWithEdns) {
  const std::string question = Question({"a"}, kDnsTypeAaaa);
  const DnsQuery query = Taken(Header(0, 1, 1) + question + Opt());
  const std::string v6(16, '\x20');
  EXPECT_EQ(BuildDnsAddresses(query, {v6, "abcd"}, 0xffffffff),
            "\xab\xcd" + Short(0x8080) + Short(1) + Short(1) + Short(0) +
                Short(1) + question + Short(0xc00c) + Short(28) + Short(1) +
                Short(0x7fff) + Short(0xffff) + Short(16) + v6 + '\0' +
                Short(41) + Short(kMaxDnsQueryBytes) + std::string(6, '\0'));
}

TEST(DnsAnswerTest, CanHaveNoRecords) {
  const std::string question = Question({"a"}, 15);
  const DnsQuery query = Taken(Header(0x0100) + question);
  const auto answer = [&](unsigned flags) {
    return "\xab\xcd" + Short(flags) + Short(1) + std::string(6, '\0') +
           question;
  };
  EXPECT_EQ(BuildDnsAnswer(query, DnsCode::kNoError), answer(0x8180));
  EXPECT_EQ(BuildDnsAnswer(query, DnsCode::kServerFailure), answer(0x8182));
  EXPECT_EQ(BuildDnsAnswer(query, DnsCode::kNameError), answer(0x8183));
  EXPECT_EQ(BuildDnsAnswer(query, DnsCode::kRefused), answer(0x8185));
  // No address is of that type.
  EXPECT_EQ(BuildDnsAddresses(query, {"abcd"}, 60), answer(0x8180));
}

TEST(DnsAnswerTest, FitsIntoADatagram) {
  const std::string label(63, 'a');
  for (const unsigned type : {kDnsTypeA, kDnsTypeAaaa}) {
    for (const auto& labels : std::vector<std::vector<std::string>>{
             {"a"}, {label, label, label, std::string(61, 'a')}}) {
      const DnsQuery query =
          Taken(Header(0, 1, 1) + Question(labels, type) + Opt());
      const size_t size = type == kDnsTypeA ? 4 : 16;
      const std::string answer = BuildDnsAddresses(
          query, std::vector<std::string>(100, std::string(size, 'x')), 60);
      EXPECT_LE(answer.size(), kMaxDnsAnswerBytes);
      EXPECT_GT(answer.size() + 12 + size, kMaxDnsAnswerBytes);
      EXPECT_GE(static_cast<int>(answer[7]), 8);
    }
  }
}

}  // namespace
}  // namespace sandglass::egress
