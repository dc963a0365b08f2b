#include "policy/seccomp_start.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sandglass::policy {
namespace {

struct CallOfStart {
  int number;
  const char* name;
};

// What sandbox/jailed/program.cc calls between the filter and the program, but
// for sendmsg, which only a filter that is traced needs: the start with
// --trace-syscalls looks for that one.
constexpr CallOfStart kCallsOfStart[] = {
    {SYS_close, "close"},
    {SYS_openat, "openat"},
    {SYS_openat2, "openat2"},
    {SYS_fchdir, "fchdir"},
    {SYS_execve, "execve"},
    // Of kernels whose clock can't be read without a call.
    {SYS_clock_gettime, "clock_gettime"},
    // Of a process that could not become the program.
    {SYS_exit_group, "exit_group"},
};

}  // namespace

absl::Status CheckStartsPrograms(const BpfProgram& filter) {
  std::vector<std::string> refused;
  for (const CallOfStart& call : kCallsOfStart) {
    constexpr uint64_t kArguments[6] = {};
    const absl::StatusOr<uint32_t> answer =
        EvaluateFilter(filter, AUDIT_ARCH_X86_64, call.number, kArguments);
    if (!answer.ok()) return answer.status();
    if (*answer != SECCOMP_RET_ALLOW) refused.emplace_back(call.name);
  }
  if (refused.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "its filter refuses ", absl::StrJoin(refused, ", "),
      ", without which no program can be started: a process has its filter "
      "when it looks up its directory and its program. Allow them in the "
      "policy, or leave out the addition that refuses them"));
}

}  // namespace sandglass::policy
