#include "policy/seccomp/syscall_names.h"

#include <linux/seccomp.h>
#include <seccomp.h>

#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "policy/architecture/architecture.h"

namespace sandglass::policy {

std::string SyscallName(uint32_t architecture, int number) {
  if (architecture == AUDIT_ARCH_I386) return absl::StrCat("i386:", number);
  if (architecture != kArchitecture) {
    return absl::StrFormat("architecture-%x:%d", architecture, number);
  }
  if (architecture == AUDIT_ARCH_X86_64 && number >= kX32) {
    return absl::StrCat("x32:", number - kX32);
  }
  const std::unique_ptr<char, void (*)(void*)> name(
      seccomp_syscall_resolve_num_arch(kArchitecture, number), std::free);
  // The call is newer than libseccomp.
  return name == nullptr ? absl::StrCat("number-", number)
                         : std::string(name.get());
}

bool Allows(const BpfProgram& filter, int number, uint64_t third) {
  const uint64_t arguments[6] = {0, 0, third};
  const absl::StatusOr<uint32_t> answer =
      EvaluateFilter(filter, kArchitecture, number, arguments);
  return answer.ok() && *answer == SECCOMP_RET_ALLOW;
}

}  // namespace sandglass::policy
