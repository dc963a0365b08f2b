#ifndef SANDGLASS_POLICY_SECCOMP_SYSCALL_NAMES_H_
#define SANDGLASS_POLICY_SECCOMP_SYSCALL_NAMES_H_

#include <cstdint>
#include <string>

#include "policy/seccomp/seccomp.h"

namespace sandglass::policy {

// The usual name of a call, for example "unshare". `architecture` and `number`
// are those of struct seccomp_data. A call of another architecture than this,
// or one newer than libseccomp, has its number in the name: "i386:1", "x32:1",
// "number-999".
std::string SyscallName(uint32_t architecture, int number);

// Whether a filter allows the call `number`. All arguments are 0, except
// the third, which is `third`.
bool Allows(const BpfProgram& filter, int number, uint64_t third);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_SECCOMP_SYSCALL_NAMES_H_
