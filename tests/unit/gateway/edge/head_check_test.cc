#include "gateway/edge/head_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sandglass::gateway {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

TEST(HeadCheckTest, FindsTheEmptyLine) {
  EXPECT_EQ(EndOfHead("GET / HTTP/1.1\r\n"), std::nullopt);
  EXPECT_EQ(EndOfHead("GET / HTTP/1.1\r\n\r\nbody"), 18U);
  EXPECT_EQ(EndOfHead("\n\n\r\n"), std::nullopt);
}

TEST(HeadCheckTest, TakesWhatClientsSend) {
  for (const std::string head : {
           "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
           "POST /a?b=%20 HTTP/1.1\r\nhost:a\r\nContent-Length:  12 \r\n\r\n",
           "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: Chunked\r\n\r\n",
           "GET / HTTP/1.0\r\n\r\n",
           "OPTIONS * HTTP/1.1\r\nhost: a\r\nx: a\tb \xc3\xa4\r\nx:\r\n\r\n",
       }) {
    EXPECT_EQ(WrongWithHead(head), std::nullopt) << head;
  }
}

TEST(HeadCheckTest, RefusesWhatCanBeReadInTwoWays) {
  const std::string first = "POST / HTTP/1.1\r\nhost: a\r\n";
  for (const std::string& head : {
           std::string("\r\n\r\n"),
           std::string("GET /\r\n\r\n"),
           std::string("GET  / HTTP/1.1\r\nhost: a\r\n\r\n"),
           std::string("GET /\t HTTP/1.1\r\nhost: a\r\n\r\n"),
           std::string("GET /a#b HTTP/1.1\r\nhost: a\r\n\r\n"),
           std::string("GET * HTTP/1.1\r\nhost: a\r\n\r\n"),
           std::string("GET //a b HTTP/1.1\r\nhost: a\r\n\r\n"),
           std::string("G@T / HTTP/1.1\r\nhost: a\r\n\r\n"),
           std::string("GET / HTTP/1.2\r\nhost: a\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\n\r\n"),
           first + "host: a\r\n\r\n",
           first + "content-length: 1\r\nContent-Length: 1\r\n\r\n",
           first + "content-length: 1, 1\r\n\r\n",
           first + "content-length:\r\n\r\n",
           first + "content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
           first + "transfer-encoding: chunked\r\n"
                   "transfer-encoding: chunked\r\n\r\n",
           first + "transfer-encoding: chunked, identity\r\n\r\n",
           first + "content-length : 1\r\n\r\n",
           first + " content-length: 1\r\n\r\n",
           first + "x\r\n\r\n",
           first + "x: \x7f\r\n\r\n",
           first + "x: a\nb: c\r\n\r\n",
           std::string("GET / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n"),
       }) {
    EXPECT_NE(WrongWithHead(head), std::nullopt) << head;
  }
  EXPECT_THAT(WrongWithHead(first + "x: y\r\nnone\r\n\r\n"),
              Optional(HasSubstr("Line 4")));
}

}  // namespace
}  // namespace sandglass::gateway
