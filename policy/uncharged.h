#ifndef SANDGLASS_POLICY_UNCHARGED_H_
#define SANDGLASS_POLICY_UNCHARGED_H_

#include <cstdint>

#include "policy/verdict.h"

namespace sandglass::policy {

// How a kill over kernel memory that no control group is charged for is told.
struct UnchargedRule {
  const char* rule;
  const char* held;  // "…" of "was stopped because … 17 MiB of kernel memory"
  uint64_t most;     // bytes
};
// Precondition: the reason is one of FindExcess.
UnchargedRule RuleFor(KillReason reason);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_UNCHARGED_H_
