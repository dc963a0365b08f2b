#ifndef SANDGLASS_POLICY_ARCHITECTURE_ARCHITECTURE_H_
#define SANDGLASS_POLICY_ARCHITECTURE_ARCHITECTURE_H_

#include <linux/audit.h>
#include <sys/syscall.h>

#include <cstdint>

// What differs between the machines that the project is built for. The system
// call rules were checked for these and for no others.

namespace sandglass::policy {

#if defined(__x86_64__)

// What seccomp_data.arch and libseccomp call it, and what people do.
inline constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
inline constexpr char kArchitectureName[] = "x86-64";
// As uname(1) says it, and packages of compiled code.
inline constexpr char kMachine[] = "x86_64";
// The last call before a gap in the numbers: rseq(2). From 424 on,
// pidfd_send_signal(2), calls have the same numbers everywhere.
inline constexpr int kLastOldCall = 334;

#elif defined(__aarch64__)

inline constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
inline constexpr char kArchitectureName[] = "arm64";
inline constexpr char kMachine[] = "aarch64";
// kexec_file_load(2).
inline constexpr int kLastOldCall = 294;

#else
#error "x86-64 and arm64 only: the rules were checked for no other architecture"
#endif

// From this number on x86-64 has the calling convention x32; arm64 has no call
// there.
inline constexpr int kX32 = 0x40000000;

}  // namespace sandglass::policy

// Calls that arm64 doesn't have: its C library calls their successors, such as
// openat(2). Filters have no rule for them there, since no number is negative.
#if defined(__aarch64__)
#define SYS_access (-1)
#define SYS_chmod (-1)
#define SYS_chown (-1)
#define SYS_creat (-1)
#define SYS_epoll_wait (-1)
#define SYS_fork (-1)
#define SYS_inotify_init (-1)
#define SYS_ioperm (-1)
#define SYS_iopl (-1)
#define SYS_link (-1)
#define SYS_lstat (-1)
#define SYS_mkdir (-1)
#define SYS_mknod (-1)
#define SYS_modify_ldt (-1)
#define SYS_open (-1)
#define SYS_poll (-1)
#define SYS_readlink (-1)
#define SYS_stat (-1)
#define SYS_symlink (-1)
#define SYS_time (-1)
#define SYS_unlink (-1)
#define SYS_uselib (-1)
#define SYS_vfork (-1)
#endif

#endif  // SANDGLASS_POLICY_ARCHITECTURE_ARCHITECTURE_H_
