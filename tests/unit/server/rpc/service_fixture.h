#ifndef SANDGLASS_TESTS_UNIT_SERVER_RPC_SERVICE_FIXTURE_H_
#define SANDGLASS_TESTS_UNIT_SERVER_RPC_SERVICE_FIXTURE_H_

// The public service over a real unix socket, with scripted runs.

#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "server/base/unix_socket.h"
#include "server/edge/acceptor.h"
#include "server/edge/grpc_server.h"
#include "server/languages/languages.h"
#include "server/ops/readiness.h"
#include "server/rpc/services.h"
#include "tests/unit/server/installed_gate.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {

class ServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    DispatcherOptions options;
    options.policy = &policy_;
    options.admission.max_running = 2;
    options.admission.memory_budget_bytes = uint64_t{4} << 30;
    options.runner = &runs_;
    options.gate = &kInstalled;
    dispatcher_.emplace(options);
    dispatcher_->Start();
    languages_.emplace(policy_, std::nullopt, runs_);
    info_ = {.policy = &policy_,
             .languages = &*languages_,
             .admission = &dispatcher_->admission(),
             .started = Now()};
    services_.push_back(
        MakeSandboxService(*dispatcher_, peers_, info_, stream_budget_));
    auto grpc = GrpcServer::Start(
        services_, {.max_message_bytes = 1 << 20,
                    .health_services = {Readiness::Services().begin(),
                                        Readiness::Services().end()}});
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
  Services services_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<Acceptor> acceptor_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::SandboxService::Stub> stub_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_TESTS_UNIT_SERVER_RPC_SERVICE_FIXTURE_H_
