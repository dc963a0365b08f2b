#ifndef SANDGLASS_SANDBOX_OS_ASKED_CALLS_H_
#define SANDGLASS_SANDBOX_OS_ASKED_CALLS_H_

#include <cstdint>

#include "sandbox/os/fd.h"

namespace sandglass::os {

// Questions of a filter that asks, see InstallAskingFilter and
// seccomp_unotify(2). A caller waits in the kernel until it is answered, is
// killed, or the listener is closed (ENOSYS then).
//
// For poll(2) a listener has POLLIN while there is a question, POLLHUP when
// nobody has the filter any more.

struct AskedCall {
  uint64_t id = 0;
  uint32_t architecture = 0;  // AUDIT_ARCH_*
  int number = 0;
  uint64_t arguments[6] = {};
};

// Takes one question. False with errno; ENOENT: who asked is dead or was
// interrupted. Waits where there is none, so poll first.
bool TakeCall(const Fd& listener, AskedCall& call);

// The call does nothing and gives `error` (an errno). False with errno; ENOENT
// as above.
bool RefuseCall(const Fd& listener, const AskedCall& call, int error);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_ASKED_CALLS_H_
