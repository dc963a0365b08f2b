#ifndef SANDGLASS_GATEWAY_DAEMON_GATEWAY_H_
#define SANDGLASS_GATEWAY_DAEMON_GATEWAY_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/daemon/gateway_config.h"
#include "gateway/daemon/gateway_metrics.h"
#include "gateway/edge/http_server.h"
#include "gateway/nodes/node_registry.h"
#include "gateway/ports/port_link.h"
#include "gateway/proxy/proxy_service.h"
#include "sandbox/os/fd.h"
#include "server/base/call_threads.h"
#include "server/edge/acceptor.h"
#include "server/edge/grpc_server.h"
#include "server/edge/peers.h"
#include "server/edge/request_room.h"
#include "server/identity/credentials.h"
#include "server/tls/tls_context.h"
#include "server/tls/tls_listener.h"

namespace sandglass::gateway {

// The running gateway. Its members are in the order in which they are made.
class Gateway {
 public:
  explicit Gateway(std::string config_file, GatewayConfig config)
      : config_file_(std::move(config_file)),
        config_(std::move(config)),
        metrics_(config_.log_calls) {}
  ~Gateway();

  absl::Status Start();
  // Serves until SIGTERM or SIGINT comes, then lets calls end in time. SIGHUP
  // reads the nodes of the configuration anew.
  void Run();

 private:
  absl::Status ListenSocket();
  absl::Status ListenTls();
  absl::Status OpenCredentials();
  absl::Status FindNodes();
  absl::Status ReadLinkKey();
  absl::Status StartServer();
  // What is done once a second.
  void Look();
  void Reload();
  void Stop();

  const std::string config_file_;
  GatewayConfig config_;
  os::Fd signals_;
  os::Fd socket_;
  std::vector<os::Fd> tls_sockets_;
  std::vector<int> ports_;
  std::optional<server::TlsContext> tls_;
  std::optional<server::Credentials> credentials_;
  std::optional<server::PeerTable> peers_;
  std::optional<server::RequestRoom> request_room_;
  std::optional<server::CallThreads> threads_;
  NodeRegistry nodes_;
  std::optional<NodeFinder> finder_;
  GatewayMetrics metrics_;
  std::optional<LinkSigner> links_;
  // What serves calls of gRPC: for connections, and for those that come by
  // HTTP, whose channel within the process breaks off when its server begins to
  // end.
  struct Serving {
    std::optional<ProxyService> proxy;
    server::Services services;
    std::unique_ptr<server::GrpcServer> grpc;
  };
  absl::Status StartServing(Serving& serving);
  Serving outer_;
  Serving inner_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<server::Acceptor> acceptor_;
  std::unique_ptr<server::TlsListener> tls_listener_;
  bool serving_ = false;  // as the health service says
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_DAEMON_GATEWAY_H_
