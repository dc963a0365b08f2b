// Answers and events that their clients don't read.

#include <unistd.h>

#include <string>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "server/edge/message_codec.h"
#include "service_fixture.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

// Beside a caller's answers that it doesn't read.
class UnreadAnswersTest : public ServiceTest {
 protected:
  const std::string me_ = "uid:" + std::to_string(::getuid());
  // A caller alone has three quarters.
  void FillRoom() {
    ASSERT_TRUE(peers_.answers().Acquire(me_, 3 << 18, "").ok());
  }
  void EmptyRoom() { peers_.answers().Release(me_, 3 << 18); }
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
