#ifndef SANDGLASS_POLICY_VERDICT_UNCHARGED_H_
#define SANDGLASS_POLICY_VERDICT_UNCHARGED_H_

#include "policy/verdict/verdict.h"

namespace sandglass::policy {

// Fills in the verdict for a kill over kernel memory that isn't charged to any
// control group, for one of the reasons of FindExcess. `whole` names what was
// killed, for example "The run".
void DecideUncharged(const Kill& kill, const char* whole, Verdict& verdict);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_VERDICT_UNCHARGED_H_
