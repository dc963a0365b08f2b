#include "sandbox/jailed/file_agent_start.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sandbox/jailed/program_rights.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/seqpacket.h"

namespace sandglass::sandbox {

// The agent's code. A spawner that isn't linked with it can't open files.
[[noreturn]] __attribute__((weak)) void RunFileAgent(os::Fd socket);

namespace {

constexpr int kAgentSocket = 3;
constexpr uint64_t kAgentOpenFiles = 256;

// Runs in the child; returns only when a step failed.
void BecomeAgent(const JailPlan& plan, const os::Fd& landlock_ruleset,
                 absl::Span<const sock_filter> filter, const os::Fd& socket) {
  // ORDER: the same as in BecomeProgram, for the same reasons.
  os::SetProcessName("sandglass-files");
  if (::setsid() < 0) return;
  ::umask(022);
  // The copies get numbers above the agent's socket, because one of the
  // originals may have its number.
  constexpr int kRules = kAgentSocket + 1;
  const bool restricted = plan.landlock_abi > 0;
  const int rules =
      restricted ? ::fcntl(landlock_ruleset.get(), F_DUPFD_CLOEXEC, kRules)
                 : -1;
  if (restricted && rules < 0) return;
  if (socket.get() != kAgentSocket &&
      ::dup3(socket.get(), kAgentSocket, O_CLOEXEC) < 0) {
    return;
  }
  if (!os::CloseRange(kRules, rules - 1) ||
      !os::CloseFrom(restricted ? rules + 1 : kRules)) {
    return;
  }
  os::Fd ruleset(rules);
  // Init may have more files open, one for each process whose calls are traced.
  if (!SetProgramLimits({kAgentOpenFiles, kNoLimit, kNoLimit}) ||
      !DropProgramRights() ||
      (restricted && !os::LandlockRestrictSelf(ruleset))) {
    return;
  }
  ruleset.reset();
  os::ResetSignals();
  // After the change of ids, which resets it.
  if (!os::SetNonDumpable() || !os::InstallSeccompFilter(filter)) return;
  RunFileAgent(os::Fd(kAgentSocket));
}

}  // namespace

pid_t StartFileAgent(const JailPlan& plan, const os::Fd& landlock_ruleset,
                     absl::Span<const sock_filter> filter, os::Fd& daemon_end) {
  if (&RunFileAgent == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  absl::StatusOr<std::pair<os::Fd, os::Fd>> ends = os::SeqPacketPair();
  if (!ends.ok()) {
    errno = EMFILE;
    return -1;
  }
  const pid_t pid = os::Clone3({});
  if (pid == 0) {
    BecomeAgent(plan, landlock_ruleset, filter, ends->second);
    ::_exit(1);
  }
  if (pid > 0) daemon_end = std::move(ends->first);
  return pid;
}

}  // namespace sandglass::sandbox
