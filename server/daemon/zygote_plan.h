#ifndef SANDGLASS_SERVER_DAEMON_ZYGOTE_PLAN_H_
#define SANDGLASS_SERVER_DAEMON_ZYGOTE_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "policy/language/language.h"
#include "sandbox/yard/sandbox.h"
#include "server/daemon/config.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

struct PlannedZygote {
  sandbox::ZygoteOptions options;
  uint64_t idle_bytes;  // of one idle jail of its kind
  // Whether jails of its kind wait from the start, and not only once one was
  // used.
  bool always;
};

// Importing whole libraries must neither delay a daemon's start nor burden
// those who never use them.
inline constexpr absl::Duration kSpecialStartDelay = absl::Seconds(5);

// Plans the zygote of one kind, without a delay. The language must have
// zygotes.
PlannedZygote PlanZygote(const Config& config, const policy::Language& language,
                         const policy::ZygoteKind& kind);

// Plans one zygote for each kind of the installed languages; none without a
// pool. Kinds that lack what they need are removed from `policy`, so that
// programs go to those that are left, and the log says so.
std::vector<PlannedZygote> PlanZygotes(const Config& config, PolicySet& policy);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_ZYGOTE_PLAN_H_
