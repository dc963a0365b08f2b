#ifndef SANDGLASS_SERVER_SESSION_KERNEL_H_
#define SANDGLASS_SERVER_SESSION_KERNEL_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "policy/language/language.h"
#include "sandbox/jail/session_jail.h"
#include "server/job/job.h"
#include "server/session/kernel_protocol.h"

namespace sandglass::server {

// The process of one kernel and the daemon's ends of its pipes. It belongs to
// the run that is going on in it.
struct Kernel {
  // True for a program instead of a kernel: it has input instead of commands,
  // and no events. It ends with its only run, or is killed at a limit.
  bool is_program = false;
  uint64_t process = 0;  // the number by which its keeper knows it
  // Its pid in the jail; 0 as long as it is not known. Other threads read it.
  std::atomic<pid_t> pid = 0;
  // Its standard input takes commands, what its cells write comes from its
  // output, and `channel` has the events. Without a group of its own, `kill` is
  // empty: it shares the jail's.
  sandbox::ProcessFds fds;
  // The form in which it wants its commands.
  policy::KernelRecipe::Commands commands =
      policy::KernelRecipe::Commands::kJson;
  KernelLines lines;
  uint64_t cells = 0;  // how many were sent to it
  uint32_t runs = 0;   // how many it has done
  Timings timings;     // of its start
  bool fresh = true;   // no cell has run in it
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_KERNEL_H_
