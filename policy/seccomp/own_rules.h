#ifndef SANDGLASS_POLICY_SECCOMP_OWN_RULES_H_
#define SANDGLASS_POLICY_SECCOMP_OWN_RULES_H_

#include <cstdint>

#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// What the filters of our own processes, egress_filter.cc and server_filter.cc,
// are written with.

// The mask of an argument that is an int in the kernel.
inline constexpr uint64_t kIntArgument = 0xffffffff;

// Holds when the argument's bits that are in `mask` are `value`.
inline SeccompPolicy::ArgumentTest ArgumentEquals(
    unsigned argument, uint64_t value, uint64_t mask = kIntArgument) {
  return {.index = argument, .op = "==", .value = value, .mask = mask};
}

// Holds for a clone(2) that makes a thread: no process, no namespace.
inline SeccompPolicy::ArgumentTest MakesThread() {
  // Of linux/sched.h: what threads share, which is CLONE_THREAD and what has to
  // go with it; and all that makes a namespace.
  constexpr uint64_t kShared = 0x50f00;
  constexpr uint64_t kNamespaces = 0x7e020000;
  return ArgumentEquals(0, kShared, kShared | kNamespaces);
}

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_OWN_RULES_H_
