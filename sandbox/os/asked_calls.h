#ifndef SANDGLASS_SANDBOX_OS_ASKED_CALLS_H_
#define SANDGLASS_SANDBOX_OS_ASKED_CALLS_H_

#include <cstdint>

#include "sandbox/os/fd.h"

namespace sandglass::os {

// System calls that a seccomp filter hands to a listener for a decision instead
// of deciding itself; see InstallAskingFilter and seccomp_unotify(2). The
// thread that made the call waits in the kernel until its question is answered
// or it is killed. When the listener is closed, the call fails with ENOSYS.
//
// poll(2) reports POLLIN on a listener while there is a question, and POLLHUP
// when no process has the filter any more.

struct AskedCall {
  uint64_t id = 0;
  uint32_t architecture = 0;  // AUDIT_ARCH_*
  int number = 0;
  uint64_t arguments[6] = {};
};

// Receives one question. Returns false and sets errno on failure; ENOENT means
// that the asking thread is dead or was interrupted. Blocks while there is no
// question, so call poll(2) first.
bool ReceiveCall(const Fd& listener, AskedCall& call);

// Refuses the call: the kernel does nothing for it, and it fails with `error`
// (an errno). Returns false and sets errno on failure; ENOENT as above.
bool RefuseCall(const Fd& listener, const AskedCall& call, int error);

// Lets the kernel do the call, with the arguments that it has in registers
// (Linux 5.5). What they point to may have changed since the question. Returns
// false and sets errno on failure; ENOENT as above.
bool AllowCall(const Fd& listener, const AskedCall& call);

// True for a listener.
bool IsListener(const Fd& fd);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_ASKED_CALLS_H_
