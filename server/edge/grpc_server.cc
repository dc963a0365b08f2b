#include "server/edge/grpc_server.h"

#include <thread>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "grpc/health/v1/health.pb.h"
#include "grpc/support/log.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/server_posix.h"
#include "sandbox/os/clocks.h"
#include "server/base/log.h"
#include "server/edge/call_meter.h"
#include "server/edge/connection_tap.h"
#include "server/edge/message_codec.h"

namespace sandglass::server {
namespace {

// When gRPC uses that much memory, it ends whichever calls it comes upon,
// without saying so. This is far above what RequestRoom lets in and what
// answers take, so it never comes to that.
constexpr size_t kTransportMemory = size_t{64} << 30;
// Only reflection uses threads; everything else is callbacks.
constexpr int kMaxThreads = 16;
constexpr int kMaxCallsPerConnection = 256;
// So long after the calls that are left were cancelled, connections are cut.
constexpr absl::Duration kCancelled = absl::Milliseconds(300);
// Clients may send a ping this often, also between two calls. With gRPC's own
// default, five minutes, the connections of clients that do would be ended.
constexpr int kMinPingMilliseconds = 5000;

// Most of what gRPC calls an error is something that a client did, who could
// fill the log with it. What gRPC says before it aborts is not.
void LogFromGrpc(gpr_log_func_args* args) {
  const std::string message(args->message);
  const bool fatal = absl::StrContains(message, "assertion failed");
  Log(fatal ? LogLevel::kError : LogLevel::kDebug, "grpc",
      {{"message", message}});
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(
    const Services& services, const GrpcOptions& options) {
  QuietenProtobuf();
  gpr_set_log_function(&LogFromGrpc);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  // Reflection describes what is linked in, and gRPC's own health service comes
  // without its description.
  (void)grpc::health::v1::HealthCheckRequest::descriptor();

  std::unique_ptr<GrpcServer> made(new GrpcServer());
  grpc::ServerBuilder builder;
  for (const auto& service : services) builder.RegisterService(service.get());
  if (options.generic != nullptr) {
    builder.RegisterCallbackGenericService(options.generic);
  }
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  builder.SetMaxSendMessageSize(options.max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             kMaxCallsPerConnection);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      kMinPingMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // gRPC keeps up to a call's window of what nobody has asked for yet, and
  // would let that grow to four megabytes.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                             static_cast<int>(ConnectionTap::kWindowBytes));
  // A compressed message of two megabytes may unpack to one of a gigabyte, and
  // gRPC unpacks it before it looks at its size. So it is told to unpack none,
  // and refuses calls that come with one. Answers aren't compressed anyway.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  grpc::ResourceQuota quota("sandglassd");
  quota.Resize(kTransportMemory);
  quota.SetMaxThreads(kMaxThreads);
  builder.SetResourceQuota(quota);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  if (options.record) {
    std::vector<
        std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
        interceptors;
    interceptors.push_back(MakeCallMeter(options.record, options.calls));
    builder.experimental().SetInterceptorCreators(std::move(interceptors));
  }
  made->server_ = builder.BuildAndStart();
  if (made->server_ == nullptr) {
    return absl::UnavailableError("gRPC could not be started");
  }
  for (const std::string& service : options.health_services) {
    made->SetHealth(service, false);
  }
  made->SetHealth("", false);
  return made;
}

GrpcServer::~GrpcServer() { Shutdown(absl::ZeroDuration()); }

void GrpcServer::Serve(int fd) {
  grpc::AddInsecureChannelFromFd(server_.get(), fd);
}

std::shared_ptr<grpc::Channel> GrpcServer::InnerChannel() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // the server's own bounds hold
  return server_->InProcessChannel(arguments);
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
