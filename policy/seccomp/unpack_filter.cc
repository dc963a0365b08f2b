#include "policy/seccomp/unpack_filter.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "policy/seccomp/own_rules.h"
#include "policy/seccomp/seccomp_compile.h"

namespace sandglass::policy {
namespace {

// What an unpacking process may call; with `tests`, only if they all hold, and
// otherwise the call fails with EPERM.
struct UnpackCalls {
  std::vector<int> calls;
  std::string reason;
  std::vector<SeccompPolicy::ArgumentTest> tests;
};

constexpr uint64_t kWholeArgument = ~uint64_t{0};

std::vector<UnpackCalls> CallsOfUnpacking() {
  return {
      {{SYS_pread64}, "the archive", {}},
      {{SYS_openat, SYS_openat2, SYS_mkdirat, SYS_symlinkat, SYS_linkat,
        SYS_unlinkat, SYS_newfstatat},
       "files of the tree; Landlock says where",
       {}},
      {{SYS_write, SYS_lseek, SYS_ftruncate, SYS_fchmod, SYS_fstat, SYS_close},
       "files that are open, and the answer",
       {}},
      {{SYS_utimensat},
       "times of open files: without a path",
       {ArgumentEquals(1, 0, kWholeArgument)}},
      {{SYS_mmap, SYS_mprotect},
       "memory, none of it code",
       {ArgumentEquals(2, 0, PROT_EXEC)}},
      {{SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk}, "memory", {}},
      {{SYS_exit, SYS_exit_group, SYS_futex, SYS_getpid, SYS_gettid,
        SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
        SYS_restart_syscall},
       "its end, and signals that it gets",
       {}}};
}

}  // namespace

absl::StatusOr<BpfProgram> MakeUnpackFilter() {
  std::vector<SeccompPolicy::Rule> rules;
  for (const UnpackCalls& group : CallsOfUnpacking()) {
    for (const int call : group.calls) {
      SeccompPolicy::Rule rule = {.syscall = "",
                                  .number = call,
                                  .error = 0,
                                  .tests = group.tests,
                                  .reason = group.reason,
                                  .set = "unpack"};
      rules.push_back(rule);
      if (group.tests.empty()) continue;
      rule.error = EPERM;
      rule.tests.clear();
      rules.push_back(std::move(rule));
    }
  }
  return CompileRules(rules);
}

}  // namespace sandglass::policy
