#include "sandbox/jailed/program_rights.h"

#include <grp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "sandbox/jailed/layout.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/rights.h"

namespace sandglass::sandbox {
namespace {

bool Lower(int resource, uint64_t value) {
  struct rlimit limit = {};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) {
    return false;
  }
  // Raising the hard limit would need CAP_SYS_RESOURCE on the host.
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value);
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0;
}

}  // namespace

bool SetProgramLimits(const ProgramLimits& limits) {
  struct rlimit cpu = {};
  // SIGXCPU at the soft limit, SIGKILL a second later; the daemon's own check
  // comes first, this stands in should it be late.
  cpu.rlim_cur = limits.cpu_seconds + 1;
  cpu.rlim_max = limits.cpu_seconds + 2;
  constexpr uint64_t kStack = 8u << 20;
  return ::setrlimit(RLIMIT_CPU, &cpu) == 0 && Lower(RLIMIT_CORE, 0) &&
         Lower(RLIMIT_NOFILE, limits.open_files) &&
         Lower(RLIMIT_FSIZE, limits.file_size_bytes) &&
         // Pinned memory, queued signals and message queues are charged to the
         // uid, not to the group.
         Lower(RLIMIT_MEMLOCK, 64u << 10) && Lower(RLIMIT_SIGPENDING, 1024) &&
         Lower(RLIMIT_MSGQUEUE, 819200) && Lower(RLIMIT_STACK, kStack) &&
         Lower(RLIMIT_NICE, 0) && Lower(RLIMIT_RTPRIO, 0);
}

bool DropProgramRights() {
  return ::setgroups(0, nullptr) == 0 &&
         ::setresgid(kCodeUid, kCodeUid, kCodeUid) == 0 &&
         ::setresuid(kCodeUid, kCodeUid, kCodeUid) == 0 &&
         os::SetCapabilities(0) && os::SetNoNewPrivs();
}

os::Fd MakeLandlockRules(int abi) {
  using enum os::LandlockAccess;
  static constexpr os::LandlockPath kPaths[] = {
      {"/", kList},      {"/usr", kReadExec}, {"/etc", kRead}, {"/proc", kRead},
      {"/dev", kDevice}, {"/dev/shm", kFull}, {"/tmp", kFull}, {"/home", kList},
      {kHome, kFull},    {kWorkspace, kFull}, {"/var", kRead},
  };
  return os::MakeLandlockRuleset(abi, kPaths);
}

}  // namespace sandglass::sandbox
