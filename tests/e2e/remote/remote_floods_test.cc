// Callers from elsewhere that send what no client does, and calls that outlive
// what they were allowed by.

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "sandbox/os/fd.h"
#include "tests/e2e/remote/remote_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using grpc::StatusCode;

// Kinds of HTTP/2 frames, and flags of theirs (RFC 9113).
constexpr uint8_t kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6,
                  kWindowUpdate = 8, kContinuation = 9;
constexpr uint8_t kEndHeaders = 4;

std::string Frame(uint8_t kind, uint8_t flags, uint32_t stream,
                  const std::string& payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) {
    frame.push_back(static_cast<char>(payload.size() >> shift));
  }
  frame.push_back(static_cast<char>(kind));
  frame.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) {
    frame.push_back(static_cast<char>(stream >> shift));
  }
  return frame + payload;
}

// A header without compression, as HPACK has it (RFC 7541).
std::string Header(const std::string& name, const std::string& value) {
  // Lengths below 127 take one byte.
  return absl::StrCat(std::string(1, '\0'),
                      std::string(1, static_cast<char>(name.size())), name,
                      std::string(1, static_cast<char>(value.size())), value);
}

// The head of a call.
std::string CallHead() {
  return absl::StrCat(
      "\x83\x86", Header(":path", "/sandglass.v1.IdentityService/WhoAmI"),
      Header(":authority", "here"), Header("content-type", "application/grpc"),
      Header("te", "trailers"));
}

// A client that says what it likes.
class RawClient {
 public:
  RawClient(int port, const std::string& roots)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        tls_(Connected(port), TestClient(roots, {"h2"})) {
    // OpenSSL writes without MSG_NOSIGNAL, and the daemon may have hung up.
    (void)std::signal(SIGPIPE, SIG_IGN);
    EXPECT_TRUE(tls_.Connect("")) << tls_.words();
    EXPECT_TRUE(Send(absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                                  Frame(kSettings, 0, 0, ""))));
  }

  // False once the daemon has ended the connection.
  bool Send(const std::string& bytes) { return tls_.Send(bytes); }
  // All that the daemon has sent half a second later, or until it ended the
  // connection.
  std::string Answer() {
    absl::SleepFor(absl::Milliseconds(500));
    const std::string echo = "that all?";
    if (!Send(Frame(kPing, 0, 0, echo.substr(0, 8)))) return "";
    return tls_.ReceiveUntil(echo.substr(0, 8));
  }
  // Sends the same over and over, some MiB in all, or until the daemon has had
  // enough of it.
  void Flood(const std::string& bytes) {
    constexpr size_t kAll = size_t{8} << 20;
    constexpr size_t kAtOnce = size_t{64} << 10;
    std::string block;
    while (block.size() < kAtOnce) block += bytes;
    for (size_t sent = 0; sent < kAll; sent += block.size()) {
      if (!Send(block)) return;
    }
  }

 private:
  int Connected(int port) {
    // A daemon that doesn't read is one that holds back.
    const timeval wait{.tv_sec = 2};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(
        ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                  sizeof(address)),
        0);
    return socket_.get();
  }

  const os::Fd socket_;
  TlsEnd tls_;
};

class RemoteFloods : public RemoteTest {
 protected:
  static uint64_t MemoryKib() {
    const std::string status =
        ReadFile(absl::StrCat("/proc/", daemon().pid(), "/status"));
    const size_t at = status.find("VmRSS:");
    uint64_t kib = 0;
    const std::string rest = status.substr(at + 6);
    EXPECT_TRUE(absl::SimpleAtoi(rest.substr(0, rest.find("kB")), &kib));
    return kib;
  }
};

// Each by somebody who has proved nothing, while somebody else works.
TEST_F(RemoteFloods, KeepNobodyElseWaiting) {
  RemoteCaller ci = With(Token("team-b", "ci"));
  v1::RunCodeResponse response;
  ASSERT_TRUE(ci.Run("print(1)", &response).ok());
  const uint64_t before = MemoryKib();
  std::string resets;
  for (uint32_t stream = 1; stream < 4000; stream += 2) {
    resets += Frame(kHeaders, kEndHeaders, stream, CallHead());
    resets += Frame(kReset, 0, stream, std::string("\0\0\0\x08", 4));
  }
  std::string open;
  for (uint32_t stream = 1; stream < 4000; stream += 2) {
    open += Frame(kHeaders, kEndHeaders, stream, CallHead());
  }
  const std::string part(16000, 'a');
  struct Case {
    const char* name;
    std::string once;
    std::string again;
  };
  const std::vector<Case> cases = {
      {"calls that are reset", "", resets},
      {"calls that never come to an end", open, Frame(kPing, 0, 0, part)},
      {"settings", "",
       Frame(kSettings, 0, 0, std::string("\0\x04\0\0\xff\xff", 6))},
      {"pings", "", Frame(kPing, 0, 0, "12345678")},
      {"windows", "", Frame(kWindowUpdate, 0, 0, std::string("\0\0\0\x01", 4))},
      {"headers without end", Frame(kHeaders, 0, 1, CallHead()),
       Frame(kContinuation, 0, 1, part)},
      {"empty parts of headers", Frame(kHeaders, 0, 1, CallHead()),
       Frame(kContinuation, 0, 1, "")},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    RawClient client(port(), issuer().pem());
    if (one.once.empty() || client.Send(one.once)) client.Flood(one.again);
    const absl::Time start = absl::Now();
    EXPECT_TRUE(ci.Run("print(2)", &response).ok());
    EXPECT_EQ(response.stdout().data(), "2\n");
    EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  }
  EXPECT_LT(MemoryKib(), before + (uint64_t{100} << 10));
}

TEST_F(RemoteFloods, MetadataThatIsNoneIsRefused) {
  const std::string token =
      absl::StrCat("Bearer ", Token("team-b", "ci").value());
  RemoteCaller ci = Nobody({token});
  v1::WhoAmIResponse who;
  ASSERT_TRUE(ci.WhoAmI(&who).ok());
  const auto with = [&](const std::string& key, const std::string& value) {
    grpc::ClientContext context;
    ci.Prepare(context);
    context.AddMetadata(key, value);
    return v1::IdentityService::NewStub(ci.channel())
        ->WhoAmI(&context, v1::WhoAmIRequest(), &who);
  };
  EXPECT_FALSE(with("x-large", std::string(1 << 20, 'x')).ok());
  EXPECT_TRUE(with("x-any-bin", std::string("\0\xff\x80", 3)).ok());
  EXPECT_FALSE(with("authorization", token).ok()) << "it came twice";
  // gRPC's client sends no such values; others may.
  for (const std::string& value :
       {absl::StrCat(token, "\xc3\xa9"),
        absl::StrCat(token, std::string(1, '\0'), "b"), std::string(1, '\0')}) {
    RawClient raw(port(), issuer().pem());
    constexpr uint8_t kEndStream = 1;
    EXPECT_TRUE(raw.Send(absl::StrCat(
        Frame(kHeaders, kEndHeaders, 1,
              absl::StrCat(CallHead(), Header("authorization", value))),
        Frame(0, kEndStream, 1, std::string(5, '\0')))));
    EXPECT_THAT(raw.Answer(), Not(HasSubstr("team-b"))) << "it told who calls";
  }
  EXPECT_TRUE(With(Token("team-b", "ci")).WhoAmI(&who).ok());
}

TEST_F(RemoteFloods, ACallUnderWayEndsWithItsToken) {
  const v1::CreateTokenResponse token = Token("team-b", "ci");
  RemoteCaller ci = With(token);
  const auto sandbox = v1::SandboxService::NewStub(ci.channel());
  grpc::ClientContext call;
  call.AddMetadata("authorization", absl::StrCat("Bearer ", token.value()));
  call.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  v1::StreamRunCodeRequest request;
  *request.mutable_run() = Bash("echo begun; sleep 50");
  const auto stream = sandbox->StreamRunCode(&call, request);
  v1::StreamRunCodeResponse event;
  while (event.chunk().data() != "begun\n") ASSERT_TRUE(stream->Read(&event));

  grpc::ClientContext context;
  v1::RevokeTokenRequest revoke;
  revoke.set_id(token.token().id());
  v1::RevokeTokenResponse revoked;
  const absl::Time before = absl::Now();
  ASSERT_TRUE(Root()->RevokeToken(&context, revoke, &revoked).ok());
  while (stream->Read(&event)) {
  }
  const grpc::Status end = stream->Finish();
  EXPECT_EQ(end.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(end.error_message(), HasSubstr("no longer hold"));
  EXPECT_LT(absl::Now() - before, absl::Seconds(20));
  // Nobody waits for the program any more.
  EXPECT_TRUE(WaitUntil(
      [&] {
        v1::ListRunsRequest running;
        running.add_states(v1::RUN_STATE_RUNNING);
        v1::ListRunsResponse runs;
        return client().List(running, &runs).ok() && runs.runs().empty();
      },
      absl::Seconds(20)));
}

}  // namespace
}  // namespace sandglass::testing
