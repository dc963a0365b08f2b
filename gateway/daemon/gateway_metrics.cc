#include "gateway/daemon/gateway_metrics.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"
#include "server/base/log.h"
#include "server/base/tcp_socket.h"
#include "server/base/version.h"

namespace sandglass::gateway {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

const char* NameOf(Route route) {
  switch (route) {
    case Route::kRun:
      return "run";
    case Route::kSession:
      return "session";
    case Route::kNamesake:
      return "namesake";
    case Route::kAny:
      return "any";
    case Route::kEvery:
      return "every";
    case Route::kNamed:
      return "named";
  }
  return "";
}

MetricFamily Gauge(const char* name, const char* help) {
  return {.name = name,
          .help = help,
          .type = prometheus::MetricType::Gauge,
          .metric = {}};
}

void Add(MetricFamily& family, double value,
         std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  family.metric.push_back(std::move(metric));
}

std::vector<MetricFamily> StateFamilies(const GatewayMetrics::State& state) {
  MetricFamily there = Gauge("sandglass_gateway_node_there",
                             "1: the node may be given something new.");
  MetricFamily age = Gauge("sandglass_gateway_node_report_age_seconds",
                           "How old the node's last report is.");
  MetricFamily slots = Gauge("sandglass_gateway_node_free_slots",
                             "Runs that the node can start at once.");
  MetricFamily queued =
      Gauge("sandglass_gateway_node_queued", "Runs that wait on the node.");
  MetricFamily sessions =
      Gauge("sandglass_gateway_node_sessions", "Sessions of the node.");
  for (const NodeState& node : state.nodes) {
    const std::vector<ClientMetric::Label> label = {{"node", node.name}};
    Add(there, node.there ? 1 : 0, label);
    Add(age, absl::ToDoubleSeconds(node.report_age), label);
    Add(slots, static_cast<double>(node.free_slots), label);
    Add(queued, static_cast<double>(node.queued), label);
    Add(sessions, static_cast<double>(node.sessions), label);
  }
  MetricFamily connections = Gauge("sandglass_gateway_connections",
                                   "Connections of clients, by protocol.");
  Add(connections, static_cast<double>(state.grpc_connections),
      {{"protocol", "grpc"}});
  Add(connections, static_cast<double>(state.http_connections),
      {{"protocol", "http"}});
  MetricFamily build = Gauge("sandglass_gateway_build_info", "Always 1.");
  Add(build, 1, {{"version", server::kVersion}});
  return {there, age, slots, queued, sessions, connections, build};
}

prometheus::Family<prometheus::Counter>& NewCounter(
    prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

}  // namespace

GatewayMetrics::GatewayMetrics(bool log_calls)
    : log_calls_(log_calls),
      calls_(*registry_),
      passed_(NewCounter(*registry_, "sandglass_gateway_calls_total",
                         "Calls that went to nodes, by the node that ended "
                         "them and by how it was found.")),
      of_tenant_(NewCounter(*registry_, "sandglass_gateway_tenant_calls_total",
                            "All calls of a tenant that have ended.")),
      refused_(NewCounter(*registry_, "sandglass_gateway_refused_total",
                          "Calls that went to no node, by why.")),
      retries_(NewCounter(*registry_, "sandglass_gateway_retries_total",
                          "Calls that a second node was asked for, by how "
                          "that one ended them.")) {}

prometheus::Counter& GatewayMetrics::Of(const PassedCall& call) {
  const std::string node = call.node.empty() ? "every" : std::string(call.node);
  const char* const route = NameOf(call.route->route);
  return *passed_by_name_.Get(
      absl::StrCat(node, " ", route, " ", call.code), [&] {
        return &passed_.Add({{"node", node},
                             {"route", route},
                             {"code", server::CodeLabel(call.code)}});
      });
}

void GatewayMetrics::Record(const PassedCall& call) {
  if (call.tries > 0) {
    Of(call).Increment();
  } else {
    refused_
        .Add({{"reason", call.reason}, {"code", server::CodeLabel(call.code)}})
        .Increment();
  }
  if (call.tries > 1 && call.route->route != Route::kEvery) {
    retries_.Add({{"code", server::CodeLabel(call.code)}}).Increment();
  }
  if (call.caller != nullptr) {
    const bool has_label =
        tenants_.Knows(call.caller->tenant) || tenants_.size() < kMaxTenants;
    if (has_label) (void)tenants_.Get(call.caller->tenant, [] { return true; });
    const std::string tenant = has_label ? call.caller->tenant : "other";
    tenants_by_name_
        .Get(absl::StrCat(tenant, " ", call.code),
             [&] {
               return &of_tenant_.Add({{"tenant", tenant},
                                       {"code", server::CodeLabel(call.code)}});
             })
        ->Increment();
  }
  if (log_calls_) Log(call);
}

void GatewayMetrics::Log(const PassedCall& call) {
  const server::Identity nobody;
  const server::Identity& caller =
      call.caller == nullptr ? nobody : *call.caller;
  server::Log(server::LogLevel::kInfo, "call",
              {{"method", call.route->path},
               {"caller", caller.name, true},
               {"address", caller.address, true},
               {"protocol", std::string(call.http ? "http" : "grpc")},
               {"node", std::string(call.node), true},
               {"tries", int64_t{call.tries}},
               {"code", server::CodeLabel(call.code)},
               {"reason", call.reason, true},
               {"ms", absl::ToDoubleMilliseconds(call.took)},
               {"trace_id", caller.trace_id, true}});
}

absl::Status GatewayMetrics::Serve(const server::MetricsConfig& config,
                                   AskState ask) {
  if (config.listen.empty()) return absl::OkStatus();
  absl::StatusOr<os::Fd> listener =
      server::ListenOnTcp("metrics.listen", config.listen);
  if (!listener.ok()) return listener.status();
  const int port = server::TcpPortOf(*listener);
  absl::StatusOr<std::unique_ptr<server::MetricsServer>> server =
      server::MetricsServer::Start(
          *std::move(listener),
          [this, ask = std::move(ask)] { return Text(ask()); });
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  server::Log(server::LogLevel::kInfo, "metrics_on",
              {{"address", config.listen}, {"port", int64_t{port}}});
  return absl::OkStatus();
}

std::string GatewayMetrics::Text(const State& state) const {
  std::vector<MetricFamily> families = registry_->Collect();
  for (MetricFamily& family : StateFamilies(state)) {
    families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace sandglass::gateway
