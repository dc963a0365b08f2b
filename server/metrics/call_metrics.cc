#include "server/metrics/call_metrics.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "policy/text/views.h"

namespace sandglass::server {

prometheus::Histogram::BucketBoundaries RunBuckets() {
  return {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
          0.25,   0.5,   1,      2.5,   5,    10,    30,   60};
}

std::string CodeLabel(int code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

CallMetrics::CallMetrics(prometheus::Registry& registry)
    : handled_(prometheus::BuildCounter()
                   .Name("grpc_server_handled_total")
                   .Help("Calls that have ended, by method and code.")
                   .Register(registry)),
      handling_(prometheus::BuildHistogram()
                    .Name("grpc_server_handling_seconds")
                    .Help("How long calls took that have ended.")
                    .Register(registry)) {}

void CallMetrics::Record(std::string_view method, int code,
                         absl::Duration took) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(absl::StripPrefix(policy::AbslView(method), "/"),
                     absl::MaxSplits('/', 1));
  prometheus::Labels labels = {{"grpc_service", parts.first},
                               {"grpc_method", parts.second}};
  methods_
      .Get(std::string(method),
           [&] { return &handling_.Add(labels, RunBuckets()); })
      ->Observe(absl::ToDoubleSeconds(took));
  labels["grpc_code"] = CodeLabel(code);
  handled_.Add(labels).Increment();
}

}  // namespace sandglass::server
