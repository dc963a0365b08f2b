#ifndef SANDGLASS_SANDBOX_OS_RIGHTS_H_
#define SANDGLASS_SANDBOX_OS_RIGHTS_H_

#include <linux/filter.h>
#include <sys/types.h>

#include <cstdint>

#include "absl/types/span.h"
#include "sandbox/os/fd.h"

namespace sandglass::os {

// Ways to give up rights (capabilities(7), prctl(2), seccomp(2)). But for
// SetNonDumpable they concern the calling thread and what it starts, so call
// them while there is but one. All return false with errno on failure.

// Capabilities as a bit mask: 1 << CAP_*.
inline constexpr uint64_t kCapKill = uint64_t{1} << 5;
inline constexpr uint64_t kCapSetGid = uint64_t{1} << 6;
inline constexpr uint64_t kCapSetUid = uint64_t{1} << 7;
inline constexpr uint64_t kCapSysAdmin = uint64_t{1} << 21;

// Drops every capability of `keep`'s complement from permitted and effective,
// and all inheritable and ambient ones.
bool SetCapabilities(uint64_t keep);
// Empties the bounding set. Needs CAP_SETPCAP.
bool DropBoundingSet();
// For good: neither uid 0 nor a set-user-id file gives capabilities, changing
// ids from 0 takes them, none becomes ambient. Needs CAP_SETPCAP.
bool LockSecureBits();

// Lets a root process touch files with the rights of another, as long as it
// lives (seteuid(2), setegid(2)).
// Preconditions: one thread, whose effective ids are its real ones.
class ActingAs {
 public:
  ActingAs(uid_t uid, gid_t gid);
  ~ActingAs();
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;
  // False: it could not, and acts as before.
  bool ok() const { return ok_; }

 private:
  bool ok_ = false;
};

// For good: no exec gives rights.
bool SetNoNewPrivs();
// No core dump; /proc/self belongs to root, and only who may trace any process
// may trace this one. An exec undoes it.
bool SetNonDumpable();
// Takes that back.
bool SetDumpable();

// Sets RLIMIT_CORE to 1: no core file, and no program of the host's for a crash
// either. Where kernel.core_pattern names one, the kernel starts it whatever
// the limit says, 0 included, but for this value (do_coredump() in
// fs/coredump.c); then the kernel's log has two lines. Programs inherit it.
// EPERM: the hard limit is 0, which takes CAP_SYS_RESOURCE to raise.
bool ForbidCrashHelper();

// Adds a seccomp filter, for good. EINVAL: the kernel's verifier refuses it.
// Preconditions: no_new_privs; at most BPF_MAXINSNS (4096) instructions.
bool InstallSeccompFilter(absl::Span<const sock_filter> filter);

// The same for a filter that asks (SECCOMP_RET_USER_NOTIF): its listener,
// close-on-exec, or empty with errno. EBUSY: a filter before it has one
// already. See os/asked_calls.h.
Fd InstallAskingFilter(absl::Span<const sock_filter> filter);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_RIGHTS_H_
