#ifndef SANDGLASS_SERVER_ZYGOTES_H_
#define SANDGLASS_SERVER_ZYGOTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/sandbox.h"
#include "server/config.h"
#include "server/policy_set.h"

namespace sandglass::server {

struct PlannedZygote {
  sandbox::ZygoteOptions options;
  uint64_t idle_bytes;  // of one idle jail of its kind
  // Jails of its kind wait from the start on, not only once one was used.
  bool always;
};

// One for each kind of the languages that are installed; none without a pool.
// Kinds that lack what they need are taken out of `policy`, so that programs go
// to those that are left, and the log says so.
std::vector<PlannedZygote> PlanZygotes(const Config& config, PolicySet& policy);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ZYGOTES_H_
