#include "sandbox/jailed/program_rights.h"

#include <grp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/wire/jail_layout.h"

namespace sandglass::sandbox {
namespace {

using Resource = __rlimit_resource;

bool Lower(pid_t pid, Resource which, rlim_t soft, rlim_t hard) {
  struct rlimit limit = {};
  if (::prlimit(pid, which, nullptr, &limit) != 0) return false;
  // Raising the hard limit would need CAP_SYS_RESOURCE on the host.
  limit.rlim_max = std::min(limit.rlim_max, hard);
  limit.rlim_cur = std::min(limit.rlim_max, soft);
  return ::prlimit(pid, which, &limit, nullptr) == 0;
}

bool Lower(pid_t pid, Resource which, uint64_t value) {
  return Lower(pid, which, value, value);
}

// Sets the limits that differ between runs. `pid` 0 is the caller.
bool SetRunLimits(pid_t pid, const ProgramLimits& limits) {
  // SIGXCPU at the soft limit, SIGKILL a second later. The daemon's own check
  // acts earlier; this one is for when it is late.
  const rlim_t cpu = std::min<uint64_t>(limits.cpu_seconds, RLIM_INFINITY - 2);
  return Lower(pid, RLIMIT_CPU, cpu + 1, cpu + 2) &&
         Lower(pid, RLIMIT_NOFILE, limits.open_files) &&
         Lower(pid, RLIMIT_FSIZE, limits.file_size_bytes);
}

// While an object of this class lives, init has the code's real ids, which
// prlimit(2) checks. Its effective ids, and with them its rights, don't change.
class RealCodeIds {
 public:
  RealCodeIds()
      : taken_(::setresgid(kCodeUid, -1, -1) == 0 &&
               ::setresuid(kCodeUid, -1, -1) == 0) {}
  ~RealCodeIds() { (void)GiveBack(); }
  RealCodeIds(const RealCodeIds&) = delete;
  RealCodeIds& operator=(const RealCodeIds&) = delete;

  bool taken() const { return taken_; }
  bool GiveBack() {
    return ::setresuid(kInitUid, -1, -1) == 0 &&
           ::setresgid(kInitUid, -1, -1) == 0;
  }

 private:
  const bool taken_;
};

}  // namespace

bool SetProgramLimits(const ProgramLimits& limits) {
  constexpr uint64_t kStack = 8u << 20;
  // RLIMIT_CORE: see os::ForbidCrashHelper. It has this value already unless
  // the host's hard limit didn't allow it.
  return SetRunLimits(0, limits) && Lower(0, RLIMIT_CORE, 1) &&
         // Pinned memory, queued signals and message queues are charged to the
         // uid, not to the control group.
         Lower(0, RLIMIT_MEMLOCK, 64u << 10) &&
         Lower(0, RLIMIT_SIGPENDING, 1024) &&
         Lower(0, RLIMIT_MSGQUEUE, 819200) && Lower(0, RLIMIT_STACK, kStack) &&
         Lower(0, RLIMIT_NICE, 0) && Lower(0, RLIMIT_RTPRIO, 0);
}

bool LimitProcess(pid_t pid, const ProgramLimits& limits) {
  RealCodeIds ids;
  return ids.taken() && SetRunLimits(pid, limits) && ids.GiveBack();
}

bool LimitProcessAside(pid_t pid, const ProgramLimits& limits) {
  const pid_t child = os::Clone3({});
  if (child == 0) ::_exit(LimitProcess(pid, limits) ? 0 : 1);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return false;
  if (status != 0) errno = EPERM;
  return status == 0;
}

bool DropProgramRights() {
  return ::setgroups(0, nullptr) == 0 &&
         ::setresgid(kCodeUid, kCodeUid, kCodeUid) == 0 &&
         ::setresuid(kCodeUid, kCodeUid, kCodeUid) == 0 &&
         os::SetCapabilities(0) && os::SetNoNewPrivs();
}

os::Fd MakeLandlockRules(int abi, os::LandlockScopes scopes) {
  using enum os::LandlockAccess;
  static constexpr os::LandlockPath kPaths[] = {
      {"/", kList},        {"/usr", kReadExec}, {"/etc", kRead},
      {"/proc", kRead},    {"/sys", kRead},     {"/dev", kDevice},
      {"/dev/shm", kFull}, {"/tmp", kFull},     {"/home", kList},
      {kHome, kFull},      {kWorkspace, kFull}, {"/var", kRead},
      {"/opt", kReadExec},
  };
  return os::MakeLandlockRuleset(abi, kPaths, scopes);
}

}  // namespace sandglass::sandbox
