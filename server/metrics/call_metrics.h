#ifndef SANDGLASS_SERVER_METRICS_CALL_METRICS_H_
#define SANDGLASS_SERVER_METRICS_CALL_METRICS_H_

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "server/metrics/by_name.h"

namespace sandglass::server {

// Bounds in seconds. A warm run takes about one millisecond; a profile's limit
// is a minute or so.
prometheus::Histogram::BucketBoundaries RunBuckets();

// "NOT_FOUND" for a gRPC status code.
std::string CodeLabel(int code);

// The metrics that servers of gRPC have in common: grpc_server_handled_total
// and grpc_server_handling_seconds. Thread-safe.
class CallMetrics {
 public:
  // Which must outlive this object.
  explicit CallMetrics(prometheus::Registry& registry);
  // A call has ended: as CallRecorder has it.
  void Record(std::string_view method, int code, absl::Duration took);

 private:
  prometheus::Family<prometheus::Counter>& handled_;
  prometheus::Family<prometheus::Histogram>& handling_;
  ByName<prometheus::Histogram*> methods_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_METRICS_CALL_METRICS_H_
