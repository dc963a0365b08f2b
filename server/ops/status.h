#ifndef SANDGLASS_SERVER_OPS_STATUS_H_
#define SANDGLASS_SERVER_OPS_STATUS_H_

#include <string>

#include "sandglass/v1/operator.pb.h"
#include "server/admission/admission.h"
#include "server/audit/audit_log.h"
#include "server/audit/audit_trail.h"
#include "server/base/clock.h"
#include "server/ops/operated_daemon.h"
#include "server/ops/readiness.h"
#include "server/ops/usage_counter.h"

namespace sandglass::server {

// The sources of the answer to GetStatus. What they point to must outlive this
// object.
struct StatusSources {
  const Readiness* readiness;
  const Admission* admission;
  const UsageCounter* usage_counter;
  MonotonicTime started;
  const OperatedDaemon* daemon;
  const AuditLog* audit = nullptr;  // null when there is none
  AuditFailure on_audit_failure = AuditFailure::kRefuse;
  std::string metrics_address;  // empty when they aren't served
};

v1::GetStatusResponse MakeStatus(const StatusSources& sources);

// Sets what this process uses now, from proc(5): resident_bytes, threads,
// open_fds without the one that this look takes, and max_open_fds; 0 when they
// can't be read.
void FillProcess(v1::GetStatusResponse& response);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_STATUS_H_
