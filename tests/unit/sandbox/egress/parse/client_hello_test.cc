#include "sandbox/egress/parse/client_hello.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/hex.h"

namespace sandglass::egress {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using State = ClientHelloParser::State;

// `number` in `width` bytes, big endian.
std::string Number(size_t number, int width) {
  std::string bytes;
  for (int i = width - 1; i >= 0; --i) {
    bytes.push_back(static_cast<char>(number >> (8 * i) & 0xff));
  }
  return bytes;
}

std::string Vector(const std::string& bytes, int width) {
  return Number(bytes.size(), width) + bytes;
}

std::string Extension(uint16_t type, const std::string& body) {
  return Number(type, 2) + Vector(body, 2);
}

std::string ServerName(const std::string& name, int type = 0) {
  return Extension(0, Vector(Number(type, 1) + Vector(name, 2), 2));
}

// What stands before the extensions.
std::string Start() {
  return "\x03\x03" + std::string(32, 'r') + Vector(std::string(32, 's'), 1) +
         Vector("\x13\x01", 2) + Vector(std::string(1, '\0'), 1);
}

std::string Message(const std::string& body, int type = 1) {
  return Number(type, 1) + Vector(body, 3);
}

std::string Hello(const std::string& extensions) {
  return Message(Start() + Vector(extensions, 2));
}

std::string Record(const std::string& fragment, int type = 22) {
  return Number(type, 1) + "\x03\x01" + Vector(fragment, 2);
}

struct Outcome {
  State state = State::kNeedMore;
  ClientHello hello;
  std::string words;
};

Outcome Parse(const std::string& bytes, size_t piece = std::string::npos) {
  ClientHelloParser parser;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const std::string_view data = rest.substr(0, piece);
    parser.Feed(data);
    rest.remove_prefix(data.size());
  }
  return {parser.state(), parser.hello(), parser.words()};
}

void ExpectRefused(const std::string& bytes, const std::string& words) {
  for (const size_t piece : {std::string::npos, size_t{1}}) {
    const Outcome outcome = Parse(bytes, piece);
    EXPECT_EQ(outcome.state, State::kRefused) << words;
    EXPECT_THAT(outcome.words, HasSubstr(words));
    EXPECT_FALSE(outcome.hello.server_name.has_value());
  }
}

void ExpectRefusedExtensions(const std::string& extensions,
                             const std::string& words) {
  ExpectRefused(Record(Hello(extensions)), words);
}

// As OpenSSL 3.0 says it.
std::string OfOpenSsl() {
  constexpr char kHello[] =
      "1603010200010001fc0303458942a227b95f462ec97f9d63344cc6cf442d8dae66b6a6c2"
      "6bded04841a4c62052c317d50ae424e0c51914106e99a438f15e2bc831641e497b57f279"
      "ff8109830024130213031301c02cc030c02bc02fcca9cca8c024c028c023c027009f009e"
      "006b006700ff0100018f00000010000e00000b4578616d706c652e636f6d000b00040300"
      "0102000a00160014001d0017001e0019001801000101010201030104002300000010000e"
      "000c02683208687474702f312e310016000000170000000d002a00280403050306030807"
      "08080809080a080b080408050806040105010601030303010302040205020602002b0005"
      "0403040303002d00020101003300260024001d002094650498dfb7fb61592ba3246fdf7e"
      "3b6af8ebeb41a13c82647ec34ae2a91552001500d0";
  // The rest is padding (RFC 7685).
  return sandglass::testing::FromHex(kHello) + std::string(208, '\0');
}

TEST(ClientHelloTest, ReadsOpenSslsHelloHoweverItIsCut) {
  const std::string bytes = OfOpenSsl();
  ASSERT_EQ(bytes.size(), 517u);
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    const Outcome outcome = Parse(bytes, piece);
    ASSERT_EQ(outcome.state, State::kComplete) << outcome.words;
    EXPECT_EQ(outcome.hello.server_name, "example.com");
    EXPECT_THAT(outcome.hello.alpn, ElementsAre("h2", "http/1.1"));
    EXPECT_FALSE(outcome.hello.encrypted_client_hello);
  }
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_EQ(Parse(bytes.substr(0, cut)).state, State::kNeedMore);
  }
}

TEST(ClientHelloTest, ReadsAHelloSpreadOverRecords) {
  const std::string message = OfOpenSsl().substr(5);
  for (const size_t size : {1, 2, 3, 4, 5, 100, 511}) {
    std::string bytes;
    for (size_t at = 0; at < message.size(); at += size) {
      bytes += Record(message.substr(at, size));
    }
    // What follows in a record of its own is no concern.
    bytes += Record("x", 23);
    for (const size_t piece : {size_t{1}, size_t{7}, bytes.size()}) {
      const Outcome outcome = Parse(bytes, piece);
      ASSERT_EQ(outcome.state, State::kComplete) << outcome.words;
      EXPECT_EQ(outcome.hello.server_name, "example.com");
    }
  }
}

TEST(ClientHelloTest, AHelloWithoutANameHasNone) {
  const Outcome without = Parse(Record(Message(Start())));
  EXPECT_EQ(without.state, State::kComplete) << without.words;
  EXPECT_EQ(without.hello.server_name, std::nullopt);
  EXPECT_THAT(without.hello.alpn, IsEmpty());
  const Outcome empty = Parse(Record(Hello("")));
  EXPECT_EQ(empty.state, State::kComplete) << empty.words;
  EXPECT_EQ(empty.hello.server_name, std::nullopt);
}

TEST(ClientHelloTest, ReportsThatItsNameMayBeACover) {
  const Outcome outcome = Parse(
      Record(Hello(Extension(0xfe0d, "x") + ServerName("cover.example"))));
  EXPECT_EQ(outcome.state, State::kComplete) << outcome.words;
  EXPECT_TRUE(outcome.hello.encrypted_client_hello);
  EXPECT_EQ(outcome.hello.server_name, "cover.example");
}

TEST(ClientHelloTest, OtherProtocolsAreRefused) {
  for (const char* bytes :
       {"GET / HTTP/1.1\r\n", "SSH-2.0-x\r\n", "\x80\x2e\x01\x03\x01",
        "\x15\x03\x01", "\x16\x02", "\x16\x10\x03", "\x17\x03\x03"}) {
    EXPECT_EQ(Parse(bytes).state, State::kNotTls) << bytes;
    EXPECT_EQ(Parse(bytes, 1).state, State::kNotTls) << bytes;
  }
  EXPECT_EQ(Parse("\x16").state, State::kNeedMore);
  EXPECT_EQ(Parse("\x16\x03").state, State::kNeedMore);
}

TEST(ClientHelloTest, BadRecordsAreRefused) {
  const std::string hello = Hello(ServerName("a.b"));
  ExpectRefused("\x16\x03\x01" + std::string(2, '\0'), "has 0 bytes");
  ExpectRefused("\x16\x03\x01\x40\x01", "has 16385 bytes");
  ExpectRefused(Record(hello.substr(0, 9)) + Record(hello.substr(9), 23),
                "another kind of record");
  ExpectRefused(Record(hello.substr(0, 9)) + "\x16\x02", "another kind");
  ExpectRefused(Record(hello.substr(0, 9)) + Record(""), "has 0 bytes");
  ExpectRefused(Record(hello + hello), "goes on behind it");
  ExpectRefused(Record(hello + "x"), "goes on behind it");
}

TEST(ClientHelloTest, OtherMessagesAreRefused) {
  ExpectRefused(Record(Message(Start(), 2)), "has type 2");
  ExpectRefused(Record(Message(Start(), 0)), "has type 0");
}

TEST(ClientHelloTest, HellosAboveTheBoundsAreRefused) {
  // With an extension that fills it up.
  const std::string name = ServerName("a.b");
  const size_t start = Start().size() + 2 + name.size() + 4;
  const std::string largest = Hello(
      name + Extension(21, std::string(kMaxClientHelloBytes - start, '\0')));
  ASSERT_EQ(largest.size(), kMaxClientHelloBytes + 4);
  const std::string bytes =
      Record(largest.substr(0, 16000)) + Record(largest.substr(16000));
  EXPECT_EQ(Parse(bytes).state, State::kComplete);
  ExpectRefused(Record(Number(1, 1) + Number(kMaxClientHelloBytes + 1, 3)),
                "has 16385 bytes");
  ExpectRefused(Record("\x01\xff\xff\xff"), "has 16777215 bytes");

  const std::string message = Hello(name + Extension(21, std::string(2000, 0)));
  std::string spread;
  for (size_t i = 0; i < kMaxClientHelloRecords; ++i) {
    spread += Record(message.substr(i, 1));
  }
  EXPECT_EQ(Parse(spread).state, State::kNeedMore);
  ExpectRefused(spread + Record("x"), "more than 1024 records");
}

TEST(ClientHelloTest, MalformedHellosAreRefused) {
  const std::string random(32, 'r');
  const std::string none(1, '\0');
  const std::string suites = Vector("\x13\x01", 2);
  const std::string bodies[] = {
      "",
      "\x03",
      "\x02\x03" + random + none + suites + Vector(none, 1),
      "\x03\x03" + random,
      "\x03\x03" + random + Vector(std::string(33, 's'), 1) + suites +
          Vector(none, 1),
      "\x03\x03" + random + none + Vector("", 2) + Vector(none, 1),
      "\x03\x03" + random + none + Vector("abc", 2) + Vector(none, 1),
      "\x03\x03" + random + none + suites + Vector("", 1),
      "\x03\x03" + random + none + suites,
      "\x03\x03" + random + none + "\xff\xff" + "ab",
  };
  for (const std::string& body : bodies) {
    ExpectRefused(Record(Message(body)), "malformed");
  }
  ExpectRefused(Record(Message(Start() + none)), "don't end");
  ExpectRefused(Record(Message(Start() + "\x01" + none)), "don't end");
  ExpectRefused(Record(Message(Start() + Vector("", 2) + "x")), "don't end");
}

TEST(ClientHelloTest, MalformedExtensionsAreRefused) {
  ExpectRefusedExtensions("\x01", "cut short");
  ExpectRefusedExtensions(Number(5, 2) + Number(1, 2), "cut short");
  ExpectRefusedExtensions(Extension(5, "") + Extension(5, ""),
                          "extension 5 twice");
  ExpectRefusedExtensions(ServerName("a.b") + ServerName("c.d"),
                          "extension 0 twice");
  // Those of server_name.
  const std::string one = Number(0, 1) + Vector("a.b", 2);
  ExpectRefusedExtensions(Extension(0, ""), "server_name");
  ExpectRefusedExtensions(Extension(0, Vector("", 2)), "server_name");
  ExpectRefusedExtensions(Extension(0, Vector(one, 2) + "x"), "malformed");
  ExpectRefusedExtensions(Extension(0, Number(9, 2) + one), "malformed");
  ExpectRefusedExtensions(Extension(0, Vector(one + one, 2)), "more than one");
  ExpectRefusedExtensions(Extension(0, Vector(one + "x", 2)), "more than one");
  ExpectRefusedExtensions(
      Extension(0, Vector(Number(0, 1) + Number(9, 2) + "a.b", 2)),
      "malformed");
  ExpectRefusedExtensions(ServerName("a.b", 1), "another type");
  for (const std::string& name :
       {std::string(), std::string("a\0b", 3), std::string("a b"),
        std::string("::1"), std::string("\xc3\xa9.b"), std::string("a/b"),
        std::string(254, 'a')}) {
    ExpectRefusedExtensions(ServerName(name), "is no host name");
  }
  EXPECT_EQ(Parse(Record(Hello(ServerName(std::string(253, 'a'))))).state,
            State::kComplete);
  // Those of ALPN.
  for (const std::string& body :
       {std::string(), Vector("", 2), Vector(Vector("", 1), 2),
        Vector("\x03h2", 2), Vector(Vector("h2", 1), 2) + "x",
        std::string("\x01")}) {
    ExpectRefusedExtensions(Extension(16, body), "ALPN");
  }
}

}  // namespace
}  // namespace sandglass::egress
