#include "gateway/daemon/gateway_config.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gateway/nodes/node_finder.h"
#include "nlohmann/json.hpp"
#include "policy/text/json_reader.h"
#include "policy/text/quoted.h"
#include "policy/text/views.h"

namespace sandglass::gateway {
namespace {

using policy::JsonObject;

std::string ReadPath(JsonObject& object, const char* key,
                     const std::string& fallback) {
  std::string path = object.String(key, fallback);
  if (!path.empty() && path.front() != '/') {
    object.AddError(
        key, absl::StrCat(policy::Quoted(path), " is not an absolute path"));
  }
  return path;
}

void ReadListen(JsonObject& root, GatewayConfig& config) {
  const std::vector<std::string> texts = root.Strings("listen");
  for (const std::string& text : texts) {
    absl::StatusOr<server::ListenAddress> address =
        server::ParseListenAddress(text);
    if (!address.ok()) {
      root.AddError("listen", policy::StdView(address.status().message()));
    } else if (!address->tls) {
      root.AddError("listen",
                    absl::StrCat(policy::Quoted(text),
                                 " is without TLS: a gateway's addresses are "
                                 "for callers from elsewhere; write tls: "
                                 "before one of this machine"));
    } else {
      config.listen.push_back(*std::move(address));
    }
  }
  if (texts.empty()) {
    root.AddError("listen", "is empty; name an address such as 0.0.0.0:8443");
  }
}

void ReadNodes(JsonObject& root, NodesConfig& nodes) {
  JsonObject object = root.Object("nodes");
  nodes.addresses = object.Strings("addresses");
  for (const std::string& address : nodes.addresses) {
    if (!IsNodeSource(address)) {
      object.AddError("addresses",
                      absl::StrCat(policy::Quoted(address),
                                   " is not HOST:PORT, dns:HOST:PORT or "
                                   "srv:NAME"));
    }
  }
  nodes.resolve_every = object.Duration(
      "resolve_every", {.min = absl::Seconds(1), .max = absl::Hours(1)},
      nodes.resolve_every);
  nodes.ca = ReadPath(object, "ca", "");
  nodes.certificate = ReadPath(object, "certificate", "");
  nodes.key = ReadPath(object, "key", "");
  if (nodes.ca.empty() || nodes.certificate.empty() || nodes.key.empty()) {
    object.AddError("",
                    "needs \"ca\", \"certificate\" and \"key\": by its "
                    "certificate a node knows its gateway");
  }
}

void ReadHttp(JsonObject& root, GatewayConfig& config) {
  std::optional<JsonObject> object = root.OptionalObject("http");
  if (!object.has_value()) return;
  constexpr uint64_t kMostConnections = 1 << 20;
  config.http_connections =
      object->Unsigned("connections", {.min = 1, .max = kMostConnections},
                       config.http_connections);
  config.cors.origins =
      object->Strings("cors_origins", std::vector<std::string>());
  for (const std::string& origin : config.cors.origins) {
    if (!IsOrigin(origin)) {
      object->AddError("cors_origins",
                       absl::StrCat(policy::Quoted(origin),
                                    " is no origin such as "
                                    "https://app.example.org, nor \"*\""));
    }
  }
}

bool IsDomain(const std::string& text) {
  return text.find('.') != std::string::npos &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") ==
             std::string::npos &&
         text.front() != '.' && text.back() != '.';
}

void ReadPorts(JsonObject& root, PortsConfig& ports) {
  std::optional<JsonObject> object = root.OptionalObject("ports");
  if (!object.has_value()) return;
  ports.domain = object->String("domain", "");
  ports.url = object->String("url", "");
  ports.link_key_file = ReadPath(*object, "link_key_file", "");
  if (!ports.domain.empty() && !IsDomain(ports.domain)) {
    object->AddError("domain", absl::StrCat(policy::Quoted(ports.domain),
                                            " is no domain in small letters, "
                                            "such as sandboxes.example.org"));
  }
  if (!ports.url.empty() &&
      (!absl::StartsWith(ports.url, "https://") || !IsOrigin(ports.url))) {
    object->AddError("url", absl::StrCat(policy::Quoted(ports.url),
                                         " is none such as "
                                         "https://gw.example.org"));
  }
  if (ports.url.empty() != ports.link_key_file.empty()) {
    object->AddError("",
                     "\"url\" and \"link_key_file\" belong together: "
                     "both are for links");
  }
}

void ReadLog(JsonObject& root, GatewayConfig& config) {
  std::optional<JsonObject> object = root.OptionalObject("log");
  if (!object.has_value()) return;
  const std::string format = object->String("format", "text");
  if (format != "text" && format != "json") {
    object->AddError("format", "expected \"text\" or \"json\"");
  }
  config.log_format =
      format == "json" ? server::LogFormat::kJson : server::LogFormat::kText;
  config.log_calls = object->Bool("calls", false);
}

}  // namespace

absl::StatusOr<GatewayConfig> LoadGatewayConfig(const std::string& path) {
  absl::StatusOr<policy::JsonDocument> document =
      policy::JsonDocument::ReadFile(path);
  if (!document.ok()) return document.status();
  JsonObject root = document->root();
  GatewayConfig config;
  ReadListen(root, config);
  config.socket = ReadPath(root, "socket", config.socket);
  server::ReadTlsConfig(root, config.tls);
  config.tls.http1 = true;
  server::ReadIdentityConfig(root, config.identity);
  ReadNodes(root, config.nodes);
  ReadHttp(root, config);
  ReadPorts(root, config.ports);
  config.drain_timeout = root.Duration("drain_timeout", {.max = absl::Hours(1)},
                                       config.drain_timeout);
  ReadLog(root, config);
  server::ReadMetricsConfig(root, config.metrics);
  if (config.tls.certificate.empty()) {
    root.AddError("tls",
                  "names no certificate: set \"certificate\" and \"key\"; "
                  "sandglass cert makes them");
  }
  if (config.identity.tokens_dir.empty() && config.identity.jwt.empty() &&
      config.identity.certificates.empty()) {
    root.AddError("identity",
                  "says no way to tell callers apart: set \"tokens_dir\", "
                  "\"certificates\" or \"jwt\"");
  }
  if (absl::Status status = document->Finish(); !status.ok()) return status;
  return config;
}

std::string GatewayConfigToJson(const GatewayConfig& config) {
  std::vector<std::string> listen;
  for (const server::ListenAddress& address : config.listen) {
    listen.push_back(address.ToString());
  }
  const nlohmann::ordered_json json = {
      {"listen", listen},
      {"socket", config.socket},
      {"tls", server::TlsToJson(config.tls)},
      {"identity", server::IdentityToJson(config.identity)},
      {"nodes",
       {{"addresses", config.nodes.addresses},
        {"resolve_every", absl::FormatDuration(config.nodes.resolve_every)},
        {"ca", config.nodes.ca},
        {"certificate", config.nodes.certificate},
        {"key", config.nodes.key}}},
      {"http",
       {{"connections", config.http_connections},
        {"cors_origins", config.cors.origins}}},
      {"ports",
       {{"domain", config.ports.domain},
        {"url", config.ports.url},
        {"link_key_file", config.ports.link_key_file}}},
      {"drain_timeout", absl::FormatDuration(config.drain_timeout)},
      {"log",
       {{"format",
         config.log_format == server::LogFormat::kJson ? "json" : "text"},
        {"calls", config.log_calls}}},
      {"metrics", server::MetricsToJson(config.metrics)}};
  return json.dump(2, ' ', /*ensure_ascii=*/true,
                   nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace sandglass::gateway
