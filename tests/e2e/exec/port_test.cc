// Programs in sessions that listen, reached by PortService.

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "sandglass/v1/exec_service.grpc.pb.h"
#include "sandglass/v1/port_service.grpc.pb.h"
#include "tests/support/calls/execs.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

// One connection to a program.
class Forwarded {
 public:
  Forwarded(v1::PortService::Stub& stub, const std::string& session,
            uint32_t port) {
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(60));
    stream_ = stub.Forward(&context_);
    v1::ForwardRequest start;
    start.mutable_start()->set_session_id(session);
    start.mutable_start()->set_port(port);
    stream_->Write(start);
    v1::ForwardResponse first;
    connected_ = stream_->Read(&first) && first.has_connected();
  }
  ~Forwarded() {
    if (finished_) return;
    context_.TryCancel();
    (void)Finish();
  }
  bool connected() const { return connected_; }
  bool Send(const std::string& data, bool finish = false) {
    v1::ForwardRequest request;
    request.set_data(data);
    request.set_finish(finish);
    return stream_->Write(request);
  }
  bool Write(const v1::ForwardRequest& request) {
    return stream_->Write(request);
  }
  void NoMore() { stream_->WritesDone(); }
  // Up to so many bytes, or the program's end.
  std::string Receive(size_t bytes = SIZE_MAX) {
    std::string out;
    v1::ForwardResponse response;
    while (out.size() < bytes && stream_->Read(&response)) {
      EXPECT_LE(response.data().size(), 64u << 10);
      out += response.data();
      if (response.finish()) {
        program_done_ = true;
        break;
      }
    }
    return out;
  }
  bool program_done() const { return program_done_; }
  void Cancel() { context_.TryCancel(); }
  grpc::Status Finish() {
    finished_ = true;
    v1::ForwardResponse rest;
    while (stream_->Read(&rest)) {
    }
    return stream_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::ForwardRequest, v1::ForwardResponse>>
      stream_;
  bool connected_ = false;
  bool program_done_ = false;
  bool finished_ = false;
};

class Ports : public DaemonTest {
 protected:
  Ports()
      : channel_(Connect()),
        execs_(v1::ExecService::NewStub(channel_)),
        ports_(v1::PortService::NewStub(channel_)) {}

  std::shared_ptr<grpc::Channel> Connect() {
    return grpc::CreateChannel(absl::StrCat("unix:", daemon().socket_path()),
                               grpc::InsecureChannelCredentials());
  }
  // Starts a program, which has to say "ready".
  std::unique_ptr<ExecStream> Start(const std::string& session,
                                    const std::string& python) {
    auto program = std::make_unique<ExecStream>(
        *execs_, StartOf(Argv(session, {"python3", "-u", "-c", python})));
    EXPECT_TRUE(program->ReadUntil("ready"));
    return program;
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ExecService::Stub> execs_;
  std::unique_ptr<v1::PortService::Stub> ports_;
};

// Answers each connection with what it read, in capitals, once that has ended.
constexpr char kCapitals[] = R"(
import socket, threading
family = socket.AF_INET6 if SIX else socket.AF_INET
server = socket.create_server(('::1' if SIX else '127.0.0.1', PORT), family=family, backlog=64)
print('ready')
def serve(connection):
    with connection:
        connection.sendall(b'hello\n')
        data = b''
        while piece := connection.recv(65536):
            data += piece
        connection.sendall(data.upper())
while True:
    threading.Thread(target=serve, args=(server.accept()[0],)).start()
)";

std::string Capitals(int port, bool six = false) {
  return absl::StrCat("PORT = ", port, "\nSIX = ", six ? "True" : "False", "\n",
                      kCapitals);
}

TEST_F(Ports, BytesGoBothWaysAndEachWayEndsByItself) {
  TestSession session(client(), {});
  const auto v4 = Start(session.id(), Capitals(8000));
  const auto v6 = Start(session.id(), Capitals(8001, /*six=*/true));
  for (const uint32_t port : {8000u, 8001u}) {
    SCOPED_TRACE(port);
    Forwarded one(*ports_, session.id(), port);
    ASSERT_TRUE(one.connected());
    EXPECT_EQ(one.Receive(6), "hello\n");
    std::string sent;
    for (int i = 0; i < 40; ++i) {
      const std::string piece(100'000, static_cast<char>('a' + i % 26));
      ASSERT_TRUE(one.Send(piece, i == 39));
      sent += piece;
    }
    std::string got = one.Receive();
    EXPECT_TRUE(one.program_done());
    EXPECT_EQ(got.size(), sent.size());
    EXPECT_EQ(got.substr(0, 3), "AAA");
    EXPECT_THAT(one.Finish(), IsOk());
    // The end of the stream is the end of the input, too; many at once.
    std::vector<std::unique_ptr<Forwarded>> many;
    for (int i = 0; i < 60; ++i) {
      many.push_back(std::make_unique<Forwarded>(*ports_, session.id(), port));
      ASSERT_TRUE(many.back()->connected()) << i;
    }
    for (const auto& each : many) {
      ASSERT_TRUE(each->Send("abc"));
      each->NoMore();
      EXPECT_EQ(each->Receive(), "hello\nABC");
      EXPECT_THAT(each->Finish(), IsOk());
    }
  }
}

TEST_F(Ports, WhatCannotBeReachedSaysWhy) {
  TestSession session(client(), {});
  {
    Forwarded closed(*ports_, session.id(), 9999);
    EXPECT_FALSE(closed.connected());
    const grpc::Status status = closed.Finish();
    EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(DetailsOf(status).reason, "PORT_CLOSED");
    EXPECT_THAT(status.error_message(), HasSubstr("9999"));
  }
  for (const uint32_t port : {0u, 65536u, 4294967295u}) {
    Forwarded none(*ports_, session.id(), port);
    EXPECT_EQ(none.Finish().error_code(), StatusCode::INVALID_ARGUMENT);
  }
  Forwarded nowhere(*ports_, "ses-0123456789abcdef", 8000);
  EXPECT_EQ(DetailsOf(nowhere.Finish()).reason, "SESSION_NOT_FOUND");
  // The daemon's own machine isn't the session's: what listens here, doesn't
  // there.
  Forwarded nobody(*ports_, session.id(), 22);
  EXPECT_EQ(DetailsOf(nobody.Finish()).reason, "PORT_CLOSED");

  const auto program = Start(session.id(), Capitals(8000));
  Forwarded twice(*ports_, session.id(), 8000);
  ASSERT_TRUE(twice.connected());
  v1::ForwardRequest again;
  again.mutable_start()->set_session_id(session.id());
  ASSERT_TRUE(twice.Write(again));
  EXPECT_EQ(twice.Finish().error_code(), StatusCode::INVALID_ARGUMENT);
  Forwarded large(*ports_, session.id(), 8000);
  ASSERT_TRUE(large.Send(std::string((1 << 20) + 1, 'x')));
  EXPECT_EQ(large.Finish().error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(Ports, TheyEndWithTheProgramTheSessionAndTheClient) {
  auto session =
      std::make_unique<TestSession>(client(), v1::CreateSessionRequest());
  auto program = Start(session->id(), Capitals(8000));
  Forwarded of_program(*ports_, session->id(), 8000);
  ASSERT_TRUE(of_program.connected());
  EXPECT_EQ(of_program.Receive(6), "hello\n");
  program->Signal(9);
  program->Finish();
  EXPECT_EQ(of_program.Receive(), "");
  of_program.NoMore();
  const grpc::Status ended = of_program.Finish();
  EXPECT_TRUE(ended.ok() || DetailsOf(ended).reason == "CONNECTION_RESET")
      << ended.error_message();

  program = Start(session->id(), Capitals(8001));
  {
    Forwarded of_client(*ports_, session->id(), 8001);
    ASSERT_TRUE(of_client.connected());
    of_client.Cancel();
    EXPECT_EQ(of_client.Finish().error_code(), StatusCode::CANCELLED);
  }
  Forwarded of_session(*ports_, session->id(), 8001);
  ASSERT_TRUE(of_session.connected());
  EXPECT_THAT(session->Delete(), IsOk());
  EXPECT_EQ(DetailsOf(of_session.Finish()).reason, "SESSION_DELETED");
}

TEST_F(Ports, WhoReadsSlowlySlowsTheProgramDown) {
  TestSession session(client(), {});
  const auto program = Start(session.id(), R"(
import socket
server = socket.create_server(('', 8000))
print('ready')
connection, _ = server.accept()
connection.settimeout(2)
sent = 0
try:
    while sent < 1 << 30:
        sent += connection.send(b'x' * 65536)
except TimeoutError:
    print('stuck after', sent, 'stop')
connection.settimeout(None)
connection.sendall(b'end')
connection.close()
)");
  Forwarded slow(*ports_, session.id(), 8000);
  ASSERT_TRUE(slow.connected());
  EXPECT_TRUE(program->ReadUntil("stop"));
  const std::string& out = program->result().out();
  const size_t sent = std::stoul(out.substr(out.find("after") + 6));
  EXPECT_LT(sent, 64u << 20) << out;
  const std::string got = slow.Receive();
  EXPECT_EQ(got.size(), sent + 3);
  EXPECT_EQ(got.substr(got.size() - 3), "end");
}

TEST_F(Ports, AJailThatPlaysWithTheConnectionHoldsNobodyUp) {
  TestSession session(client(), {});
  // It reads nothing, and its processes are stopped and killed at once.
  const auto program = Start(session.id(), R"(
import os, signal, socket, threading, time
server = socket.create_server(('', 8000), backlog=1)
print('ready')
time.sleep(3)
for name in os.listdir('/proc'):
    if name.isdigit() and int(name) != os.getpid():
        try: os.kill(int(name), signal.SIGKILL)
        except OSError: pass
time.sleep(60)
)");
  std::vector<std::unique_ptr<Forwarded>> stuck;
  std::vector<std::thread> senders;
  for (int i = 0; i < 3; ++i) {
    stuck.push_back(std::make_unique<Forwarded>(*ports_, session.id(), 8000));
    // More than the kernel keeps for it.
    if (!stuck.back()->connected()) continue;
    senders.emplace_back([one = stuck.back().get()] {
      for (int piece = 0; piece < 40; ++piece) {
        if (!one->Send(std::string(1 << 20, 'x'))) return;
      }
    });
  }
  TestSession other(client(), {});
  const auto echo = Start(other.id(), Capitals(8000));
  for (int i = 0; i < 5; ++i) {
    Forwarded good(*ports_, other.id(), 8000);
    ASSERT_TRUE(good.connected());
    good.NoMore();
    EXPECT_EQ(good.Receive(), "hello\n");
    EXPECT_THAT(good.Finish(), IsOk());
    absl::SleepFor(absl::Seconds(1));
  }
  EXPECT_THAT(session.Delete(), IsOk());
  for (const auto& each : stuck) EXPECT_FALSE(each->Finish().ok());
  for (std::thread& sender : senders) sender.join();
}

}  // namespace
}  // namespace sandglass::testing
