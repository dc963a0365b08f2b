#ifndef SANDGLASS_SERVER_EDGE_GRPC_SERVER_H_
#define SANDGLASS_SERVER_EDGE_GRPC_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/impl/codegen/async_generic_service.h"
#include "grpcpp/impl/codegen/service_type.h"
#include "grpcpp/server.h"
#include "server/edge/call_meter.h"
#include "server/edge/open_calls.h"

namespace sandglass::server {

using Services = std::vector<std::unique_ptr<grpc::Service>>;

struct GrpcOptions {
  int max_message_bytes = 16 << 20;
  CallRecorder record;         // empty: nobody hears of calls
  OpenCalls* calls = nullptr;  // the same, where calls are recorded
  // Gets the calls of all methods that no service has; null: they are refused.
  // Outlives the server.
  grpc::CallbackGenericService* generic = nullptr;
  // What the health service knows beside "", the server as a whole. None serves
  // before SetHealth says so.
  std::vector<std::string> health_services;
};

// gRPC's server with our services, health and reflection. It doesn't listen
// anywhere: connections are handed to it, each with a tap (see
// connection_tap.h) that bounds what gRPC doesn't. Make one only when the
// process will never fork again.
class GrpcServer {
 public:
  // The services must outlive the server.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(
      const Services& services, const GrpcOptions& options);
  // Calls Shutdown with a timeout of zero.
  ~GrpcServer();

  // Serves a connected, non-blocking socket and takes it over.
  void Serve(int fd);
  // A channel for calls from this process, each of which says whose it is by
  // kConnectionMetadata. It must not outlive the server.
  std::shared_ptr<grpc::Channel> InnerChannel();

  // Sets what the health service says about a service; "" is the server as a
  // whole. Before this is called, the health service knows none but "", which
  // isn't served.
  void SetHealth(const std::string& service, bool serving);

  // Takes no new calls, waits for those under way, and cancels what is left
  // when the time is over. Clients that don't read what they were sent would
  // keep it waiting, so soon afterwards `cut` is called, which must end their
  // connections.
  void Shutdown(absl::Duration timeout,
                const std::function<void()>& cut = nullptr);

 private:
  GrpcServer() = default;
  // Destroying it may take ten seconds: for so long gRPC's own thread polls for
  // a connection that read no more.
  std::unique_ptr<grpc::Server> server_;
  bool stopped_ = false;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_GRPC_SERVER_H_
