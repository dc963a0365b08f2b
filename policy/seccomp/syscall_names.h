#ifndef SANDGLASS_POLICY_SECCOMP_SYSCALL_NAMES_H_
#define SANDGLASS_POLICY_SECCOMP_SYSCALL_NAMES_H_

#include <cstdint>
#include <string>

#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// A call as people know it: "unshare". `architecture` and `number` are as in
// struct seccomp_data; what is no call of x86-64's, or newer than libseccomp,
// has its number in its name: "i386:1", "x32:1", "number-999".
std::string SyscallName(uint32_t architecture, int number);

// Whether a filter lets x86-64's `number` pass. Arguments are 0, but for the
// third, which is `third`.
bool Allows(const BpfProgram& filter, int number, uint64_t third);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_SYSCALL_NAMES_H_
