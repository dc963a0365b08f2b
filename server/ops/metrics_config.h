#ifndef SANDGLASS_SERVER_OPS_METRICS_CONFIG_H_
#define SANDGLASS_SERVER_OPS_METRICS_CONFIG_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "policy/text/json_reader.h"

namespace sandglass::server {

// Where Prometheus finds the daemon's metrics.
struct MetricsConfig {
  // "127.0.0.1:9464" or "[::1]:9464", port 0 for any free one; empty: they
  // aren't served. Nobody is asked who reads them.
  std::string listen;
};

// As it is listened on, from what was written: that, or a port of 127.0.0.1
// alone. INVALID_ARGUMENT: neither that, nor empty, nor a numeric IP address
// and a port.
absl::StatusOr<std::string> MetricsAddress(const std::string& text);
// Whether others than programs of this machine can connect there.
bool IsOpenToOthers(const std::string& address);

// The key "metrics". What is wrong becomes an error of `root`.
void ReadMetricsConfig(policy::JsonObject& root, MetricsConfig& metrics);
// Of the command line, if it is there.
absl::Status ApplyMetricsFlag(const std::optional<std::string>& listen,
                              MetricsConfig& metrics);
nlohmann::ordered_json MetricsToJson(const MetricsConfig& metrics);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_METRICS_CONFIG_H_
