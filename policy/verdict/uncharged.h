#ifndef SANDGLASS_POLICY_VERDICT_UNCHARGED_H_
#define SANDGLASS_POLICY_VERDICT_UNCHARGED_H_

#include "policy/verdict/verdict.h"

namespace sandglass::policy {

// What is said of a kill over kernel memory that no control group is charged
// for, by one of the reasons of FindExcess. `whole` is what was killed, such as
// "The run".
void DecideUncharged(const Kill& kill, const char* whole, Verdict& verdict);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_VERDICT_UNCHARGED_H_
