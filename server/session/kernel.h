#ifndef SANDGLASS_SERVER_SESSION_KERNEL_H_
#define SANDGLASS_SERVER_SESSION_KERNEL_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "policy/language/language.h"
#include "sandbox/jail/jail.h"
#include "sandbox/os/fd.h"
#include "server/job/job.h"
#include "server/session/kernel_protocol.h"

namespace sandglass::server {

// The process of one kernel and the daemon's ends of what it talks through.
// Belongs to the run that goes on in it.
struct Kernel {
  // A program of its own, which has input instead of commands and no events. It
  // ends with its only run, or is killed at a limit.
  bool is_program = false;
  uint64_t process = 0;  // by which its keeper knows it
  // In the jail; 0 as long as it is not known. Others read it.
  std::atomic<pid_t> pid = 0;
  os::Fd in;        // commands
  os::Fd out, err;  // what its cells write
  os::Fd events;
  os::Fd kill;  // its own group; empty: it shares the jail's
  // How it wants to be told.
  policy::KernelRecipe::Commands commands =
      policy::KernelRecipe::Commands::kJson;
  KernelLines lines;
  uint64_t cells = 0;  // that were sent to it
  uint32_t runs = 0;   // by its own count
  Timings timings;     // of its start
  bool fresh = true;   // no cell has run in it
};

// Who has the jail that kernels run in. Thread-safe.
class KernelKeeper {
 public:
  struct Fate {
    bool jail_gone = false;
    std::optional<int> wait_status;  // it has ended
    // The jail; lives as long as a run goes on in it.
    const sandbox::Jail* jail = nullptr;
    int control_fd = -1;  // for poll(2): POLLIN, something may have changed
  };
  virtual Fate Look(const Kernel& kernel) = 0;
  // Interrupts what runs in it, as Ctrl-C does.
  virtual void Signal(const Kernel& kernel) = 0;
  // Kills it with what it started, in each way there is.
  virtual void Kill(const Kernel& kernel) = 0;
  // Ends the jail, since the kernel can't be ended otherwise.
  virtual void EndJail(const std::string& why) = 0;

 protected:
  ~KernelKeeper() = default;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_KERNEL_H_
