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

// The jail's processes are stopped, or go on.
struct JailFroze {
  bool frozen;
};
// The jail is dead, and why. Nothing follows.
struct JailDied {
  std::string how;
  bool out_of_memory;
};
using ProcessNews =
    std::variant<sandbox::SpawnedEvent, sandbox::SpawnFailedEvent,
                 sandbox::ProcessExitedEvent, JailFroze, JailDied>;
// Called on any thread, under the host's lock: it only notes what it gets.
using TakeProcessNews = std::function<void(ProcessNews)>;

struct JailFacts {
  sandbox::JailCounters counters;
  sandbox::MemorySample memory;
  std::vector<policy::FilesystemFill> filesystems;
  std::optional<sandbox::NetworkUse> network;  // of what has one
  uint32_t processes = 0;
  bool kernel_busy = false;  // a run goes on in a kernel
};

// What commands need of a session's jail. Thread-safe; only Attach waits.
class ProcessHost {
 public:
  // Gets the jail where there is none. Errors are as RunJob's.
  virtual absl::Status Attach(CancelToken& cancel) = 0;
  virtual bool IsAttached() const = 0;
  // For poll(2): POLLIN, there is news to take; POLLHUP, the jail is gone.
  // Empty without a jail that lives.
  virtual os::Fd NewsFd() const = 0;
  // SpawnedEvent or SpawnFailedEvent follows; after the first, in the end,
  // ProcessExitedEvent. JailDied may come instead of any. Errors are as
  // SessionJail::Spawn's; INTERNAL: the jail is dead.
  virtual absl::Status StartProcess(const sandbox::ProcessSpec& spec,
                                    TakeProcessNews take) = 0;
  // Hands out what there is, also what isn't the caller's.
  virtual void TakeNews() = 0;
  // As SessionJail::SendSignal; nothing when the jail is dead.
  virtual void SignalProcess(pid_t pid, int signal, bool to_group) = 0;
  // As SessionJail::KillByPid; nothing when the jail is dead.
  virtual void KillProcess(uint64_t id) = 0;
  // Ends the jail, since a process in it can't be ended otherwise. All who have
  // processes in it are told, JailDied.
  virtual void EndJail(const std::string& why) = 0;
  virtual JailFacts Facts() const = 0;
  // As Jail::ReadUncharged; nothing when the jail is dead.
  virtual policy::UnchargedMemory ReadUncharged() const = 0;

 protected:
  ~ProcessHost() = default;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_PROCESS_HOST_H_
