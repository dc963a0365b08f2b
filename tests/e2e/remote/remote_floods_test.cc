// Strangers and callers that send floods of HTTP/2 over TLS, and somebody
// beside them who only wants answers.

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/e2e/remote/beside.h"
#include "tests/e2e/remote/raw_caller.h"
#include "tests/e2e/remote/remote_fixture.h"
#include "tests/support/network/http2_bytes.h"
#include "tests/support/slowdown.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using server::Http2Frame;
using Sent = RawCaller::Sent;
using Meanwhile = RawCaller::Meanwhile;

constexpr char kWhoAmI[] = "/sandglass.v1.IdentityService/WhoAmI";
constexpr char kServerInfo[] = "/sandglass.v1.SandboxService/GetServerInfo";
constexpr char kRunCode[] = "/sandglass.v1.SandboxService/RunCode";
constexpr uint8_t kPriority = 2;
constexpr uint8_t kPing = 6;
constexpr uint8_t kUnknown = 0x7f;
constexpr uint8_t kEndStream = Http2Frame::kEndStream;
// gRPC's prefix of an empty message.
const std::string kEmptyMessage(5, '\0');
const std::string kCancel("\0\0\0\x08", 4);
const std::string kOneByteOfWindow("\0\0\0\1", 4);

std::string Repeated(const std::string& text, size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string BeginCall(uint32_t stream, std::string_view method,
                      std::string_view more = "") {
  return Http2Bytes(Http2Frame::kHeaders, kEndHeaders, stream,
                    CallHeaders(method, more));
}

// A call with its only message.
std::string WholeCall(uint32_t stream, std::string_view method,
                      const std::string& message, std::string_view more) {
  std::string prefix(1, '\0');
  const auto size = static_cast<uint32_t>(message.size());
  for (const uint32_t byte : {size >> 24, size >> 16, size >> 8, size}) {
    prefix.push_back(static_cast<char>(byte));
  }
  return BeginCall(stream, method, more) +
         Http2Bytes(Http2Frame::kData, kEndStream, stream, prefix + message);
}

std::string Reset(uint32_t stream) {
  return Http2Bytes(Http2Frame::kResetStream, 0, stream, kCancel);
}

class RemoteFloods : public RemoteTest {
 protected:
  void SetUp() override {
    RemoteTest::SetUp();
    token_ = Header("authorization",
                    absl::StrCat("Bearer ", Token("team-b", "flood").value()));
    beside_ = std::make_unique<Beside>(
        daemon().pid(), port(),
        [ca = issuer().pem(), at = port(),
         own = absl::StrCat("Bearer ", Token("team-a", "beside").value())] {
          RemoteCaller caller(at, ca, {}, {own});
          v1::RunCodeResponse response;
          const grpc::Status status = caller.Run("print(1)", &response);
          if (!status.ok()) return status.error_message();
          return response.stdout().data();
        });
  }
  void TearDown() override {
    beside_->Check();
    RemoteTest::TearDown();
  }
  std::unique_ptr<RawCaller> Connect() const {
    auto caller =
        std::make_unique<RawCaller>(port(), TestClient(issuer().pem(), {"h2"}));
    EXPECT_TRUE(caller->connected());
    EXPECT_EQ(caller->Send(kHttp2Hello), Sent::kAll);
    return caller;
  }
  // Many frames of one kind, after `first`.
  Sent Flood(const std::string& first, const std::string& frame, size_t frames,
             Meanwhile meanwhile = Meanwhile::kReads) {
    constexpr size_t kAtOnce = 500;
    const std::unique_ptr<RawCaller> caller = Connect();
    Sent sent = caller->Send(first);
    const std::string some = Repeated(frame, kAtOnce);
    for (size_t i = 0; sent == Sent::kAll && i < frames; i += kAtOnce) {
      sent = caller->Send(some, meanwhile);
    }
    if (sent == Sent::kAll && caller->Ends(absl::Milliseconds(500))) {
      return Sent::kEnded;
    }
    return sent;
  }

  std::string token_;  // as a header
  std::unique_ptr<Beside> beside_;
};

TEST_F(RemoteFloods, CallsOfAStrangerThatAreResetAtOnceEndTheConnection) {
  for (int round = 0; round < 3; ++round) {
    const std::unique_ptr<RawCaller> caller = Connect();
    Sent sent = Sent::kAll;
    uint32_t stream = 1;
    while (sent == Sent::kAll && stream < 40'000) {
      std::string some;
      for (int i = 0; i < 200; ++i, stream += 2) {
        some += BeginCall(stream, kWhoAmI) + Reset(stream);
      }
      sent = caller->Send(some);
    }
    EXPECT_EQ(sent, Sent::kEnded);
  }
}

TEST_F(RemoteFloods, RunsThatAreResetAtOnceEndTheConnection) {
  const std::string request = Python("print(2)").SerializeAsString();
  for (int round = 0; round < 3; ++round) {
    const std::unique_ptr<RawCaller> caller = Connect();
    Sent sent = Sent::kAll;
    uint32_t stream = 1;
    while (sent == Sent::kAll && stream < 40'000) {
      std::string some;
      for (int i = 0; i < 100; ++i, stream += 2) {
        some += WholeCall(stream, kRunCode, request, token_) + Reset(stream);
      }
      sent = caller->Send(some);
    }
    EXPECT_EQ(sent, Sent::kEnded);
  }
}

TEST_F(RemoteFloods, FramesOfSettingsArePutUpWith) {
  const std::string frame = Http2Bytes(Http2Frame::kSettings, 0, 0, "");
  EXPECT_NE(Flood("", frame, 100'000), Sent::kStuck);
  // Each has to be acknowledged, and nobody takes the acknowledgements.
  EXPECT_NE(Flood("", frame, 2'000'000, Meanwhile::kReadsNothing), Sent::kAll);
}

TEST_F(RemoteFloods, PingsEndTheConnection) {
  const std::string frame =
      Http2Bytes(kPing, 0, 0, std::string_view("12345678"));
  EXPECT_EQ(Flood("", frame, 50'000), Sent::kEnded);
  EXPECT_NE(Flood("", frame, 50'000, Meanwhile::kReadsNothing), Sent::kAll);
}

TEST_F(RemoteFloods, HeadersWithoutEndEndTheConnection) {
  const std::string begun =
      Http2Bytes(Http2Frame::kHeaders, 0, 1, CallHeaders(kWhoAmI));
  EXPECT_EQ(
      Flood(begun, Http2Bytes(Http2Frame::kContinuation, 0, 1, ""), 10'000),
      Sent::kEnded);
  // A mebibyte in one header, and in one frame.
  const std::string huge = Header("x", std::string(1 << 20, 'y'));
  std::string pieces = begun;
  for (size_t at = 0; at < huge.size(); at += 16384) {
    const bool last = at + 16384 >= huge.size();
    pieces += Http2Bytes(Http2Frame::kContinuation, last ? kEndHeaders : 0, 1,
                         std::string_view(huge).substr(at, 16384));
  }
  for (const std::string& bytes :
       {pieces,
        BeginCall(1, kWhoAmI, Header("x", std::string(1 << 20, 'y')))}) {
    const std::unique_ptr<RawCaller> caller = Connect();
    EXPECT_TRUE(caller->Send(bytes) == Sent::kEnded ||
                caller->Ends(absl::Seconds(5)));
  }
}

TEST_F(RemoteFloods, HeadersThatUnpackToMuchAreRefused) {
  // One header that is remembered (RFC 7541, section 6.2.1), and then named by
  // one byte each time: 4,000 bytes of it each.
  const std::string remembered = absl::StrCat(
      "\x40", HpackString("x"), HpackString(std::string(4000, 'y')));
  const std::string bomb =
      absl::StrCat(remembered, std::string(12'000, '\xbe'));
  for (int round = 0; round < 20; ++round) {
    const std::unique_ptr<RawCaller> caller = Connect();
    caller->Send(BeginCall(1, kWhoAmI, bomb));
    caller->CallsEnd(1, absl::Seconds(5));
    EXPECT_TRUE(caller->ended_calls() == 1 || caller->Ends(absl::Seconds(1)));
    // RESOURCE_EXHAUSTED
    EXPECT_EQ(caller->FirstStatus(), "8");
  }
}

TEST_F(RemoteFloods, AnswersThatAreNotLetInAreBounded) {
  // The other side may send no byte of a call's answer.
  const std::string no_window = Http2Bytes(Http2Frame::kSettings, 0, 0,
                                           std::string_view("\0\4\0\0\0\0", 6));
  const v1::RunCodeRequest large =
      Python("import sys; sys.stdout.write('x' * 900_000)");
  std::vector<std::unique_ptr<RawCaller>> callers;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(Connect());
    std::string calls = no_window;
    for (uint32_t stream = 1; stream < 400; stream += 2) {
      calls += stream < 20 ? WholeCall(stream, kRunCode,
                                       large.SerializeAsString(), token_)
                           : WholeCall(stream, kServerInfo, "", token_);
    }
    EXPECT_EQ(callers.back()->Send(calls), Sent::kAll);
  }
  absl::SleepFor(absl::Seconds(1));
}

TEST_F(RemoteFloods, FramesThatMeanNothingArePutUpWith) {
  const std::string call = BeginCall(1, kRunCode, token_);
  for (const std::string& frame :
       {Http2Bytes(Http2Frame::kData, 0, 1, ""),
        Http2Bytes(kPriority, 0, 1, std::string_view("\0\0\0\0\x10", 5)),
        Http2Bytes(kUnknown, 0, 1, ""),
        Http2Bytes(Http2Frame::kWindowUpdate, 0, 1, kOneByteOfWindow),
        Http2Bytes(Http2Frame::kWindowUpdate, 0, 0, kOneByteOfWindow)}) {
    EXPECT_NE(Flood(call, frame, 50'000), Sent::kStuck);
  }
}

TEST_F(RemoteFloods, BytesOneByOneAreTaken) {
  const std::unique_ptr<RawCaller> caller = Connect();
  for (uint32_t stream = 1; stream < 40; stream += 2) {
    for (const char byte : WholeCall(stream, kWhoAmI, "", token_)) {
      ASSERT_EQ(caller->Send(std::string_view(&byte, 1)), Sent::kAll);
    }
  }
  EXPECT_TRUE(caller->CallsEnd(20, absl::Seconds(10)));
  EXPECT_EQ(caller->FirstStatus(), "0");
}

}  // namespace
}  // namespace sandglass::testing
