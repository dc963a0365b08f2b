#ifndef SANDGLASS_SERVER_SESSION_SESSION_RECORD_H_
#define SANDGLASS_SERVER_SESSION_SESSION_RECORD_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "internal/durable.pb.h"
#include "server/identity/identity.h"
#include "server/job/session_spec.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// What the disk keeps of a session: `spec`, with labels and times as they are
// now, and its age at `now`.
internal::StoredSession ToRecord(const std::string& id, const Identity& caller,
                                 const SessionSpec& spec, absl::Time created,
                                 absl::Duration age,
                                 const std::vector<std::string>& contexts,
                                 absl::Time now);

// The session of a record under the policy that holds now: limits and times are
// no higher than the policy allows. If the policy doesn't allow the session at
// all, `past.unusable` says so.
struct FormerSession {
  SessionSpec spec;
  SessionPast past;
};
FormerSession FromRecord(const internal::StoredSession& record,
                         const PolicySet& policy, const SessionOptions& options,
                         absl::Time last_used, absl::Time now);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_SESSION_RECORD_H_
