#include "server/grpc_server.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/server_posix.h"
#include "sandbox/os/clocks.h"
#include "server/call_metrics.h"
#include "server/parse.h"
#include "server/place_check.h"
#include "server/readiness.h"

namespace sandglass::server {
namespace {

// Room for messages on their way in and out, over all connections.
constexpr size_t kTransportMemory = size_t{512} << 20;
// Only reflection takes threads; the rest is callbacks.
constexpr int kMaxThreads = 16;
constexpr int kMaxCallsPerConnection = 256;
// Clients may ask for a sign of life so often, also between two calls. gRPC's
// own five minutes end the connections of those that do.
constexpr absl::Duration kCancelled = absl::Milliseconds(300);
constexpr int kLeastPingMilliseconds = 5000;

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(
    const std::vector<grpc::Service*>& services, const GrpcOptions& options) {
  QuietenProtobuf();
  grpc::EnableDefaultHealthCheckService(true);
  // gRPC would say so in a line of its own, which helps nobody.
  if (!options.tcp_address.empty()) {
    absl::Status free = CheckPort("listen", options.tcp_address);
    if (!free.ok()) return free;
  }
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  std::unique_ptr<GrpcServer> made(new GrpcServer());
  grpc::ServerBuilder builder;
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  builder.SetMaxSendMessageSize(options.max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             kMaxCallsPerConnection);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      kLeastPingMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Another daemon on the same port must be an error, not a share of it.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  grpc::ResourceQuota quota("sandglassd");
  quota.Resize(kTransportMemory);
  quota.SetMaxThreads(kMaxThreads);
  builder.SetResourceQuota(quota);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  if (options.metrics != nullptr) {
    std::vector<
        std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
        interceptors;
    interceptors.push_back(MakeCallMetrics(*options.metrics));
    builder.experimental().SetInterceptorCreators(std::move(interceptors));
  }
  if (!options.tcp_address.empty()) {
    builder.AddListeningPort(options.tcp_address,
                             grpc::InsecureServerCredentials(),
                             &made->tcp_port_);
  }
  made->server_ = builder.BuildAndStart();
  if (made->server_ == nullptr) {
    return absl::UnavailableError(
        options.tcp_address.empty()
            ? std::string("gRPC could not be started")
            : absl::StrCat("can't listen on ", options.tcp_address,
                           "; is another program there already?"));
  }
  for (const char* service : Readiness::Services()) {
    made->SetHealth(service, false);
  }
  made->SetHealth("", false);
  return made;
}

GrpcServer::~GrpcServer() { Shutdown(absl::ZeroDuration()); }

void GrpcServer::Serve(int fd) {
  grpc::AddInsecureChannelFromFd(server_.get(), fd);
}

void GrpcServer::SetHealth(const std::string& service, bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(service, serving);
}

void GrpcServer::Shutdown(absl::Duration timeout,
                          const std::function<void()>& cut) {
  if (server_ == nullptr || stopped_) return;
  stopped_ = true;
  absl::Notification done;
  std::thread cutter([&] {
    if (!done.WaitForNotificationWithTimeout(timeout + kCancelled) && cut) {
      cut();
    }
  });
  server_->Shutdown(absl::ToChronoTime(os::WallNow() + timeout));
  done.Notify();
  cutter.join();
  server_->Wait();
}

}  // namespace sandglass::server
