// The public service over a real unix socket, with scripted runs.
#include "server/service.h"

#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "server/acceptor.h"
#include "server/connection_tap.h"
#include "server/grpc_server.h"
#include "server/parse.h"
#include "server/unix_socket.h"
#include "support.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

class ServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    DispatcherOptions options;
    options.policy = &policy_;
    options.admission.max_running = 2;
    options.admission.memory_budget_bytes = uint64_t{4} << 30;
    options.run = runs_.function();
    options.available = Installed;
    dispatcher_.emplace(options);
    dispatcher_->Start();
    languages_.emplace(policy_, std::nullopt, runs_.function());
    info_ = {.policy = &policy_,
             .languages = &*languages_,
             .admission = &dispatcher_->admission(),
             .started = Monotonic::now()};
    service_.emplace(*dispatcher_, peers_, info_, stream_budget_);
    auto grpc = GrpcServer::Start({&*service_}, {.max_message_bytes = 1 << 20});
    ASSERT_TRUE(grpc.ok()) << grpc.status();
    grpc_ = *std::move(grpc);
    auto listener = ListenOnUnixSocket({.path = dir_.path() + "/s",
                                        .mode = 0600,
                                        .owner = ::getuid(),
                                        .group = ::getgid()});
    ASSERT_TRUE(listener.ok()) << listener.status();
    auto acceptor = Acceptor::Start(*std::move(listener), peers_, room_,
                                    [this](int fd) { grpc_->Serve(fd); },
                                    {.max_message_bytes = 1 << 20});
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
    channel_ = grpc::CreateChannel("unix:" + dir_.path() + "/s",
                                   grpc::InsecureChannelCredentials());
    stub_ = v1::SandboxService::NewStub(channel_);
  }
  void TearDown() override {
    runs_.Release();
    acceptor_.reset();
    grpc_->Shutdown(absl::Seconds(1));
    dispatcher_->Shutdown();
  }
  grpc::Status RunCode(const v1::RunCodeRequest& request,
                       v1::RunCodeResponse* response) {
    grpc::ClientContext context;
    return stub_->RunCode(&context, request, response);
  }
  // Sends bytes that no stub would.
  grpc::Status SendRaw(const std::string& method, const std::string& bytes) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    grpc::Status status;
    auto call = stub.PrepareUnaryCall(
        &context, "/sandglass.v1.SandboxService/" + method, request, &queue);
    call->StartCall();
    call->Finish(&response, &status, nullptr);
    void* tag;
    bool ok;
    queue.Next(&tag, &ok);
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) {
    }
    return status;
  }
  static google::rpc::BadRequest BadRequestOf(const grpc::Status& status) {
    google::rpc::Status rich;
    rich.ParseFromString(status.error_details());
    google::rpc::BadRequest bad;
    for (const auto& any : rich.details()) {
      if (any.Is<google::rpc::BadRequest>()) any.UnpackTo(&bad);
    }
    return bad;
  }

  uint64_t stream_budget_ = uint64_t{1} << 20;
  const LivePolicy policy_{TestPolicy()};
  TempDir dir_;
  ScriptedRuns runs_;
  RequestRoom room_{uint64_t{16} << 20};
  PeerTable peers_{/*answer_bytes=*/uint64_t{1} << 20};
  std::optional<RunDispatcher> dispatcher_;
  std::optional<LanguageProbe> languages_;
  ServerInfoSources info_;
  std::optional<SandboxServiceImpl> service_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<Acceptor> acceptor_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::SandboxService::Stub> stub_;
};

TEST_F(ServiceTest, RunCodeAnswersTheCallerItKnows) {
  v1::RunCodeResponse response;
  const grpc::Status status = RunCode(GoodRequest("echo hi"), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.stdout().data(), "echo hi");
  grpc::ClientContext context;
  v1::ListRunsResponse runs;
  ASSERT_TRUE(stub_->ListRuns(&context, {}, &runs).ok());
  ASSERT_EQ(runs.runs_size(), 1);
  EXPECT_EQ(runs.runs(0).caller(), "uid:" + std::to_string(::getuid()));
  EXPECT_EQ(runs.runs(0).run_id(), response.run_id());
}

TEST_F(ServiceTest, StreamSendsStartedOutputAndResultInSequence) {
  grpc::ClientContext context;
  v1::StreamRunCodeRequest request;
  *request.mutable_run() = GoodRequest("echo hi");
  auto stream = stub_->StreamRunCode(&context, request);
  std::vector<v1::StreamRunCodeResponse> events(1);
  while (stream->Read(&events.back())) events.emplace_back();
  events.pop_back();
  ASSERT_TRUE(stream->Finish().ok());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_TRUE(events[0].has_started());
  EXPECT_EQ(events[1].chunk().data(), "echo hi");
  EXPECT_EQ(events[2].result().outcome(), v1::OUTCOME_OK);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(events[i].sequence(), i + 1);
}

TEST_F(ServiceTest, ARepeatedStreamGetsTheOutputAgain) {
  v1::StreamRunCodeRequest request;
  *request.mutable_run() = GoodRequest("echo hi");
  request.mutable_run()->set_request_id("id");
  v1::RunCodeResponse first;
  ASSERT_TRUE(RunCode(request.run(), &first).ok());
  EXPECT_FALSE(first.replayed());
  grpc::ClientContext context;
  auto stream = stub_->StreamRunCode(&context, request);
  v1::StreamRunCodeResponse event;
  std::string output;
  bool replayed = false;
  while (stream->Read(&event)) {
    if (event.has_chunk()) output += event.chunk().data();
    if (event.has_result()) replayed = event.result().replayed();
  }
  ASSERT_TRUE(stream->Finish().ok());
  EXPECT_EQ(output, "echo hi");
  EXPECT_TRUE(replayed);
  EXPECT_EQ(runs_.started(), 1);
}

TEST_F(ServiceTest, AStreamThatIsRefusedNamesItsFields) {
  grpc::ClientContext context;
  auto stream = stub_->StreamRunCode(&context, {});
  v1::StreamRunCodeResponse event;
  EXPECT_FALSE(stream->Read(&event));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(BadRequestOf(status).field_violations(0).field(), "run.language");
}

TEST_F(ServiceTest, InvalidUtf8IsRefusedByItsPath) {
  // language: "bash"; code: "\xff"; files { path: "\xfe" }
  const std::string bytes(
      "\x0a\x04"
      "bash"
      "\x12\x01\xff"
      "\x32\x03\x0a\x01\xfe");
  const grpc::Status status = SendRaw("RunCode", bytes);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const auto bad = BadRequestOf(status);
  ASSERT_EQ(bad.field_violations_size(), 2) << status.error_message();
  EXPECT_EQ(bad.field_violations(0).field(), "code");
  EXPECT_EQ(bad.field_violations(1).field(), "files.path");
}

TEST_F(ServiceTest, GarbageIsRefusedOnEveryMethod) {
  for (const char* method :
       {"RunCode", "StreamRunCode", "ListRuns", "CancelRun", "GetServerInfo"}) {
    const grpc::Status status = SendRaw(method, "\xff\xff\xff garbage");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << method;
    EXPECT_THAT(status.error_message(), HasSubstr("not a valid protobuf"))
        << method;
  }
  v1::RunCodeResponse response;
  EXPECT_TRUE(RunCode(GoodRequest(), &response).ok());
}

TEST_F(ServiceTest, TooLargeAMessageIsRefusedAndTheConnectionLivesOn) {
  v1::RunCodeRequest request = GoodRequest();
  request.set_stdin(std::string(2 << 20, 'x'));
  v1::RunCodeResponse response;
  EXPECT_EQ(RunCode(request, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(RunCode(GoodRequest(), &response).ok());
}

TEST_F(ServiceTest, NoCallIsCancelledWhileTheServerEnds) {
  constexpr int kClients = 8;
  std::atomic<bool> over = false;
  std::atomic<int> answered = 0;
  std::atomic<int> cancelled = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      grpc::ChannelArguments own;
      own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      const auto stub = v1::SandboxService::NewStub(
          grpc::CreateCustomChannel("unix:" + dir_.path() + "/s",
                                    grpc::InsecureChannelCredentials(), own));
      while (!over) {
        grpc::ClientContext context;
        v1::GetServerInfoResponse response;
        const grpc::Status status = stub->GetServerInfo(
            &context, v1::GetServerInfoRequest(), &response);
        if (status.ok()) ++answered;
        if (status.error_code() == grpc::StatusCode::CANCELLED) ++cancelled;
      }
    });
  }
  EXPECT_TRUE(Eventually([&] { return answered > 100; }));
  // As the daemon does it.
  acceptor_.reset();
  ConnectionTap::HideNewCalls();
  absl::SleepFor(absl::Milliseconds(100));
  grpc_->Shutdown(absl::Seconds(1));
  over = true;
  for (std::thread& client : clients) client.join();
  ConnectionTap::HideNewCalls(false);
  EXPECT_EQ(cancelled, 0);
}

TEST_F(ServiceTest, AClientThatGoesEndsItsRun) {
  grpc::ClientContext unary;
  std::thread caller([&] {
    v1::RunCodeResponse response;
    stub_->RunCode(&unary, GoodRequest("wait"), &response);
  });
  grpc::ClientContext streaming;
  v1::StreamRunCodeRequest request;
  *request.mutable_run() = GoodRequest("wait");
  auto stream = stub_->StreamRunCode(&streaming, request);
  ASSERT_TRUE(Eventually([&] { return runs_.started() == 2; }));
  unary.TryCancel();
  streaming.TryCancel();
  caller.join();
  v1::StreamRunCodeResponse event;
  while (stream->Read(&event)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([&] { return dispatcher_->idle(); }));
}

TEST_F(ServiceTest, CancelRunFromAnotherCall) {
  grpc::Status status;
  v1::RunCodeResponse response;
  std::thread caller([&] { status = RunCode(GoodRequest("wait"), &response); });
  v1::ListRunsResponse runs;
  ASSERT_TRUE(Eventually([&] {
    grpc::ClientContext context;
    return stub_->ListRuns(&context, {}, &runs).ok() && runs.runs_size() == 1;
  }));
  grpc::ClientContext context;
  v1::CancelRunRequest request;
  request.set_run_id(runs.runs(0).run_id());
  v1::CancelRunResponse cancelled;
  EXPECT_TRUE(stub_->CancelRun(&context, request, &cancelled).ok());
  caller.join();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.outcome(), v1::OUTCOME_CANCELLED);
  grpc::ClientContext unknown;
  request.set_run_id("run-none");
  EXPECT_EQ(stub_->CancelRun(&unknown, request, &cancelled).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServiceTest, ServerInfoTellsLanguagesProfilesAndRoom) {
  languages_->Start();
  EXPECT_TRUE(languages_->WaitForVersions(absl::Seconds(10)));
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(stub_->GetServerInfo(&context, {}, &info).ok());
  EXPECT_FALSE(info.version().empty());
  ASSERT_EQ(info.languages_size(), 2);
  EXPECT_EQ(info.profiles_size(), 2);
  EXPECT_EQ(info.admission().max_running(), 2u);
  for (const auto& language : info.languages()) {
    EXPECT_EQ(language.available(), language.id() == "bash");
    if (language.id() == "absent") {
      EXPECT_THAT(language.unavailable_reason(), HasSubstr("absent-runtime"));
    }
  }
}

TEST_F(ServiceTest, HealthFollowsTheDaemon) {
  const auto ask = [&] {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const grpc::Slice slice(std::string("\x0a\x1b", 2) +
                            "sandglass.v1.SandboxService");
    const grpc::ByteBuffer bytes(&slice, 1);
    grpc::ByteBuffer response;
    grpc::Status status;
    auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check",
                                      bytes, &queue);
    call->StartCall();
    call->Finish(&response, &status, nullptr);
    void* tag;
    bool ok;
    queue.Next(&tag, &ok);
    std::vector<grpc::Slice> slices;
    EXPECT_TRUE(status.ok()) << status.error_message();
    response.Dump(&slices);
    // HealthCheckResponse.status: 1 serving, 2 not.
    return slices.empty() ? -1 : static_cast<int>(slices[0].begin()[1]);
  };
  EXPECT_EQ(ask(), 2);
  grpc_->SetHealth("sandglass.v1.SandboxService", true);
  EXPECT_EQ(ask(), 1);
  grpc_->SetHealth("sandglass.v1.SandboxService", false);
  EXPECT_EQ(ask(), 2);
  // The daemon as a whole is another matter.
  grpc_->SetHealth("", true);
  EXPECT_EQ(ask(), 2);
}

// The pipe may be read a moment after the program's end was stamped.
TEST_F(ServiceTest, StampsOfAStreamNeverGoBack) {
  grpc::ClientContext context;
  v1::StreamRunCodeRequest request;
  *request.mutable_run() = GoodRequest("echo hi");
  auto stream = stub_->StreamRunCode(&context, request);
  v1::StreamRunCodeResponse event;
  int64_t last = 0;
  int chunks = 0;
  while (stream->Read(&event)) {
    const int64_t stamp = event.since_start().seconds() * 1'000'000'000 +
                          event.since_start().nanos();
    EXPECT_GE(stamp, last) << event.ShortDebugString();
    last = stamp;
    if (event.has_chunk()) ++chunks;
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(chunks, 1);
}

// Beside a caller's answers that it doesn't read.
class UnreadAnswersTest : public ServiceTest {
 protected:
  const std::string me_ = "uid:" + std::to_string(::getuid());
  // A caller alone has three quarters.
  void FillRoom() { ASSERT_TRUE(peers_.answers().Take(me_, 3 << 18, "").ok()); }
  void EmptyRoom() { peers_.answers().Give(me_, 3 << 18); }
  static v1::RunCodeRequest LargeRequest(size_t bytes = 20000) {
    return GoodRequest("echo " + std::string(bytes, 'x'));
  }
};

TEST_F(UnreadAnswersTest, AnAnswerHasRoomUntilItsClientReadsItOrGoes) {
  // A client that takes no more than the first window's bytes.
  grpc::ChannelArguments small;
  small.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  small.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  small.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 16384);
  small.SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1);
  grpc::GenericStub stub(grpc::CreateCustomChannel(
      "unix:" + dir_.path() + "/s", grpc::InsecureChannelCredentials(), small));
  const auto request = SerializeMessage(LargeRequest(200'000));
  ASSERT_TRUE(request.ok()) << request.status();
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  {
    grpc::ClientContext context;
    // As a stream, for one doesn't have to read it.
    auto call = stub.PrepareCall(
        &context, "/sandglass.v1.SandboxService/RunCode", &queue);
    call->StartCall(nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    call->WriteLast(*request, grpc::WriteOptions(), nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_TRUE(ok);
    EXPECT_TRUE(Eventually([&] { return peers_.answers().held() > 200'000; }));
    absl::SleepFor(absl::Milliseconds(50));
    EXPECT_GT(peers_.answers().held(), 200'000u);
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_TRUE(ok);
    EXPECT_GT(answer.Length(), 200'000u);
    EXPECT_TRUE(Eventually([&] { return peers_.answers().held() == 0; }));
    grpc::Status status;
    call->Finish(&status, nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  {
    grpc::ClientContext context;
    auto call = stub.PrepareCall(
        &context, "/sandglass.v1.SandboxService/RunCode", &queue);
    call->StartCall(nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    call->WriteLast(*request, grpc::WriteOptions(), nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_TRUE(Eventually([&] { return peers_.answers().held() > 200'000; }));
    context.TryCancel();
    EXPECT_TRUE(Eventually([&] { return peers_.answers().held() == 0; }));
    grpc::Status status;
    call->Finish(&status, nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
  }
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
}

TEST_F(UnreadAnswersTest, WithoutRoomARunWithARequestIdIsNotLost) {
  FillRoom();
  v1::RunCodeRequest request = LargeRequest();
  request.set_request_id("id");
  v1::RunCodeResponse response;
  const grpc::Status refused = RunCode(request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("answers that " + me_ + " did not read"));
  EXPECT_THAT(refused.error_message(),
              HasSubstr("a repeat with its request_id gets its answer"));
  // A short answer needs no room.
  EXPECT_TRUE(RunCode(GoodRequest(), &response).ok());
  EmptyRoom();
  ASSERT_TRUE(RunCode(request, &response).ok());
  EXPECT_TRUE(response.replayed());
  EXPECT_EQ(response.stdout().data(), request.code());
  EXPECT_EQ(runs_.started(), 2);
}

TEST_F(UnreadAnswersTest, WithoutRoomARunWithoutOneSaysThatItIs) {
  FillRoom();
  v1::RunCodeResponse response;
  const grpc::Status refused = RunCode(LargeRequest(), &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("its answer is not kept"));
  EmptyRoom();
}

TEST_F(UnreadAnswersTest, TheResultOfAStreamNeedsRoomToo) {
  FillRoom();
  v1::StreamRunCodeRequest request;
  *request.mutable_run() = LargeRequest();
  request.mutable_run()->set_request_id("id");
  const auto results = [&](grpc::Status& status) {
    grpc::ClientContext context;
    auto stream = stub_->StreamRunCode(&context, request);
    v1::StreamRunCodeResponse event;
    int count = 0;
    while (stream->Read(&event)) count += event.has_result() ? 1 : 0;
    status = stream->Finish();
    return count;
  };
  grpc::Status status;
  EXPECT_EQ(results(status), 0);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("with its request_id"));
  EmptyRoom();
  EXPECT_EQ(results(status), 1);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(Eventually([&] { return peers_.answers().held() == 0; }));
}

class SlowReaderTest : public ServiceTest {
 protected:
  SlowReaderTest() { stream_budget_ = 3; }
};

// Of what the compiler said, too: an endless number of clients that don't read
// would have it kept for each of them.
TEST_F(SlowReaderTest, EventsOverTheBudgetAreLeftOut) {
  grpc::ClientContext context;
  v1::StreamRunCodeRequest request;
  *request.mutable_run() = GoodRequest("compiled");
  auto stream = stub_->StreamRunCode(&context, request);
  v1::StreamRunCodeResponse event;
  int compiled = 0, results = 0;
  while (stream->Read(&event)) {
    compiled += event.has_compiled() ? 1 : 0;
    results += event.has_result() ? 1 : 0;
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(compiled, 0);
  EXPECT_EQ(results, 1);
}

TEST_F(SlowReaderTest, OutputOverTheBudgetIsLeftOutAndTheResultIsWhole) {
  grpc::ClientContext context;
  v1::StreamRunCodeRequest request;
  *request.mutable_run() = GoodRequest("echo hi");
  auto stream = stub_->StreamRunCode(&context, request);
  v1::StreamRunCodeResponse event;
  int chunks = 0;
  std::string kept;
  while (stream->Read(&event)) {
    if (event.has_chunk()) ++chunks;
    if (event.has_result()) kept = event.result().stdout().data();
  }
  ASSERT_TRUE(stream->Finish().ok());
  EXPECT_EQ(chunks, 0);
  EXPECT_EQ(kept, "echo hi");
}

}  // namespace
}  // namespace sandglass::server
