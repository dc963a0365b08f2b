#ifndef SANDGLASS_GATEWAY_DAEMON_GATEWAY_CONFIG_H_
#define SANDGLASS_GATEWAY_DAEMON_GATEWAY_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gateway/edge/cors.h"
#include "server/base/listen_address.h"
#include "server/base/log.h"
#include "server/identity/identity_config.h"
#include "server/metrics/metrics_config.h"
#include "server/tls/tls_config.h"

namespace sandglass::gateway {

// Where the nodes are, and what the gateway shows them of itself.
struct NodesConfig {
  std::vector<std::string> addresses;  // each as IsNodeSource has it
  absl::Duration resolve_every = absl::Seconds(5);
  // PEM files: who signs the nodes' certificates, and the gateway's own pair,
  // whose name the nodes' identity.gateways has.
  std::string ca;
  std::string certificate;
  std::string key;
};

// How programs in sessions are reached by HTTP.
struct PortsConfig {
  // Each has a host of its own below it; empty: none has.
  std::string domain;
  // The gateway's own address, for links: "https://gw.example.org:8443".
  std::string url;
  // The same file for all gateways of that address. Empty: there are no links.
  std::string link_key_file;
};

// Everything that can be set.
struct GatewayConfig {
  std::vector<server::ListenAddress> listen;  // with TLS
  // The unix socket of this machine's administrators, who make tokens there.
  std::string socket = "/run/sandglass-gateway/gateway.sock";
  server::TlsConfig tls;
  server::IdentityConfig identity;
  NodesConfig nodes;
  CorsConfig cors;
  size_t http_connections = 8192;
  PortsConfig ports;
  absl::Duration drain_timeout = absl::Seconds(30);
  server::LogLevel log_level = server::LogLevel::kInfo;
  server::LogFormat log_format = server::LogFormat::kText;
  bool log_calls = false;  // a line for each
  server::MetricsConfig metrics;
};

// Reads a file of JSON with comments. INVALID_ARGUMENT lists all that is wrong,
// each with its JSON pointer. NOT_FOUND: there is no such file.
absl::StatusOr<GatewayConfig> LoadGatewayConfig(const std::string& path);

// As a file would have it.
std::string GatewayConfigToJson(const GatewayConfig& config);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_DAEMON_GATEWAY_CONFIG_H_
