#ifndef SANDGLASS_SERVER_SESSION_JAIL_PROCESSES_H_
#define SANDGLASS_SERVER_SESSION_JAIL_PROCESSES_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "policy/verdict/verdict.h"
#include "sandbox/jail/counter_files.h"
#include "sandbox/jail/session_jail.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/network_use.h"
#include "server/base/cancel_token.h"
#include "server/session/hosted_jail.h"
#include "server/session/jail_attachment.h"
#include "server/session/jail_kernels.h"

namespace sandglass::server {

struct JailFacts {
  sandbox::JailCounters counters;
  sandbox::MemorySample memory;
  std::vector<policy::FilesystemFill> filesystems;
  std::optional<sandbox::NetworkUse> network;  // for a jail that has one
  bool kernel_busy = false;                    // a run is going on in a kernel
};

// A session's jail as its commands see it. Thread-safe; only Attach blocks, and
// Facts of a jail that has a network, for an answer of the egress proxy.
class JailProcesses {
 public:
  // Everything outlives this object.
  JailProcesses(HostedJail& jail, JailAttachment& attachment,
                const JailKernels& kernels)
      : jail_(jail), attachment_(attachment), kernels_(kernels) {}

  // Gets the jail if there is none yet. The errors are those of RunJob.
  absl::Status Attach(CancelToken& cancel)
      ABSL_LOCKS_EXCLUDED(jail_.forking(), attachment_.attaching(),
                          jail_.mutex());
  bool IsAttached() const ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // A descriptor for poll(2): POLLIN means that there is news to take, POLLHUP
  // that the jail is gone. Empty when no jail is alive.
  os::Fd NewsFd() const ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Starts a process. `take` then gets a SpawnedEvent or a SpawnFailedEvent;
  // after a SpawnedEvent, in the end, a ProcessExitedEvent. JailDied may come
  // instead of any of them. The errors are those of SessionJail::Spawn;
  // INTERNAL: the jail is dead.
  absl::Status StartProcess(const sandbox::ProcessSpec& spec,
                            ProcessNewsHandler take)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Hands out all news there is, to other callers as well.
  void DeliverNews() ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Like SessionJail::SendSignal; does nothing when the jail is dead.
  void SignalProcess(pid_t pid, int signal, bool to_group)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Like SessionJail::KillByPid; does nothing when the jail is dead.
  void KillProcess(uint64_t id) ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Like CpuTurn; nothing changes where the jail is dead.
  bool BeginTurn() ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void YieldTurn() ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Ends the jail, for when a process in it can't be ended otherwise. All who
  // have processes in it get JailDied.
  void EndJail(const std::string& why) { jail_.EndJail(why); }
  JailFacts Facts() const ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Like Jail::ReadUncharged; returns nothing when the jail is dead.
  policy::UnchargedMemory ReadUncharged() const
      ABSL_LOCKS_EXCLUDED(jail_.mutex());

 private:
  HostedJail& jail_;
  JailAttachment& attachment_;
  const JailKernels& kernels_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_JAIL_PROCESSES_H_
