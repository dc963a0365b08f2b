#ifndef SANDGLASS_TESTS_SUPPORT_FILTERS_INSTALL_FILTER_H_
#define SANDGLASS_TESTS_SUPPORT_FILTERS_INSTALL_FILTER_H_

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "policy/seccomp/seccomp.h"

namespace sandglass::testing {

// Sets no_new_privs and installs `program` for the calling thread, for good.
// False, with errno, when the kernel refuses. Async-signal-safe.
inline bool InstallFilter(const policy::BpfProgram& program) {
  const sock_fprog filter = {
      .len = static_cast<unsigned short>(program.size()),
      .filter = const_cast<sock_filter*>(program.data())};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_FILTERS_INSTALL_FILTER_H_
