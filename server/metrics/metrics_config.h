#ifndef SANDGLASS_SERVER_METRICS_METRICS_CONFIG_H_
#define SANDGLASS_SERVER_METRICS_METRICS_CONFIG_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "policy/text/json_reader.h"

namespace sandglass::server {

// The address at which Prometheus finds the daemon's metrics.
struct MetricsConfig {
  // "127.0.0.1:9464" or "[::1]:9464"; port 0 means any free one. Empty: metrics
  // aren't served. Readers aren't authenticated.
  std::string listen;
};

// Returns the address to listen on for what was written: an IP address and
// port, or a port alone, which means one of 127.0.0.1. INVALID_ARGUMENT: the
// text is none of these, and not empty either.
absl::StatusOr<std::string> MetricsAddress(const std::string& text);
// Whether others than programs on this machine can connect to that address.
bool IsOpenToOthers(const std::string& address);

// Reads the key "metrics". Mistakes become errors of `root`.
void ReadMetricsConfig(policy::JsonObject& root, MetricsConfig& metrics);
// Applies the command line's value, if it is there.
absl::Status ApplyMetricsFlag(const std::optional<std::string>& listen,
                              MetricsConfig& metrics);
nlohmann::ordered_json MetricsToJson(const MetricsConfig& metrics);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_METRICS_METRICS_CONFIG_H_
