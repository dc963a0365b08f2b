#ifndef SANDGLASS_SERVER_OPS_STATE_METRICS_H_
#define SANDGLASS_SERVER_OPS_STATE_METRICS_H_

#include <optional>
#include <vector>

#include "prometheus/metric_family.h"
#include "sandglass/v1/operator.pb.h"
#include "sandglass/v1/server_info.pb.h"

namespace sandglass::server {

// The metrics of the daemon's present state.
std::vector<prometheus::MetricFamily> StateFamilies(
    const v1::GetStatusResponse& status,
    const std::optional<v1::CompileCache>& compile_cache);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_STATE_METRICS_H_
