#ifndef SANDGLASS_SERVER_EXEC_EXEC_AUDIT_H_
#define SANDGLASS_SERVER_EXEC_EXEC_AUDIT_H_

#include <string>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "sandglass/v1/exec.pb.h"
#include "server/audit/audit_trail.h"
#include "server/base/clock.h"
#include "server/exec/exec_request.h"
#include "server/session/session.h"

namespace sandglass::server {

// What the audit log says about one command, as far as it is known before its
// start. Input that is written to it later isn't included.
class ExecRecord {
 public:
  // Makes checksums of what the command consists of; its text is kept only if
  // the log is to have it.
  ExecRecord(const AuditTrail& audit, const std::string& caller,
             const Session& session, const v1::ExecSpec& spec,
             const ExecPlan& plan);

  void SetExecId(const std::string& exec_id) { fields_["exec_id"] = exec_id; }

  // Writes the line: about `failure`, for which the command could not be
  // started or was not allowed to, unless that is OK, otherwise about `end`. If
  // this fails, the command's client must be told this error instead.
  absl::Status Write(AuditTrail& audit, const absl::Status& failure,
                     const v1::ExecEnd& end) const;

 private:
  MonotonicTime accepted_;
  nlohmann::ordered_json fields_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EXEC_EXEC_AUDIT_H_
