#ifndef SANDGLASS_SANDBOX_OS_RIGHTS_H_
#define SANDGLASS_SANDBOX_OS_RIGHTS_H_

#include <linux/filter.h>
#include <sys/types.h>

#include <cstdint>

#include "absl/types/span.h"
#include "sandbox/os/fd.h"

namespace sandglass::os {

// Functions that give up rights (capabilities(7), prctl(2), seccomp(2)). All
// but SetNonDumpable act on the calling thread and on what it starts later, so
// call them while there is only one thread. All return false and set errno on
// failure.

// Capabilities as a bit mask: 1 << CAP_*.
inline constexpr uint64_t kCapDacReadSearch = uint64_t{1} << 2;
inline constexpr uint64_t kCapKill = uint64_t{1} << 5;
inline constexpr uint64_t kCapSetGid = uint64_t{1} << 6;
inline constexpr uint64_t kCapSetUid = uint64_t{1} << 7;
inline constexpr uint64_t kCapSysAdmin = uint64_t{1} << 21;

// Removes every capability that isn't in `keep` from the permitted and
// effective sets, and empties the inheritable and ambient sets.
bool SetCapabilities(uint64_t keep);
// From now on changing ids away from 0 leaves the permitted set as it is.
bool KeepCapabilities();
// Empties the bounding set. Needs CAP_SETPCAP.
bool DropBoundingSet();
// Irreversible: neither uid 0 nor a set-user-id file gives capabilities any
// more, changing ids away from 0 removes them, and none can become ambient.
// Needs CAP_SETPCAP.
bool LockSecureBits();

// While an object of this class lives, a root process accesses files with the
// rights of another user (seteuid(2), setegid(2)).
// Preconditions: the process has one thread, whose effective ids equal its real
// ones.
class ActingAs {
 public:
  ActingAs(uid_t uid, gid_t gid);
  ~ActingAs();
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;
  // False when the ids could not be changed; the process then keeps its own
  // rights.
  bool ok() const { return ok_; }

 private:
  bool ok_ = false;
};

// Irreversible: from now on no exec gives additional rights.
bool SetNoNewPrivs();
// Forbids core dumps. /proc/self then belongs to root, and only a process that
// may trace any process may trace this one. An exec undoes it.
bool SetNonDumpable();
// Undoes SetNonDumpable.
bool SetDumpable();

// Sets RLIMIT_CORE to 1, so that a crash neither writes a core file nor starts
// a program on the host. Where kernel.core_pattern names a program, the kernel
// starts it at every other value of the limit, even at 0 (do_coredump() in
// fs/coredump.c); at 1 the kernel only writes two lines to its log. Child
// processes inherit the limit. EPERM: the hard limit is 0, and raising it needs
// CAP_SYS_RESOURCE.
bool ForbidCrashHelper();

// Adds a seccomp filter, which can't be removed. EINVAL: the kernel's verifier
// rejects it.
// Preconditions: no_new_privs; at most BPF_MAXINSNS (4096) instructions.
bool InstallSeccompFilter(absl::Span<const sock_filter> filter);

// The same for a filter that asks a listener (SECCOMP_RET_USER_NOTIF). Returns
// the listener, which is close-on-exec, or an empty Fd and sets errno. EBUSY:
// an earlier filter already has a listener. See os/asked_calls.h.
Fd InstallAskingFilter(absl::Span<const sock_filter> filter);

// From now on the caller asks a listener before it makes a socket, or anything
// else that could leave something in its network namespace. All other calls are
// left to further filters, of which the strictest answer counts: what another
// one refuses doesn't ask. Returns the listener; an empty Fd as above, and then
// nothing asks. Precondition: no_new_privs.
Fd AskBeforeSockets();

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_RIGHTS_H_
