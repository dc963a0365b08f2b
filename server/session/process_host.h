#ifndef SANDGLASS_SERVER_SESSION_PROCESS_HOST_H_
#define SANDGLASS_SERVER_SESSION_PROCESS_HOST_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "policy/verdict/verdict.h"
#include "sandbox/jail/counter_files.h"
#include "sandbox/jail/session_jail.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/network_use.h"
#include "server/base/cancel_token.h"

namespace sandglass::server {

// The jail's processes were stopped, or go on again.
struct JailFroze {
  bool frozen;
};
// The jail is dead; says how it died. Nothing follows.
struct JailDied {
  std::string how;
  bool out_of_memory;
};
using ProcessNews =
    std::variant<sandbox::SpawnedEvent, sandbox::SpawnFailedEvent,
                 sandbox::ProcessExitedEvent, JailFroze, JailDied>;
// Called on any thread, under the host's lock, so it may only store what it
// gets.
using ProcessNewsHandler = std::function<void(ProcessNews)>;

struct JailFacts {
  sandbox::JailCounters counters;
  sandbox::MemorySample memory;
  std::vector<policy::FilesystemFill> filesystems;
  std::optional<sandbox::NetworkUse> network;  // for a jail that has one
  uint32_t processes = 0;
  bool kernel_busy = false;  // a run is going on in a kernel
};

// What commands need of a session's jail. Thread-safe; only Attach blocks, and
// Facts of a jail that has a network, for an answer of the egress proxy.
class ProcessHost {
 public:
  // Gets the jail if there is none yet. The errors are those of RunJob.
  virtual absl::Status Attach(CancelToken& cancel) = 0;
  virtual bool IsAttached() const = 0;
  // A descriptor for poll(2): POLLIN means that there is news to take, POLLHUP
  // that the jail is gone. Empty when no jail is alive.
  virtual os::Fd NewsFd() const = 0;
  // Starts a process. `take` then gets a SpawnedEvent or a SpawnFailedEvent;
  // after a SpawnedEvent, in the end, a ProcessExitedEvent. JailDied may come
  // instead of any of them. The errors are those of SessionJail::Spawn;
  // INTERNAL: the jail is dead.
  virtual absl::Status StartProcess(const sandbox::ProcessSpec& spec,
                                    ProcessNewsHandler take) = 0;
  // Hands out all news there is, to other callers as well.
  virtual void DeliverNews() = 0;
  // Like SessionJail::SendSignal; does nothing when the jail is dead.
  virtual void SignalProcess(pid_t pid, int signal, bool to_group) = 0;
  // Like SessionJail::KillByPid; does nothing when the jail is dead.
  virtual void KillProcess(uint64_t id) = 0;
  // Ends the jail, for when a process in it can't be ended otherwise. All who
  // have processes in it get JailDied.
  virtual void EndJail(const std::string& why) = 0;
  virtual JailFacts Facts() const = 0;
  // Like Jail::ReadUncharged; returns nothing when the jail is dead.
  virtual policy::UnchargedMemory ReadUncharged() const = 0;

 protected:
  ~ProcessHost() = default;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_PROCESS_HOST_H_
