#ifndef SANDGLASS_GATEWAY_DAEMON_GATEWAY_METRICS_H_
#define SANDGLASS_GATEWAY_DAEMON_GATEWAY_METRICS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/nodes/node_registry.h"
#include "gateway/proxy/call_recorder.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/registry.h"
#include "server/metrics/by_name.h"
#include "server/metrics/call_metrics.h"
#include "server/metrics/metrics_config.h"
#include "server/metrics/metrics_server.h"

namespace sandglass::gateway {

// What a gateway counts of its calls, and a line of the log for each of them
// where that is wanted. Thread-safe.
class GatewayMetrics final : public CallRecorder {
 public:
  // Tenants that have a label of their own; calls of further ones count as
  // "other". Names of tenants come from tokens, so nobody makes them up.
  static constexpr size_t kMaxTenants = 1000;

  // What is looked at when the metrics are read.
  struct State {
    std::vector<NodeState> nodes;
    uint64_t grpc_connections = 0;
    uint64_t http_connections = 0;
  };
  using AskState = std::function<State()>;

  explicit GatewayMetrics(bool log_calls);

  void Record(const PassedCall& call) override;
  // Of every call, also those that the gateway answers by itself.
  void RecordCall(const char* method, int code, absl::Duration took) {
    calls_.Record(method, code, took);
  }

  // Serves them from now on until Stop. Does nothing where the configuration
  // names no address.
  absl::Status Serve(const server::MetricsConfig& config, AskState ask);
  void Stop() { server_.reset(); }
  std::string Text(const State& state) const;

 private:
  using Counters = prometheus::Family<prometheus::Counter>;
  static void Log(const PassedCall& call);
  prometheus::Counter& Of(const PassedCall& call);

  const bool log_calls_;
  const std::shared_ptr<prometheus::Registry> registry_ =
      std::make_shared<prometheus::Registry>();
  server::CallMetrics calls_;
  Counters& passed_;
  Counters& of_tenant_;
  Counters& refused_;
  Counters& retries_;
  server::ByName<prometheus::Counter*> passed_by_name_;
  server::ByName<prometheus::Counter*> tenants_by_name_;
  // Those with a label, each with nothing.
  server::ByName<bool> tenants_;
  std::unique_ptr<server::MetricsServer> server_;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_DAEMON_GATEWAY_METRICS_H_
