#include "sandbox/os/rights.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include "policy/architecture/architecture.h"

namespace sandglass::os {

static_assert(kCapKill == uint64_t{1} << CAP_KILL &&
              kCapSetGid == uint64_t{1} << CAP_SETGID &&
              kCapSetUid == uint64_t{1} << CAP_SETUID);

bool SetCapabilities(uint64_t keep) {
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 &&
      errno != EINVAL) {
    return false;
  }
  struct __user_cap_header_struct header = {};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  struct __user_cap_data_struct data[2] = {};
  data[0].permitted = data[0].effective = static_cast<uint32_t>(keep);
  data[1].permitted = data[1].effective = static_cast<uint32_t>(keep >> 32);
  return ::syscall(SYS_capset, &header, data) == 0;
}

bool KeepCapabilities() { return ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0; }

bool DropBoundingSet() {
  for (int cap = 0; cap < 64; ++cap) {
    const int in_set = ::prctl(PR_CAPBSET_READ, cap, 0, 0, 0);
    // EINVAL: the number is beyond the kernel's last capability.
    if (in_set < 0) return errno == EINVAL;
    if (in_set == 1 && ::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) {
      return false;
    }
  }
  return true;
}

bool LockSecureBits() {
  constexpr unsigned long kBits =
      SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
      SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
      SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  return ::prctl(PR_SET_SECUREBITS, kBits, 0, 0, 0) == 0;
}

ActingAs::ActingAs(uid_t uid, gid_t gid) {
  // ORDER: the group first, because after the change of user there is no right
  // to change it.
  if (::setegid(gid) != 0) return;
  if (::seteuid(uid) != 0) {
    if (::setegid(::getgid()) != 0) std::abort();
    return;
  }
  ok_ = true;
}

ActingAs::~ActingAs() {
  if (!ok_) return;
  if (::seteuid(::getuid()) != 0 || ::setegid(::getgid()) != 0) std::abort();
}

bool SetNoNewPrivs() { return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0; }

bool SetDumpable() { return ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0; }

bool SetNonDumpable() { return ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0; }

bool ForbidCrashHelper() {
  const rlimit limit{.rlim_cur = 1, .rlim_max = 1};
  return ::setrlimit(RLIMIT_CORE, &limit) == 0;
}

bool InstallSeccompFilter(absl::Span<const sock_filter> filter) {
  struct sock_fprog program = {};
  program.len = static_cast<unsigned short>(filter.size());
  program.filter = const_cast<sock_filter*>(filter.data());
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

Fd InstallAskingFilter(absl::Span<const sock_filter> filter) {
  // The headers of Debian 12 don't have this flag. With it only a deadly signal
  // interrupts a wait for an answer (Linux 5.19).
  constexpr unsigned long kWaitKillable = 1UL << 5;
  struct sock_fprog program = {};
  program.len = static_cast<unsigned short>(filter.size());
  program.filter = const_cast<sock_filter*>(filter.data());
  const auto install = [&](unsigned long flags) {
    return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                      SECCOMP_FILTER_FLAG_NEW_LISTENER | flags,
                                      &program));
  };
  const int listener = install(kWaitKillable);
  return Fd(listener < 0 && errno == EINVAL ? install(0) : listener);
}

Fd AskBeforeSockets() {
  // What the shipped policy refuses, but perhaps not an operator's: a listener
  // of the program's own, which would be asked instead of this one; keys, which
  // have a domain in each network namespace; line disciplines that make network
  // channels.
  static constexpr sock_filter kFilter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, policy::kArchitecture, 0, 12),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, policy::kX32, 10, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 9, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 8, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 7, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 6, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_add_key, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_request_key, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 2),
      // The low half of its second argument, which is an int in the kernel.
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
               offsetof(struct seccomp_data, args) + sizeof(uint64_t)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCSETD, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
  };
  return InstallAskingFilter(kFilter);
}

}  // namespace sandglass::os
