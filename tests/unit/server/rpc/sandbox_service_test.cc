// The public service over a real unix socket, with scripted runs.
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "server/base/unix_socket.h"
#include "server/base/version.h"
#include "server/edge/acceptor.h"
#include "server/edge/connection_tap.h"
#include "server/edge/grpc_server.h"
#include "server/edge/message_codec.h"
#include "server/rpc/services.h"
#include "service_fixture.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

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

// Of a client of a later version, whose field may be a limit.
TEST_F(ServiceTest, AnUnknownFieldIsRefusedByItsPlace) {
  v1::RunCodeRequest request = GoodRequest();
  request.add_files()->set_path("a");
  const auto plant = [](google::protobuf::Message& message) {
    message.GetReflection()->MutableUnknownFields(&message)->AddVarint(1000, 1);
  };
  plant(request);
  plant(*request.mutable_limits());
  plant(*request.mutable_files(0));
  const grpc::Status status = SendRaw("RunCode", request.SerializeAsString());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const auto bad = BadRequestOf(status);
  ASSERT_EQ(bad.field_violations_size(), 3) << status.error_message();
  EXPECT_EQ(bad.field_violations(0).field(), "1000");
  EXPECT_THAT(bad.field_violations(0).description(),
              HasSubstr(absl::StrCat("no field that this daemon (version ",
                                     kVersion, ") knows of a RunCodeRequest")));
  EXPECT_EQ(bad.field_violations(1).field(), "files[0].1000");
  EXPECT_EQ(bad.field_violations(2).field(), "limits.1000");
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
  clients.reserve(kClients);
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

}  // namespace
}  // namespace sandglass::server
