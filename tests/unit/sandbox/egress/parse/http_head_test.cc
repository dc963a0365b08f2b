#include "sandbox/egress/parse/http_head.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::egress {
namespace {

using ::testing::HasSubstr;
using Kind = BodyFraming::Kind;

constexpr RequestRules kProxy;
constexpr RequestRules kTransparent = {.proxy_forms = false,
                                       .origin_form = true};
constexpr RequestRules kInsideTls = {
    .proxy_forms = false, .origin_form = true, .default_port = 443};

struct Outcome {
  HeadState state = HeadState::kNeedMore;
  RequestHead head;
  HttpRefusal refusal;
  size_t consumed = 0;
};

Outcome Parse(std::string_view text, const RequestRules& rules = kProxy,
              size_t piece = std::string::npos) {
  RequestHeadParser parser(rules);
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

// A request in absolute form with these lines behind its Host.
std::string With(const std::string& lines, const char* version = "1.1") {
  return absl::StrCat("POST http://a.b/x HTTP/", version, "\r\nHost: a.b\r\n",
                      lines, "\r\n");
}

RequestHead Taken(const std::string& text, const RequestRules& rules = kProxy) {
  Outcome outcome = Parse(text, rules);
  EXPECT_EQ(outcome.state, HeadState::kComplete)
      << text << outcome.refusal.words;
  return outcome.head;
}

void ExpectRefused(const std::string& text, int status,
                   const std::string& words,
                   const RequestRules& rules = kProxy) {
  const Outcome outcome = Parse(text, rules);
  ASSERT_EQ(outcome.state, HeadState::kRefused) << text;
  EXPECT_EQ(outcome.refusal.status, status) << text << outcome.refusal.words;
  EXPECT_THAT(outcome.refusal.words, HasSubstr(words)) << text;
  for (const char c : outcome.refusal.words) {
    EXPECT_TRUE(c >= ' ' && c <= '~') << outcome.refusal.words;
  }
}

TEST(RequestHeadTest, ReadsAnAbsoluteTarget) {
  const std::string text =
      "GET http://Example.COM:8080/a/b?c=d HTTP/1.1\r\n"
      "host: example.com:8080\r\nUser-Agent:x y \t\r\nX-Empty:\r\n\r\n";
  const Outcome outcome = Parse(text + "the body");
  ASSERT_EQ(outcome.state, HeadState::kComplete) << outcome.refusal.words;
  EXPECT_EQ(outcome.consumed, text.size());
  const RequestHead& head = outcome.head;
  EXPECT_EQ(head.method, "GET");
  EXPECT_EQ(head.form, TargetForm::kAbsolute);
  EXPECT_EQ(head.host, "example.com");
  EXPECT_EQ(head.port, 8080);
  EXPECT_EQ(head.path, "/a/b?c=d");
  ASSERT_EQ(head.fields.size(), 3u);
  EXPECT_EQ(head.fields[0].name, "host");
  EXPECT_EQ(head.fields[1].value, "x y");
  EXPECT_EQ(head.fields[2].value, "");
  EXPECT_EQ(head.framing.kind, Kind::kNone);
  EXPECT_EQ(head.minor_version, 1);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_FALSE(head.expect_continue);
  EXPECT_FALSE(head.upgrade);
}

TEST(RequestHeadTest, IsTheSameHoweverItIsCut) {
  const std::string text = With(
      "Content-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n");
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    const Outcome outcome = Parse(text + "12345", kProxy, piece);
    ASSERT_EQ(outcome.state, HeadState::kComplete) << piece;
    EXPECT_EQ(outcome.consumed, text.size());
    EXPECT_EQ(outcome.head.framing, (BodyFraming{Kind::kLength, 5}));
    EXPECT_TRUE(outcome.head.expect_continue);
    EXPECT_FALSE(outcome.head.keep_alive);
  }
  for (size_t cut = 0; cut < text.size(); ++cut) {
    EXPECT_EQ(Parse(text.substr(0, cut)).state, HeadState::kNeedMore);
  }
}

TEST(RequestHeadTest, ReadsEachFormOfTarget) {
  struct {
    const char* line;
    const char* host;
    uint16_t port;
    const char* path;
  } const cases[] = {
      {"GET http://a.b", "a.b", 80, "/"},
      {"GET HTTP://A.b:80?q=http://x@y/", "a.b", 80, "/?q=http://x@y/"},
      {"GET http://a.b/%00/|{}^\"<>\\?`", "a.b", 80, "/%00/|{}^\"<>\\?`"},
      {"OPTIONS http://a.b", "a.b", 80, "*"},
      {"OPTIONS http://a.b/", "a.b", 80, "/"},
      {"GET http://[::1]:65535/", "[::1]", 65535, "/"},
      {"GET http://[2001:DB8::1.2.3.4]/", "[2001:db8::1.2.3.4]", 80, "/"},
      {"GET http://a_b-c./", "a_b-c.", 80, "/"},
      {"get http://a.b//x", "a.b", 80, "//x"},
      {"CONNECT a.b:443", "a.b", 443, ""},
      {"CONNECT [fe80::1]:1", "[fe80::1]", 1, ""},
  };
  for (const auto& c : cases) {
    // HTTP/1.0 needs no Host.
    const RequestHead head = Taken(absl::StrCat(c.line, " HTTP/1.0\r\n\r\n"));
    EXPECT_EQ(head.host, c.host) << c.line;
    EXPECT_EQ(head.port, c.port) << c.line;
    EXPECT_EQ(head.path, c.path) << c.line;
  }
}

TEST(RequestHeadTest, ReadsARequestOfATransparentConnection) {
  const std::string text = "GET /x HTTP/1.1\r\nHost: A.b\r\n\r\n";
  RequestHead head = Taken(text, kTransparent);
  EXPECT_EQ(head.form, TargetForm::kOrigin);
  EXPECT_EQ(head.host, "a.b");
  EXPECT_EQ(head.port, 80);
  head = Taken(text, kInsideTls);
  EXPECT_EQ(head.port, 443);
  EXPECT_EQ(HostValue(head), "a.b");
  head = Taken("OPTIONS * HTTP/1.0\r\nHost: a.b:80\r\n\r\n", kInsideTls);
  EXPECT_EQ(head.path, "*");
  EXPECT_EQ(HostValue(head), "a.b:80");
}

TEST(RequestHeadTest, BadTargetsAreRefused) {
  struct {
    const char* target;
    const char* words;
  } const cases[] = {
      {"https://a.b/", "CONNECT"},
      {"ftp://a.b/", "http://host/path"},
      {"a.b:80", "http://host/path"},
      {"/x", "has no host"},
      {"*", "has no host"},
      {"http://", "host \"\" is none"},
      {"http:///x", "host \"\" is none"},
      {"http://:80/", "is none"},
      {"http://u@a.b/", "user name"},
      {"http://u:p@a.b/", "user name"},
      {"http://a.b\\@c.d/", "user name"},
      {"http://a.b\\c/", "is none"},
      {"http://a%2eb/", "is none"},
      {"http://a,b/", "is none"},
      {"http://a.b:/", "no port"},
      {"http://a.b:0/", "no port"},
      {"http://a.b:080/", "no port"},
      {"http://a.b:65536/", "no port"},
      {"http://a.b:123456/", "no port"},
      {"http://a.b:8x/", "no port"},
      {"http://a.b:80:80/", "no port"},
      {"http://::1/", "is none"},
      {"http://[::1/", "is none"},
      {"http://[]/", "is none"},
      {"http://[fe80::1%25eth0]/", "is none"},
      {"http://[::1]x/", "no port"},
      {"http://a.b/#f", "\"#\""},
      {"http://a.b#f", "\"#\""},
      {"http://a.b/\xc3\xa9", "printable"},
      {"http://a.b/ x", "printable"},
      {" http://a.b/", "http://host/path"},
  };
  for (const auto& c : cases) {
    ExpectRefused(absl::StrCat("GET ", c.target, " HTTP/1.0\r\n\r\n"), 400,
                  c.words);
  }
  const std::string host(kMaxHostBytes + 1, 'a');
  ExpectRefused("GET http://" + host + "/ HTTP/1.0\r\n\r\n", 400, "is none");
  for (const char* target : {"a.b", "http://a.b:80/", "a.b:0", "u@a.b:1", ""}) {
    const Outcome outcome =
        Parse(absl::StrCat("CONNECT ", target, " HTTP/1.0\r\n\r\n"));
    EXPECT_EQ(outcome.refusal.status, 400) << target;
  }
  ExpectRefused("GET http://a.b/ HTTP/1.0\r\n\r\n", 400, "is for proxies",
                kTransparent);
  ExpectRefused("CONNECT a.b:80 HTTP/1.0\r\n\r\n", 405, "proxy itself",
                kTransparent);
  ExpectRefused("GET * HTTP/1.0\r\n\r\n", 400, "is none", kTransparent);
  ExpectRefused("GET /# HTTP/1.0\r\n\r\n", 400, "is none", kTransparent);
}

TEST(RequestHeadTest, BadRequestLinesAreRefused) {
  ExpectRefused("GET\r\n", 400, "request line");
  ExpectRefused("GET http://a.b/\r\n", 400, "request line");
  ExpectRefused("GET  http://a.b/ HTTP/1.1\r\n", 400, "http://host/path");
  ExpectRefused(" GET http://a.b/ HTTP/1.1\r\n", 400, "no token");
  ExpectRefused("G(T http://a.b/ HTTP/1.1\r\n", 400, "no token");
  ExpectRefused("GET http://a.b/ HTTP/1.1 \r\n", 400, "ends with");
  ExpectRefused("GET http://a.b/ http/1.1\r\n", 400, "ends with");
  ExpectRefused("GET http://a.b/ HTTP/1.10\r\n", 400, "ends with");
  ExpectRefused("GET http://a.b/ HTTP/x.1\r\n", 400, "ends with");
  ExpectRefused("GET http://a.b/ HTTP/1.x\r\n", 400, "ends with");
  ExpectRefused("PRI * HTTP/2.0\r\n", 505, "HTTP/2.0");
  ExpectRefused("GET http://a.b/ HTTP/1.2\r\n", 505, "HTTP/1.2");
  ExpectRefused("GET http://a.b/ HTTP/0.9\r\n", 505, "HTTP/0.9");
  ExpectRefused(std::string(33, 'A') + " http://a.b/ HTTP/1.1\r\n", 501,
                "33 letters");
  Taken(std::string(32, 'A') + " http://a.b/ HTTP/1.0\r\n\r\n");
}

TEST(RequestHeadTest, OneEmptyLineBeforeItIsSkipped) {
  Taken("\r\nGET http://a.b/ HTTP/1.0\r\n\r\n");
  ExpectRefused("\r\n\r\nGET http://a.b/ HTTP/1.0\r\n\r\n", 400,
                "request line");
}

TEST(RequestHeadTest, LinesEndWithCrLfAlone) {
  ExpectRefused("GET http://a.b/ HTTP/1.1\nHost: a.b\n\n", 400, "without CR");
  ExpectRefused(With("X: a\nY: b\r\n"), 400, "without CR");
  ExpectRefused(With("X: a\rY: b\r\n"), 400, "without LF");
  ExpectRefused(With("X: a\r\r\n"), 400, "without LF");
  ExpectRefused("\n", 400, "without CR");
}

TEST(RequestHeadTest, ControlCharactersAreRefused) {
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == '\r' || byte == '\n') continue;
    const std::string text = With(
        absl::StrCat("X: a", std::string(1, static_cast<char>(byte)), "b\r\n"));
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f) {
      ExpectRefused(text, 400, "control character");
    } else {
      Taken(text);
    }
  }
  // At once, not at the line's end.
  ExpectRefused(std::string("\x16\x03\x01", 3), 400, "\\x16");
}

TEST(RequestHeadTest, HeaderLinesAreParsedOrRefused) {
  ExpectRefused(With("X : a\r\n"), 400, "space before the colon");
  ExpectRefused(With("X\t: a\r\n"), 400, "no token");
  ExpectRefused(With(": a\r\n"), 400, "no token");
  ExpectRefused(With("X\r\n"), 400, "no colon");
  ExpectRefused(With("X: a\r\n b\r\n"), 400, "white space");
  ExpectRefused(With("\tX: a\r\n"), 400, "white space");
  ExpectRefused(With("X(: a\r\n"), 400, "no token");
  ExpectRefused(With("\xc3\xa9: a\r\n"), 400, "no token");
  for (int byte = 0x21; byte < 0x7f; ++byte) {
    const char c = static_cast<char>(byte);
    if (c == ':') continue;
    const bool token = std::string_view("\"(),/;<=>?@[\\]{}").find(c) ==
                       std::string_view::npos;
    const Outcome outcome = Parse(With(std::string(1, c) + "x: a\r\n"));
    EXPECT_EQ(outcome.state == HeadState::kComplete, token) << c;
  }
}

TEST(RequestHeadTest, HeadsAboveTheBoundsAreRefused) {
  const std::string start = "GET http://a.b/";
  const std::string version = " HTTP/1.0";
  const size_t room = kMaxStartLineBytes - start.size() - version.size();
  Taken(start + std::string(room, 'x') + version + "\r\n\r\n");
  ExpectRefused(start + std::string(room + 1, 'x') + version, 414, "8192");
  // Although no line ends.
  ExpectRefused(std::string(kMaxStartLineBytes + 1, 'x'), 414, "8192");

  std::string lines;
  for (size_t i = 1; i < kMaxFields; ++i) lines += "X: a\r\n";
  Taken(With(lines));
  ExpectRefused(With(lines + "X: a\r\n"), 431, "200 header lines");

  const size_t left = kMaxHeadBytes - With("X: \r\n").size();
  Taken(With("X: " + std::string(left, 'a') + "\r\n"));
  ExpectRefused(With("X: " + std::string(left + 1, 'a') + "\r\n"), 431,
                "65536 bytes");
}

TEST(RequestHeadTest, HostHasToMatchTheTarget) {
  const std::string get = "GET http://a.b/ HTTP/1.1\r\n";
  ExpectRefused(get + "\r\n", 400, "no Host");
  ExpectRefused(get + "Host: a.b\r\nhost: a.b\r\n\r\n", 400, "2 Host");
  ExpectRefused(get + "Host: a.c\r\n\r\n", 400, "to be the same");
  ExpectRefused(get + "Host: a.b:81\r\n\r\n", 400, "to be the same");
  ExpectRefused(get + "Host:\r\n\r\n", 400, "is none");
  ExpectRefused(get + "Host: a.b, c.d\r\n\r\n", 400, "is none");
  ExpectRefused(get + "Host: a.b/\r\n\r\n", 400, "is none");
  ExpectRefused(get + "Host: a.b:0\r\n\r\n", 400, "no port");
  Taken(get + "Host: A.B\r\n\r\n");
  Taken(get + "Host: a.b:80\r\n\r\n");
  ExpectRefused("GET http://a.b/ HTTP/1.0\r\nHost: a.c\r\n\r\n", 400,
                "to be the same");
  ExpectRefused("GET / HTTP/1.0\r\n\r\n", 400, "no Host", kTransparent);
  // Of CONNECT there has to be one; it goes nowhere.
  const std::string connect = "CONNECT a.b:443 HTTP/1.1\r\n";
  Taken(connect + "Host: a.b:443\r\n\r\n");
  Taken(connect + "Host: a.b\r\n\r\n");
  ExpectRefused(connect + "\r\n", 400, "no Host");
  ExpectRefused(connect + "Host: a b\r\n\r\n", 400, "is none");
}

TEST(RequestHeadTest, UnambiguousFramingIsAccepted) {
  struct {
    const char* lines;
    BodyFraming framing;
  } const cases[] = {
      {"", {Kind::kNone}},
      {"Content-Length: 0\r\n", {Kind::kLength, 0}},
      {"content-length:\t007 \r\n", {Kind::kLength, 7}},
      {"Content-Length: 9223372036854775807\r\n",
       {Kind::kLength, kMaxContentLength}},
      {"Transfer-Encoding: chunked\r\n", {Kind::kChunked}},
      {"transfer-encoding: Chunked\r\n", {Kind::kChunked}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Taken(With(c.lines)).framing, c.framing) << c.lines;
  }
}

TEST(RequestHeadTest, FramingThatTwoServersReadDifferentlyIsRefused) {
  const char* const cases[] = {
      "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
      "Content-Length: 5\r\nContent-Length: 6\r\n",
      "Content-Length: 5\r\nContent-Length: 5\r\n",
      "Content-Length: 5, 5\r\n",
      "Content-Length:\r\n",
      "Content-Length: +5\r\n",
      "Content-Length: -5\r\n",
      "Content-Length: 0x5\r\n",
      "Content-Length: 5 5\r\n",
      "Content-Length: 5.0\r\n",
      "Content-Length: 9223372036854775808\r\n",
      "Content-Length: 18446744073709551621\r\n",
      "Content-Length: 99999999999999999999999\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked, chunked\r\n",
      "Transfer-Encoding: gzip, chunked\r\n",
      "Transfer-Encoding: identity\r\n",
      "Transfer-Encoding: xchunked\r\n",
      "Transfer-Encoding: \"chunked\"\r\n",
      "Transfer-Encoding: chunked;q=1\r\n",
      "Transfer-Encoding:\r\n",
      "Transfer_Encoding: chunked\r\n",
      "Content_Length: 5\r\n",
      "content-length: 5\r\nCONTENT_LENGTH: 5\r\n",
      "Connection: content-length\r\nContent-Length: 5\r\n",
      "Connection: close, Transfer-Encoding\r\n",
      "Connection: Host\r\n",
      "Connection: a b\r\n",
      "Connection: \"close\"\r\n",
  };
  for (const char* lines : cases) ExpectRefused(With(lines), 400, "");
  ExpectRefused(With("Transfer-Encoding: chunked\r\n", "1.0"), 400, "HTTP/1.0");
  const std::string connect = "CONNECT a.b:443 HTTP/1.1\r\nHost: a.b\r\n";
  ExpectRefused(connect + "Transfer-Encoding: chunked\r\n\r\n", 400, "CONNECT");
  ExpectRefused(connect + "Content-Length: 1\r\n\r\n", 400, "no body");
  EXPECT_EQ(Taken(connect + "Content-Length: 0\r\n\r\n").framing.kind,
            Kind::kNone);
}

TEST(RequestHeadTest, KeepAliveFollowsTheConnectionField) {
  EXPECT_TRUE(Taken(With("")).keep_alive);
  EXPECT_TRUE(Taken(With("Connection: , keep-alive ,\r\n")).keep_alive);
  EXPECT_FALSE(Taken(With("Connection: Close\r\n")).keep_alive);
  EXPECT_FALSE(
      Taken(With("Connection: x\r\nConnection: y,close\r\n")).keep_alive);
  EXPECT_FALSE(Taken(With("Connection: keep-alive\r\n", "1.0")).keep_alive);
  EXPECT_FALSE(Taken(With("Upgrade: websocket\r\n")).upgrade);
  EXPECT_FALSE(Taken(With("Connection: upgrade\r\n")).upgrade);
  EXPECT_TRUE(
      Taken(With("Connection: Upgrade\r\nUpgrade: websocket\r\n")).upgrade);
}

TEST(RequestHeadTest, ExpectContinueIsReadOrRefused) {
  const std::string expect = "Expect: 100-Continue\r\n";
  EXPECT_FALSE(Taken(With(expect)).expect_continue);
  EXPECT_FALSE(Taken(With(expect + "Content-Length: 0\r\n")).expect_continue);
  EXPECT_TRUE(Taken(With(expect + "Content-Length: 1\r\n")).expect_continue);
  EXPECT_TRUE(
      Taken(With(expect + "Transfer-Encoding: chunked\r\n")).expect_continue);
  EXPECT_FALSE(
      Taken(With(expect + "Content-Length: 1\r\n", "1.0")).expect_continue);
  ExpectRefused(With("Expect: 100-continue, x\r\n"), 417, "Expect");
}

TEST(RequestHeadTest, FurtherInputIsLeftAlone) {
  RequestHeadParser parser;
  const std::string text = With("") + With("");
  std::string_view data = text;
  EXPECT_EQ(parser.Feed(data), HeadState::kComplete);
  EXPECT_EQ(data, With(""));
  EXPECT_EQ(parser.Feed(data), HeadState::kComplete);
  EXPECT_EQ(data, With(""));
  RequestHeadParser refused;
  data = "\n\n";
  EXPECT_EQ(refused.Feed(data), HeadState::kRefused);
  EXPECT_EQ(data, "\n");
  EXPECT_EQ(refused.Feed(data), HeadState::kRefused);
  EXPECT_EQ(data, "\n");
}

TEST(SerializeRequestHeadTest, IsWrittenAnew) {
  const RequestHead head = Taken(
      "POST http://A.b:8080?x HTTP/1.0\r\n"
      "X-One:  1 \r\nhOST: a.b:8080\r\ncontent-length: 007\r\n"
      "X-Two: 2\r\nX-One: 3\r\nVia: 1.1 other\r\n\r\n");
  EXPECT_EQ(SerializeRequestHead(head, false),
            "POST /?x HTTP/1.1\r\nHost: a.b:8080\r\nX-One: 1\r\nX-Two: 2\r\n"
            "X-One: 3\r\nVia: 1.1 other\r\nContent-Length: 7\r\n"
            "Via: 1.0 sandglass\r\nConnection: close\r\n\r\n");
}

TEST(SerializeRequestHeadTest, HopByHopFieldsAreRemoved) {
  const RequestHead head =
      Taken(With("Connection: x-mine, Upgrade\r\nX-Mine: 1\r\nUpgrade: h2c\r\n"
                 "HTTP2-Settings: a\r\nProxy-Connection: keep-alive\r\n"
                 "Proxy-Authorization: Basic a\r\nKeep-Alive: timeout=5\r\n"
                 "TE: trailers\r\nTrailer: x\r\nTransfer-Encoding: CHUNKED\r\n"
                 "Expect: 100-continue\r\nAuthorization: Bearer a\r\n"));
  EXPECT_EQ(SerializeRequestHead(head, true),
            "POST /x HTTP/1.1\r\nHost: a.b\r\nAuthorization: Bearer a\r\n"
            "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n"
            "Via: 1.1 sandglass\r\n\r\n");
}

TEST(SerializeRequestHeadTest, ReadsBackTheSame) {
  const RequestHead head = Taken(With("Content-Length: 5\r\nX: a\r\n"));
  const RequestHead again =
      Taken(SerializeRequestHead(head, true), kTransparent);
  EXPECT_EQ(again.method, head.method);
  EXPECT_EQ(again.host, head.host);
  EXPECT_EQ(again.port, head.port);
  EXPECT_EQ(again.path, head.path);
  EXPECT_EQ(again.framing, head.framing);
}

TEST(HttpFieldsTest, TokensAndValuesAreChecked) {
  EXPECT_TRUE(IsToken("X-a!"));
  EXPECT_FALSE(IsToken(""));
  EXPECT_FALSE(IsToken("a b"));
  EXPECT_TRUE(IsFieldValue(""));
  EXPECT_TRUE(IsFieldValue("a \tb\xff"));
  EXPECT_FALSE(IsFieldValue("a\r\nb"));
  EXPECT_FALSE(IsFieldValue(" a"));
  EXPECT_FALSE(IsFieldValue("a\t"));
  EXPECT_FALSE(IsFieldValue(std::string_view("\0", 1)));
}

}  // namespace
}  // namespace sandglass::egress
