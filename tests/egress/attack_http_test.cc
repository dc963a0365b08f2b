// Requests and responses that end early, late or not at all.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/egress/attack_fixture.h"
#include "tests/support/network/world.h"

namespace sandglass::egress {
namespace {

using ::sandglass::testing::Receive;
using ::sandglass::testing::ReceiveAll;
using ::sandglass::testing::ReceiveUntil;
using ::sandglass::testing::Send;
using ::sandglass::testing::TestServer;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A server that answers before it has read the body, and then reads on, as it
// should (RFC 9112, section 9.6).
TEST_F(AttackTest, AnEarlyAnswerArrives) {
  TestServer http(80, [](int socket) {
    ReceiveUntil(socket, "\r\n\r\n", 30);
    Send(socket, "HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nlarge");
    ReceiveAll(socket, 30);
  });
  Open();
  const os::Fd program = Ask();
  Send(program.get(), PostHead("allowed.test", 4 << 20));
  Send(program.get(), std::string(4 << 20, 'b'));
  EXPECT_THAT(ReceiveAll(program.get()), StartsWith("HTTP/1.1 413 "));
}

TEST_F(AttackTest, ARefusalOfALargeBodyArrives) {
  Open();
  const os::Fd program = Ask();
  Send(program.get(), PostHead("other.test", 16 << 20));
  EXPECT_TRUE(Send(program.get(), std::string(16 << 20, 'b')));
  EXPECT_THAT(ReceiveAll(program.get()), StartsWith("HTTP/1.1 403 "));
}

TEST_F(AttackTest, ARefusalOfABodyInSmallPiecesArrives) {
  Open();
  const os::Fd program = Ask();
  const int on = 1;
  ::setsockopt(program.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  Send(program.get(), PostHead("other.test", 200));
  for (int i = 0; i < 200; ++i) {
    Send(program.get(), "b");
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_THAT(ReceiveAll(program.get()), StartsWith("HTTP/1.1 403 "));
}

TEST_F(AttackTest, ABadChunkIsRefusedAtOnce) {
  TestServer http(80, [](int socket) { ReceiveAll(socket, 30); });
  Open();
  const std::string head =
      "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  const os::Fd at_once = Ask();
  Send(at_once.get(), head + "zz\r\n");
  EXPECT_THAT(Receive(at_once.get(), 12, 4), "HTTP/1.1 400") << "with the head";
  const os::Fd later = Ask();
  Send(later.get(), head);
  absl::SleepFor(absl::Milliseconds(300));
  Send(later.get(), "zz\r\n");
  EXPECT_THAT(Receive(later.get(), 12, 4), "HTTP/1.1 400") << "behind the head";
}

// Where a close is the body's end, a body that was cut may not end with one.
TEST_F(AttackTest, ABodyThatWasCutDoesNotLookWhole) {
  TestServer http(80, [](int socket) {
    ReceiveUntil(socket, "\r\n\r\n", 30);
    Send(socket, "HTTP/1.1 200 OK\r\n\r\npart");
    absl::SleepFor(absl::Milliseconds(300));
    const linger now = {.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    sockaddr none = {};
    none.sa_family = AF_UNSPEC;
    (void)::connect(socket, &none, sizeof(none));  // resets
  });
  Open();
  const os::Fd program = Ask();
  Send(program.get(), GetHead("allowed.test"));
  EXPECT_THAT(ReceiveUntil(program.get(), "part"), HasSubstr("part"));
  char byte;
  EXPECT_EQ(::recv(program.get(), &byte, 1, 0), -1) << "ended as if whole";
}

TEST_F(AttackTest, AChunkedBodyThatWasCutDoesNotLookWholeToHttp10) {
  TestServer http(80, [](int socket) {
    ReceiveUntil(socket, "\r\n\r\n", 30);
    Send(socket,
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n");
    absl::SleepFor(absl::Milliseconds(300));
  });
  Open();
  const os::Fd program = Ask();
  Send(program.get(), "GET http://allowed.test/ HTTP/1.0\r\n\r\n");
  EXPECT_THAT(ReceiveUntil(program.get(), "part"), HasSubstr("part"));
  char byte;
  EXPECT_EQ(::recv(program.get(), &byte, 1, 0), -1) << "ended as if whole";
}

TEST_F(AttackTest, AnAddressThatIsSilentLeavesTimeForTheNext) {
  const auto listener = [](const char* address, int backlog) {
    os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    const sockaddr_in at = At(address, 82);
    EXPECT_EQ(::bind(socket.get(), Plain(at), sizeof(at)), 0);
    EXPECT_EQ(::listen(socket.get(), backlog), 0);
    return socket;
  };
  // Full, so it drops what comes.
  const os::Fd silent = listener("93.184.216.60", 0);
  std::vector<os::Fd> fill;
  for (int i = 0; i < 4; ++i) {
    fill.emplace_back(
        ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_in at = At("93.184.216.60", 82);
    (void)::connect(fill.back().get(), Plain(at), sizeof(at));
  }
  const os::Fd good = listener("93.184.216.61", 8);
  std::thread server([&] {
    pollfd fd = {good.get(), POLLIN, 0};
    if (::poll(&fd, 1, 12'000) != 1) return;
    const os::Fd socket(::accept(good.get(), nullptr, nullptr));
    ReceiveUntil(socket.get(), "\r\n\r\n");
    Send(socket.get(), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  Open({.to_connect = absl::Seconds(8)});
  const os::Fd program = Ask();
  Send(program.get(), GetHead("two.test:82"));
  EXPECT_THAT(ReceiveUntil(program.get(), "\r\n\r\n", 12),
              StartsWith("HTTP/1.1 200 "));
  server.join();
}

TEST_F(AttackTest, NoRefusalIsNotedOfARequestThatWasServed) {
  TestServer http(80, [](int socket) {
    ReceiveUntil(socket, "\r\n\r\n", 30);
    Send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  Open();
  const os::Fd program = Ask();
  Send(program.get(), GetHead("mixed.test"));
  EXPECT_THAT(ReceiveUntil(program.get(), "\r\n\r\n"),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(Close().refused, 0u);
}

// A server may close a kept connection as the next request comes (RFC 9112,
// section 9.3.1): what can be asked again is.
TEST_F(AttackTest, AKeptConnectionThatHasJustEndedIsMadeAnew) {
  TestServer http(80, [](int socket) {
    ReceiveUntil(socket, "\r\n\r\n", 30);
    Send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    Receive(socket, 1, 30);  // and closes
  });
  Open();
  const os::Fd program = Ask();
  for (int i = 0; i < 2; ++i) {
    Send(program.get(), GetHead("allowed.test"));
    EXPECT_THAT(ReceiveUntil(program.get(), "\r\n\r\n"),
                StartsWith("HTTP/1.1 200 "))
        << i;
  }
}

TEST_F(AttackTest, AFailureBehindAnInterimResponseIsTold) {
  TestServer http(80, [](int socket) {
    ReceiveUntil(socket, "\r\n\r\n", 30);
    Send(socket, "HTTP/1.1 103 Early Hints\r\n\r\n");
    absl::SleepFor(absl::Milliseconds(300));
  });
  Open();
  const os::Fd program = Ask();
  Send(program.get(), GetHead("allowed.test"));
  EXPECT_THAT(ReceiveAll(program.get()), HasSubstr("HTTP/1.1 502 "));
}

TEST_F(AttackTest, UsedUpBytesAreNotedOfPlainHttpToo) {
  TestServer http(80, [](int socket) {
    ReceiveUntil(socket, "\r\n\r\n", 30);
    Send(socket, absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n"
                              "\r\n",
                              std::string(4'000'000, 'a')));
  });
  Open({.bytes = 1 << 20});
  const os::Fd program = Ask();
  Send(program.get(), GetHead("allowed.test"));
  ReceiveAll(program.get());
  EXPECT_THAT(Close().refusals,
              Contains(Field(&Refusal::words, HasSubstr("used up"))));
}

}  // namespace
}  // namespace sandglass::egress
