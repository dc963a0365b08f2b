// Clients that hold as much of the daemon as they can get, and a second one
// beside them that only wants an answer. They speak to the socket by hand.

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/edge/http2_frames.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/network/http2_bytes.h"
#include "tests/support/slowdown.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using server::Http2Frame;
using server::Http2Frames;

constexpr uid_t kNobody = 65534;
constexpr uint32_t kLarge = 15 << 20;

os::Fd Connect(const std::string& path) {
  os::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                sizeof(address)) != 0) {
    ADD_FAILURE() << "connect: errno " << errno;
  }
  return fd;
}

// Does `work` in a thread that is nobody, as whom its connections count.
template <typename Work>
void AsNobody(const Work& work) {
  std::thread([&] {
    // glibc's own would change all threads.
    ASSERT_EQ(::syscall(SYS_setresuid, -1, kNobody, -1), 0);
    work();
  }).join();
}

// A RunCode that stops shortly before the end of its large request.
class HalfRequest {
 public:
  explicit HalfRequest(const std::string& path) : fd_(Connect(path)) {
    out_ = absl::StrCat(std::string(kHttp2Hello),
                        Http2Bytes(Http2Frame::kHeaders, kEndHeaders, 1,
                                   CallHeaders("/sandglass.v1.SandboxService/"
                                               "RunCode")));
    todo_ = std::string("\0\0\xf0\0\0", 5) + std::string(kLarge - 1, 'x');
  }
  int fd() const { return fd_.get(); }
  bool wants_to_write() const { return !out_.empty(); }
  // Sends what it may, takes what there is.
  void Step() {
    char bytes[65536];
    ssize_t got;
    while ((got = ::recv(fd(), bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
      frames_.Read(
          bytes, static_cast<size_t>(got),
          [this](const Http2Frame& frame, char*) {
            payload_.clear();
            if ((frame.type == Http2Frame::kHeaders &&
                 (frame.flags & Http2Frame::kEndStream) != 0) ||
                frame.type == Http2Frame::kResetStream) {
              refused_ = true;
            }
          },
          [this](const Http2Frame& frame, const char* part, size_t size) {
            payload_.append(part, size);
            if (payload_.size() == frame.length) TakeFrame(frame);
          });
    }
    if (got == 0 || (got < 0 && errno != EAGAIN)) ended_ = true;
    while (out_.empty() && !over()) {
      const int64_t may =
          std::min<int64_t>({stream_window_, connection_window_, 16384,
                             static_cast<int64_t>(todo_.size() - sent_)});
      if (may <= 0) return;
      out_ = Http2Bytes(
          Http2Frame::kData, 0, 1,
          std::string_view(todo_).substr(sent_, static_cast<size_t>(may)));
      sent_ += static_cast<size_t>(may);
      stream_window_ -= may;
      connection_window_ -= may;
      Flush();
    }
    Flush();
  }
  // Nothing more can be sent.
  bool over() const { return refused_ || ended_ || sent_ == todo_.size(); }
  bool refused() const { return refused_; }

 private:
  static uint32_t Number(std::string_view bytes) {
    uint32_t number = 0;
    for (const char byte : bytes) {
      number = number << 8 | static_cast<uint8_t>(byte);
    }
    return number;
  }
  void TakeFrame(const Http2Frame& frame) {
    constexpr uint8_t kWindowUpdate = 8;
    constexpr uint32_t kInitialWindow = 4;
    if (frame.type == kWindowUpdate) {
      (frame.stream == 0 ? connection_window_ : stream_window_) +=
          Number(payload_);
    }
    if (frame.type != Http2Frame::kSettings) return;
    for (size_t at = 0; at + 6 <= payload_.size(); at += 6) {
      if (Number(std::string_view(payload_).substr(at, 2)) != kInitialWindow) {
        continue;
      }
      const int64_t window =
          Number(std::string_view(payload_).substr(at + 2, 4));
      stream_window_ += window - initial_window_;
      initial_window_ = window;
    }
    // What isn't acknowledged doesn't count yet.
    constexpr uint8_t kAcknowledged = 1;
    if ((frame.flags & kAcknowledged) == 0) {
      out_ += Http2Bytes(Http2Frame::kSettings, kAcknowledged, 0, "");
    }
  }
  void Flush() {
    const ssize_t sent =
        ::send(fd(), out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) out_.erase(0, static_cast<size_t>(sent));
  }

  os::Fd fd_;
  Http2Frames frames_;
  std::string payload_;
  std::string out_;
  std::string todo_;
  size_t sent_ = 0;
  int64_t initial_window_ = 65535;
  int64_t stream_window_ = 65535;
  int64_t connection_window_ = 65535;
  bool refused_ = false;
  bool ended_ = false;
};

// The second client: one call after the other until it goes, each of which must
// be answered.
class Bystander {
 public:
  explicit Bystander(const Daemon& daemon)
      : client_(daemon.address()), thread_([this] { Work(); }) {}
  ~Bystander() {
    if (thread_.joinable()) Stop();
  }
  // What went wrong; empty: nothing.
  std::string Stop() {
    stop_ = true;
    thread_.join();
    if (calls_ < 2) absl::StrAppend(&wrong_, "only ", calls_, " calls; ");
    return wrong_;
  }

 private:
  void Work() {
    while (!stop_) {
      // Long enough for others' deeds to meet it half-way.
      const RunResult result =
          client_.Run(Python("import time; time.sleep(0.3); print(1)"));
      ++calls_;
      if (result.status.ok() && result.response.stdout().data() == "1\n") {
        continue;
      }
      absl::StrAppend(&wrong_, result.status.error_code(), " ",
                      result.status.error_message(), "; ");
    }
  }

  Client client_;
  std::atomic<bool> stop_ = false;
  int calls_ = 0;
  std::string wrong_;
  std::thread thread_;
};

class HostileClients : public OwnDaemonTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(StartDaemon());
    ASSERT_EQ(::chmod(daemon().directory().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(daemon().socket_path().c_str(), 0666), 0);
    ASSERT_THAT(client().Run(Python("print(1)")), OutcomeIs(v1::OUTCOME_OK));
  }
  // Of the daemon itself, in MiB.
  int64_t ResidentMiB() {
    std::ifstream file(absl::StrCat("/proc/", ServingPid(), "/status"));
    std::string word;
    int64_t kib = 0;
    while (file >> word) {
      if (word == "VmRSS:") file >> kib;
    }
    return kib / 1024;
  }
  pid_t ServingPid() { return daemon().pid(); }
};

TEST_F(HostileClients, SilentConnectionsShutNobodyOut) {
  std::vector<os::Fd> silent;
  AsNobody([&] {
    for (int i = 0; i < 1500; ++i) {
      silent.push_back(Connect(daemon().socket_path()));
      // Some say what every client says first.
      if (i % 2 == 0) {
        ::send(silent.back().get(), kHttp2Hello.data(), kHttp2Hello.size(),
               MSG_NOSIGNAL);
      }
    }
  });
  const absl::Time began = absl::Now();
  Client other(daemon().address());
  EXPECT_TRUE(other.Serving("", absl::Seconds(5) * Slowdown()));
  EXPECT_THAT(other.Run(Python("print(1)")), OutcomeIs(v1::OUTCOME_OK));
  // It is milliseconds beside them. Whoever has to wait for them to go, waits
  // for ever.
  EXPECT_LT(absl::Now() - began, absl::Seconds(5) * Slowdown());
  // One more of the same caller gets in, too: the longest silent gives way.
  AsNobody([&] {
    const os::Fd more = Connect(daemon().socket_path());
    ::send(more.get(), kHttp2Hello.data(), kHttp2Hello.size(), MSG_NOSIGNAL);
    pollfd answer{more.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&answer, 1, 20000), 1);
    char byte = 0;
    EXPECT_EQ(::recv(more.get(), &byte, 1, MSG_DONTWAIT), 1);
  });
  silent.clear();
  StopDaemon();
}

TEST_F(HostileClients, AMessageThatIsTooLargeIsRefusedByItselfAlone) {
  const int64_t before = ResidentMiB();
  Bystander bystander(daemon());
  int64_t max = 0;
  for (const size_t bytes : {size_t{17} << 20, size_t{600} << 20}) {
    Client own(daemon().address());
    std::atomic<bool> done = false;
    std::thread watch([&] {
      while (!done) {
        max = std::max(max, ResidentMiB());
        absl::SleepFor(absl::Milliseconds(5));
      }
    });
    const grpc::Status status =
        own.CallRaw("/sandglass.v1.SandboxService/RunCode",
                    std::string(bytes, 'x'), nullptr);
    done = true;
    watch.join();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
        << status.error_message();
    EXPECT_EQ(DetailsOf(status).reason, "MESSAGE_TOO_LARGE");
    EXPECT_THAT(status.error_message(),
                ::testing::HasSubstr(absl::StrCat(bytes, " bytes")));
  }
  EXPECT_EQ(bystander.Stop(), "");
  EXPECT_LT(max, before + 128);
  StopDaemon();
}

TEST_F(HostileClients, UnfinishedRequestsHoldNoMoreThanTheirCallersShare) {
  const int64_t before = ResidentMiB();
  Bystander bystander(daemon());
  std::vector<HalfRequest> requests;
  AsNobody([&] {
    for (int i = 0; i < 60; ++i) requests.emplace_back(daemon().socket_path());
  });
  // Until each has sent all but the last byte, or was refused.
  EXPECT_TRUE(WaitUntil(
      [&] {
        bool all = true;
        for (HalfRequest& request : requests) {
          if (request.over()) continue;
          request.Step();
          all = false;
        }
        return all;
      },
      absl::Seconds(60) * Slowdown()));
  // Until the daemon has taken what was sent.
  absl::SleepFor(absl::Seconds(1));
  const auto refused =
      std::count_if(requests.begin(), requests.end(),
                    [](const HalfRequest& one) { return one.refused(); });
  // Of 512 MiB one caller alone has half: 17 times 15 MiB.
  EXPECT_GE(refused, 40);
  EXPECT_LT(refused, 60);
  EXPECT_LT(ResidentMiB(), before + 400);
  EXPECT_EQ(bystander.Stop(), "");
  requests.clear();
  StopDaemon();
}

TEST_F(HostileClients, WhatIsCompressedIsRefusedBeforeItIsUnpacked) {
  const int64_t before = ResidentMiB();
  v1::RunCodeRequest request = Python("print(1)");
  // Packed it has some hundred kilobytes.
  request.set_stdin(std::string(size_t{300} << 20, '\0'));
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::RunCodeResponse response;
  const grpc::Status status =
      client().stub().RunCode(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED)
      << status.error_message();
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("gzip"));
  EXPECT_LT(ResidentMiB(), before + 64);
  // A client that would take compressed answers is served, as all of gRPC's do.
  EXPECT_THAT(client().Run(Python("print(1)")), OutcomeIs(v1::OUTCOME_OK));
  StopDaemon();
}

TEST_F(HostileClients, MemoryOfAFloodIsGivenBack) {
  const int64_t before = ResidentMiB();
  // No request, but it has to be taken in whole to know that.
  const std::string body(kLarge, 'x');
  std::vector<std::thread> threads;
  threads.reserve(32);
  std::atomic<int> left = 128;
  std::atomic<int> others = 0;
  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([&] {
      while (left-- > 0) {
        Client own(daemon().address());
        const grpc::Status status =
            own.CallRaw("/sandglass.v1.SandboxService/RunCode", body, nullptr);
        // Invalid, or too many of them at a time.
        if (status.error_code() != grpc::StatusCode::INVALID_ARGUMENT &&
            DetailsOf(status).reason != "REQUEST_BYTES_FULL") {
          ++others;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(others, 0);
  EXPECT_TRUE(WaitUntil([&] { return ResidentMiB() < before + 64; },
                        absl::Seconds(15) * Slowdown()))
      << before << " MiB before, " << ResidentMiB() << " after";
  StopDaemon();
}

}  // namespace
}  // namespace sandglass::testing
