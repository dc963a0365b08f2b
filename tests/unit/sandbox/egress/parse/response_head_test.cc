#include "sandbox/egress/parse/response_head.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::egress {
namespace {

using ::testing::HasSubstr;
using Kind = BodyFraming::Kind;

struct Outcome {
  HeadState state = HeadState::kNeedMore;
  ResponseHead head;
  HttpRefusal refusal;
  size_t consumed = 0;
};

Outcome Parse(std::string_view text, std::string_view method = "GET",
              size_t piece = std::string::npos) {
  ResponseHeadParser parser(method);
  Outcome outcome;
  while (!text.empty() && outcome.state == HeadState::kNeedMore) {
    std::string_view data = text.substr(0, piece);
    const size_t before = data.size();
    outcome.state = parser.Feed(data);
    outcome.consumed += before - data.size();
    text.remove_prefix(before - data.size());
  }
  outcome.head = parser.head();
  outcome.refusal = parser.refusal();
  return outcome;
}

ResponseHead Taken(const std::string& text, std::string_view method = "GET") {
  const Outcome outcome = Parse(text, method);
  EXPECT_EQ(outcome.state, HeadState::kComplete)
      << text << outcome.refusal.words;
  return outcome.head;
}

void ExpectRefused(const std::string& text, const std::string& words) {
  const Outcome outcome = Parse(text);
  ASSERT_EQ(outcome.state, HeadState::kRefused) << text;
  EXPECT_EQ(outcome.refusal.status, 502) << text;
  EXPECT_THAT(outcome.refusal.words, HasSubstr(words)) << text;
}

std::string With(const std::string& lines, const char* status = "200 OK",
                 const char* version = "1.1") {
  return absl::StrCat("HTTP/", version, " ", status, "\r\n", lines, "\r\n");
}

TEST(ResponseHeadTest, IsTheSameHoweverItIsCut) {
  const std::string text =
      With("Server: x\r\nContent-Length: 5\r\n", "404 Not Found");
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    const Outcome outcome = Parse(text + "12345", "GET", piece);
    ASSERT_EQ(outcome.state, HeadState::kComplete) << outcome.refusal.words;
    EXPECT_EQ(outcome.consumed, text.size());
    EXPECT_EQ(outcome.head.status, 404);
    EXPECT_EQ(outcome.head.reason, "Not Found");
    EXPECT_EQ(outcome.head.framing, (BodyFraming{Kind::kLength, 5}));
    EXPECT_EQ(outcome.head.fields.size(), 2u);
    EXPECT_TRUE(outcome.head.keep_alive);
    EXPECT_FALSE(outcome.head.interim());
  }
}

TEST(ResponseHeadTest, BodiesAreAsLongAsTheRequestSays) {
  const std::string length = "Content-Length: 5\r\n";
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  struct {
    const char* method;
    const char* status;
    std::string lines;
    BodyFraming framing;
  } const cases[] = {
      {"GET", "200 OK", "", {Kind::kUntilClose}},
      {"GET", "200 OK", length, {Kind::kLength, 5}},
      {"GET", "200 OK", chunked, {Kind::kChunked}},
      {"POST", "500 x", chunked, {Kind::kChunked}},
      {"GET", "205 x", "Content-Length: 0\r\n", {Kind::kLength, 0}},
      {"HEAD", "200 OK", "", {Kind::kNone}},
      {"HEAD", "200 OK", length, {Kind::kNone}},
      {"HEAD", "200 OK", chunked, {Kind::kNone}},
      {"head", "200 OK", length, {Kind::kLength, 5}},
      {"GET", "100 Continue", "", {Kind::kNone}},
      {"GET", "103 Early Hints", length, {Kind::kNone}},
      {"GET", "204 x", length, {Kind::kNone}},
      {"GET", "304 x", length, {Kind::kNone}},
      {"GET", "304 x", chunked, {Kind::kNone}},
      {"CONNECT", "200 x", length, {Kind::kNone}},
      {"CONNECT", "299 x", "", {Kind::kNone}},
      {"CONNECT", "403 x", length, {Kind::kLength, 5}},
  };
  for (const auto& c : cases) {
    const ResponseHead head = Taken(With(c.lines, c.status), c.method);
    EXPECT_EQ(head.framing, c.framing) << c.method << c.status << c.lines;
  }
}

TEST(ResponseHeadTest, LenientFormsAreAcceptedWhereSafe) {
  EXPECT_EQ(Taken("HTTP/1.1 200\r\n\r\n").reason, "");
  EXPECT_EQ(Taken("HTTP/1.1 200 \r\n\r\n").reason, "");
  EXPECT_EQ(Taken("HTTP/1.1 200  x\r\n\r\n").reason, " x");
  EXPECT_EQ(Taken("HTTP/1.0 999 x\n\n").status, 999);
  EXPECT_EQ(Taken("HTTP/1.1 200 OK\nContent-Length: 5\r\n\n").framing.length,
            5u);
  EXPECT_EQ(Taken(With("Content-Length : 5\r\n")).framing.length, 5u);
  EXPECT_EQ(Taken(With("Content-Length: 5, 5\r\n")).framing.length, 5u);
  EXPECT_EQ(
      Taken(With("Content-Length: 5\r\ncontent-length: 05\r\n")).framing.length,
      5u);
}

TEST(ResponseHeadTest, UnsafeHeadsAreRefused) {
  ExpectRefused(With("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
                "and a Transfer-Encoding");
  ExpectRefused(With("Transfer-Encoding: chunked\r\n", "200 OK", "1.0"),
                "HTTP/1.0");
  ExpectRefused(With("Transfer-Encoding: gzip, chunked\r\n"), "gzip");
  ExpectRefused(
      With("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
      "and more");
  ExpectRefused(With("Content-Length: 5\r\nContent-Length: 6\r\n"),
                "5 and 6 at once");
  ExpectRefused(With("Content-Length: 5,\r\n"), "no number");
  ExpectRefused(With("Content-Length: -1\r\n"), "no number");
  ExpectRefused(With("Content-Length: 9223372036854775808\r\n"), "no number");
  ExpectRefused(With("Connection: content-length\r\n"), "Connection lists");
  ExpectRefused(With("Connection: a b\r\n"), "Connection is");
  ExpectRefused(With("Content_Length: 5\r\n"), "by some servers");
  ExpectRefused(With("X: a\r\n b\r\n"), "white space");
  ExpectRefused(With("X\r\n"), "no colon");
  ExpectRefused(With("a b: x\r\n"), "no token");
  ExpectRefused(With("X: a\rb\r\n"), "a CR without LF");
  ExpectRefused(With(std::string("X: a\0b\r\n", 8)), "control character");
  ExpectRefused(With("", "101 Switching Protocols"), "101");
  ExpectRefused("\r\nHTTP/1.1 200 OK\r\n\r\n", "not HTTP/1.1");
  ExpectRefused("HTTP/2 200\r\n", "not HTTP/1.1");
  ExpectRefused("ICY 200 OK\r\n", "not HTTP/1.1");
  ExpectRefused("HTTP/1.1\r\n", "three digits");
  ExpectRefused("HTTP/1.1 20\r\n", "three digits");
  ExpectRefused("HTTP/1.1 20x\r\n", "three digits");
  ExpectRefused("HTTP/1.1 2000\r\n", "three digits");
  ExpectRefused("HTTP/1.1 099\r\n", "three digits");
  ExpectRefused("HTTP/1.1  200\r\n", "three digits");
  ExpectRefused("HTTP/1.1\t200 OK\r\n", "three digits");
}

TEST(ResponseHeadTest, HeadsAboveTheBoundsAreRefused) {
  ExpectRefused("HTTP/1.1 200 " + std::string(kMaxStartLineBytes, 'x'), "8192");
  std::string lines;
  for (size_t i = 0; i < kMaxFields; ++i) lines += "X: a\r\n";
  Taken(With(lines));
  ExpectRefused(With(lines + "X: a\r\n"), "200 header lines");
  const size_t left = kMaxHeadBytes - With("X: \r\n").size();
  Taken(With("X: " + std::string(left, 'a') + "\r\n"));
  ExpectRefused(With("X: " + std::string(left + 1, 'a') + "\r\n"), "65536");
}

TEST(ResponseHeadTest, KeepAliveFollowsTheConnectionField) {
  const std::string length = "Content-Length: 5\r\n";
  const std::string keep = "Connection: Keep-Alive\r\n";
  EXPECT_TRUE(Taken(With(length)).keep_alive);
  EXPECT_FALSE(Taken(With(length + "Connection: close\r\n")).keep_alive);
  EXPECT_FALSE(Taken(With("")).keep_alive);
  EXPECT_FALSE(Taken(With(length, "200 OK", "1.0")).keep_alive);
  EXPECT_TRUE(Taken(With(length + keep, "200 OK", "1.0")).keep_alive);
  EXPECT_FALSE(
      Taken(With(length + keep + "Connection: close\r\n", "200 OK", "1.0"))
          .keep_alive);
}

TEST(ResponseHeadTest, FurtherInputIsLeftAlone) {
  ResponseHeadParser parser("GET");
  const std::string text = With("", "100 Continue") + With("");
  std::string_view data = text;
  EXPECT_EQ(parser.Feed(data), HeadState::kComplete);
  EXPECT_TRUE(parser.head().interim());
  EXPECT_EQ(parser.Feed(data), HeadState::kComplete);
  EXPECT_EQ(data, With(""));
}

TEST(SerializeResponseHeadTest, IsWrittenAnew) {
  const ResponseHead head = Taken(
      "HTTP/1.0 200\nX-One :  1\nConnection: x-mine, keep-alive\nX-Mine: 1\n"
      "Content-Length: 05, 5\nProxy-Authenticate: Basic\nKeep-Alive: x\n"
      "Upgrade: h2c\nTrailer: x\nSet-Cookie: a\nSet-Cookie: b\n\n");
  EXPECT_EQ(SerializeResponseHead(head, head.framing, true),
            "HTTP/1.1 200 \r\nX-One: 1\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n"
            "Content-Length: 5\r\nVia: 1.0 sandglass\r\n\r\n");
}

TEST(SerializeResponseHeadTest, FramingIsAsTheClientKnowsIt) {
  const ResponseHead chunked = Taken(With("Transfer-Encoding: chunked\r\n"));
  EXPECT_EQ(DownstreamFraming(chunked, 1).kind, Kind::kChunked);
  EXPECT_EQ(DownstreamFraming(chunked, 0).kind, Kind::kUntilClose);
  EXPECT_EQ(SerializeResponseHead(chunked, {Kind::kChunked}, true),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
            "Via: 1.1 sandglass\r\n\r\n");
  // There is no other way to end it.
  EXPECT_EQ(SerializeResponseHead(chunked, {Kind::kUntilClose}, true),
            "HTTP/1.1 200 OK\r\nVia: 1.1 sandglass\r\n"
            "Connection: close\r\n\r\n");
  const ResponseHead length = Taken(With("Content-Length: 5\r\n"));
  EXPECT_EQ(DownstreamFraming(length, 0), (BodyFraming{Kind::kLength, 5}));
}

TEST(SerializeResponseHeadTest, KeepsTheLengthOfABodyThatIsNotSent) {
  const auto lines = [](const char* method, const char* status) {
    const ResponseHead head =
        Taken(With("Content-Length: 5\r\n", status), method);
    return SerializeResponseHead(head, DownstreamFraming(head, 1), true);
  };
  EXPECT_THAT(lines("HEAD", "200 OK"), HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_THAT(lines("GET", "304 x"), HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_THAT(lines("GET", "204 x"), ::testing::Not(HasSubstr("Length")));
  EXPECT_THAT(lines("GET", "100 x"), ::testing::Not(HasSubstr("Length")));
}

TEST(SerializeResponseHeadTest, InterimResponsesSayNothingOfTheConnection) {
  const ResponseHead head = Taken(With("", "100 Continue"));
  EXPECT_EQ(SerializeResponseHead(head, head.framing, false),
            "HTTP/1.1 100 Continue\r\nVia: 1.1 sandglass\r\n\r\n");
}

}  // namespace
}  // namespace sandglass::egress
