#include "gateway/ports/port_heads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sandglass::gateway {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHost[] = "8000-ses-a.apps.example.org";

PortTarget ByHost(const std::string& target = "/") {
  return {
      .session = "ses-a", .port = 8000, .target = target, .own_origin = true};
}
PortTarget ByPath() {
  return {.session = "ses-a",
          .port = 8000,
          .target = "/x",
          .prefix = "/ports/ses-a/8000"};
}
HttpHead Get(HeaderFields headers) {
  headers.insert(headers.begin(), {"Host", kHost});
  return {.method = "GET", .path = "/", .query = "", .headers = headers};
}
std::string Head(const PortTarget& target, const HttpHead& request) {
  return RequestHead({.target = target,
                      .request = request,
                      .proof = ProofOf(target, request),
                      .address = "192.0.2.1"});
}

TEST(PortHeadsTest, WhatProvesTheCallerIsNotForTheProgram) {
  HttpHead request = Get({{"Authorization", "Bearer sg-1"}});
  PortProof proof = ProofOf(ByHost(), request);
  EXPECT_EQ(proof.token, "sg-1");
  EXPECT_THAT(Head(ByHost(), request), Not(HasSubstr("sg-1")));
  // A program's own, where the token is in its own header.
  request = Get({{"Authorization", "Bearer app"}, {"Sandglass-Token", "sg-2"}});
  EXPECT_EQ(ProofOf(ByHost(), request).token, "sg-2");
  EXPECT_THAT(Head(ByHost(), request),
              AllOf(HasSubstr("Authorization: Bearer app\r\n"),
                    Not(HasSubstr("sg-2"))));
  request = Get({{"Authorization", "Basic YTpi"}});
  EXPECT_EQ(ProofOf(ByHost(), request).token, "");
  EXPECT_THAT(Head(ByHost(), request), HasSubstr("Basic YTpi"));
  request = Get({{"cookie", "a=1; __Host-sandglass-link=L; __Host-b=2"}});
  proof = ProofOf(ByHost(), request);
  EXPECT_EQ(proof.link, "L");
  EXPECT_TRUE(proof.by_cookie);
  // Cookies that others may have set don't get there, and by path none does.
  EXPECT_THAT(Head(ByHost(), request),
              AllOf(HasSubstr("cookie: b=2\r\n"), Not(HasSubstr("a=1")),
                    Not(HasSubstr("link"))));
  EXPECT_THAT(Head(ByPath(), request), Not(HasSubstr("cookie")));
  EXPECT_EQ(ProofOf(ByPath(), request).link, "");
}

TEST(PortHeadsTest, TheProgramSeesItsOwnLoopback) {
  const HttpHead request = Get({{"Origin", std::string("https://") + kHost},
                                {"X-Forwarded-For", "203.0.113.9"},
                                {"Connection", "keep-alive, X-Secret"},
                                {"X-Secret", "1"},
                                {"Transfer-Encoding", "chunked"},
                                {"Accept", "*/*"}});
  const std::string head = Head(ByHost("/a?b"), request);
  EXPECT_THAT(head, ::testing::StartsWith(
                        "GET /a?b HTTP/1.1\r\nhost: localhost:8000\r\n"));
  EXPECT_THAT(head, HasSubstr("origin: http://localhost:8000\r\n"));
  EXPECT_THAT(head, HasSubstr("x-forwarded-for: 192.0.2.1\r\n"));
  EXPECT_THAT(head, HasSubstr(std::string("x-forwarded-host: ") + kHost));
  EXPECT_THAT(head, HasSubstr("Accept: */*\r\nor"));
  EXPECT_THAT(head, HasSubstr("connection: close\r\n\r\n"));
  for (const char* gone :
       {"203.0.113.9", "X-Secret", "chunked", "keep-alive"}) {
    EXPECT_THAT(head, Not(HasSubstr(gone)));
  }
  // Another page's stays what it is.
  EXPECT_THAT(Head(ByHost(), Get({{"origin", "https://evil.example"}})),
              HasSubstr("origin: https://evil.example\r\n"));
}

TEST(PortHeadsTest, ACookieIsOfItsHostAlone) {
  const HeaderFields own = ResponseHeaders(
      ByHost(), 200,
      {{"Set-Cookie", "a=b; Domain=.example.org; Path=/x; HttpOnly"},
       {"Set-Cookie", "__Host-c=d; SameSite=None"}});
  EXPECT_THAT(own,
              ElementsAre(HeaderField{"set-cookie",
                                      "__Host-a=b; HttpOnly; Secure; Path=/"},
                          HeaderField{"set-cookie",
                                      "__Host-c=d; SameSite=None; Secure; "
                                      "Path=/"}));
  const HeaderFields shared = ResponseHeaders(
      ByPath(), 200,
      {{"Set-Cookie", "a=b"}, {"Clear-Site-Data", "*"}, {"X-App", "1"}});
  EXPECT_THAT(shared, Contains(HeaderField{"x-app", "1"}));
  for (const HeaderField& field : shared) {
    EXPECT_NE(field.name, "set-cookie");
    EXPECT_NE(field.name, "clear-site-data");
  }
  EXPECT_THAT(shared, Contains(::testing::Field(&HeaderField::value,
                                                HasSubstr("sandbox allow-"))));
  EXPECT_THAT(shared,
              Not(Contains(::testing::Field(&HeaderField::value,
                                            HasSubstr("allow-same-origin")))));
}

TEST(PortHeadsTest, PlacesAreWhereTheClientFindsThem) {
  const auto location = [](const PortTarget& target, const char* place) {
    return ResponseHeaders(target, 302, {{"Location", place}})[0].value;
  };
  EXPECT_EQ(location(ByHost(), "http://localhost:8000/a"), "/a");
  EXPECT_EQ(location(ByHost(), "http://localhost:8000"), "/");
  EXPECT_EQ(location(ByHost(), "/a"), "/a");
  EXPECT_EQ(location(ByPath(), "/a"), "/ports/ses-a/8000/a");
  EXPECT_EQ(location(ByPath(), "http://localhost:8000/a?b"),
            "/ports/ses-a/8000/a?b");
  for (const char* other :
       {"https://example.org/", "//example.org/", "a/b",
        "http://localhost:80000/", "http://localhost:8000.example.org/"}) {
    EXPECT_EQ(location(ByPath(), other), other);
  }
}

TEST(PortHeadsTest, PagesOfOtherOriginsAreTold) {
  const std::string own = std::string("https://") + kHost;
  EXPECT_FALSE(ComesFromElsewhere(Get({})));
  EXPECT_FALSE(ComesFromElsewhere(Get({{"origin", own}})));
  EXPECT_FALSE(ComesFromElsewhere(Get({{"sec-fetch-site", "same-origin"}})));
  // A link in a mail, or typed.
  EXPECT_FALSE(ComesFromElsewhere(Get({{"sec-fetch-site", "cross-site"},
                                       {"sec-fetch-mode", "navigate"},
                                       {"sec-fetch-dest", "document"}})));
  EXPECT_TRUE(ComesFromElsewhere(Get({{"sec-fetch-site", "same-site"}})));
  EXPECT_TRUE(ComesFromElsewhere(Get({{"sec-fetch-site", "cross-site"},
                                      {"sec-fetch-mode", "navigate"},
                                      {"sec-fetch-dest", "iframe"}})));
  for (const char* origin :
       {"null", "https://9000-ses-a.apps.example.org", "https://x"}) {
    EXPECT_TRUE(ComesFromElsewhere(Get({{"origin", origin}}))) << origin;
  }
  HttpHead post = Get({{"sec-fetch-site", "cross-site"},
                       {"sec-fetch-mode", "navigate"},
                       {"sec-fetch-dest", "document"}});
  post.method = "POST";
  EXPECT_TRUE(ComesFromElsewhere(post));
}

TEST(PortHeadsTest, ALinkIsTakenOutOfTheQuery) {
  EXPECT_EQ(TargetWithoutLink(ByHost("/a?sandglass-link=L")), "/a");
  EXPECT_EQ(TargetWithoutLink(ByHost("/a?b=1&sandglass-link=L&c")), "/a?b=1&c");
  // No browser is sent to another host by it.
  for (const char* target : {"//evil.org/?sandglass-link=L",
                             "/\\evil.org/?sandglass-link=L", "/a"}) {
    EXPECT_EQ(TargetWithoutLink(ByHost(target)), std::nullopt) << target;
  }
}

TEST(PortHeadsTest, TheOnlyOtherProtocolIsWebSocket) {
  const HttpHead socket = Get({{"Connection", "keep-alive, Upgrade"},
                               {"Upgrade", "websocket"},
                               {"Sec-WebSocket-Key", "x"}});
  EXPECT_TRUE(WantsWebSocket(socket));
  EXPECT_THAT(Head(ByHost(), socket),
              AllOf(HasSubstr("connection: upgrade\r\nupgrade: websocket\r\n"),
                    HasSubstr("Sec-WebSocket-Key: x\r\n")));
  EXPECT_FALSE(WantsWebSocket(Get({{"Upgrade", "websocket"}})));
  const HttpHead other = Get({{"Connection", "upgrade"}, {"Upgrade", "h2c"}});
  EXPECT_FALSE(WantsWebSocket(other));
  EXPECT_THAT(Head(ByHost(), other), Not(HasSubstr("h2c")));
}

}  // namespace
}  // namespace sandglass::gateway
