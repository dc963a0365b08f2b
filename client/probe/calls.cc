// System calls that a hostile program would try. All of them are harmless even
// if a broken jail allows them, because their arguments ask for nothing.

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/probe/report.h"

namespace sandglass::probe {
namespace {

template <typename... Args>
void Try(const char* name, long number, Args... args) {
  errno = 0;
  const long result = syscall(number, args...);
  Report(name, result, errno);
}

// A raw clone with namespace flags. If it makes a child, the child ends at
// once.
void TryClone(const char* name, unsigned long flags) {
  errno = 0;
  const long child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  const int error = errno;
  if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
  Report(name, child, error);
}

void TryClone3() {
  struct {
    unsigned long long fields[11];
  } args = {};
  args.fields[4] = SIGCHLD;  // exit_signal
  errno = 0;
  const long child = syscall(SYS_clone3, &args, sizeof(args));
  if (child == 0) _exit(0);
  Report("clone3", child, errno);
}

#if defined(__x86_64__)
// Makes a system call through the 32-bit interface; returns what the kernel has
// put into eax.
long CallI386(long number) {
  long result = 0;
  asm volatile("int $0x80"
               : "=a"(result)
               : "a"(number), "b"(0), "c"(0), "d"(0)
               : "memory", "r8", "r9", "r10", "r11");
  return static_cast<int>(result);
}

void TryForeignArchitectures() {
  constexpr long kX32Bit = 0x40000000;
  errno = 0;
  const long x32 = syscall(kX32Bit | SYS_getpid);
  Report("x32-getpid", x32, errno);
  // 20 is i386's getpid. A kernel without 32-bit support sends SIGSEGV for this
  // instruction, so a child executes it.
  const pid_t child = fork();
  if (child == 0) {
    const long result = CallI386(20);
    _exit(result >= 0 ? 0 : static_cast<int>(-result));
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    ReportText("i386-getpid", "SIGNAL");
  } else {
    Report("i386-getpid", WEXITSTATUS(status) == 0 ? 0 : -1,
           WEXITSTATUS(status));
  }
}

void TryHardware() {
  Try("modify_ldt", SYS_modify_ldt, 0, nullptr, 0);
  Try("iopl", SYS_iopl, 3);
  TryForeignArchitectures();
}
#else
// Other machines have no such calls.
void TryHardware() {
  for (const char* name : {"modify_ldt", "iopl", "x32-getpid", "i386-getpid"}) {
    ReportText(name, "absent");
  }
}
#endif

void TryRights() {
  Try("setuid-0", SYS_setuid, 0);
  Try("setgid-0", SYS_setgid, 0);
  Try("setresuid-0", SYS_setresuid, 0, 0, 0);
  const gid_t group = 0;
  Try("setgroups", SYS_setgroups, 1, &group);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  data[0].effective = data[0].permitted = 1U << CAP_SYS_CHROOT;
  Try("capset", SYS_capset, &header, data);
  Try("kill-init", SYS_kill, 1, 0);
  Try("sethostname", SYS_sethostname, "", -1);
  Try("chroot", SYS_chroot, "/workspace");
  Try("mknod-device", SYS_mknodat, AT_FDCWD, "/workspace/device",
      S_IFBLK | 0600, 0x0800);
  const rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
  Try("raise-rlimit", SYS_prlimit64, 0, RLIMIT_NOFILE, &unlimited, nullptr);
  Try("nice-up", SYS_setpriority, PRIO_PROCESS, 0, -10);
}

void TryNamespacesAndMounts() {
  Try("unshare-user", SYS_unshare, CLONE_NEWUSER);
  Try("unshare-mount", SYS_unshare, CLONE_NEWNS);
  Try("unshare-net", SYS_unshare, CLONE_NEWNET);
  TryClone("clone-user", CLONE_NEWUSER);
  TryClone("clone-net", CLONE_NEWNET);
  TryClone("clone-pid", CLONE_NEWPID);
  TryClone3();
  const int own = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
  Try("setns", SYS_setns, own, 0);
  Try("mount", SYS_mount, "none", "/tmp", "tmpfs", 0, nullptr);
  Try("remount-root", SYS_mount, "none", "/", nullptr, MS_REMOUNT | MS_BIND,
      nullptr);
  Try("umount", SYS_umount2, "/proc", MNT_DETACH);
  Try("pivot_root", SYS_pivot_root, "/tmp", "/tmp");
  Try("open_tree", SYS_open_tree, AT_FDCWD, "/", 1);
  Try("fsopen", SYS_fsopen, "tmpfs", 0);
  Try("move_mount", SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "/workspace",
      0);
  Try("mount_setattr", SYS_mount_setattr, AT_FDCWD, "/", 0, nullptr, 0);
  Try("open_by_handle_at", SYS_open_by_handle_at, AT_FDCWD, nullptr, 0);
}

void TryKernelInterfaces() {
  Try("ptrace", SYS_ptrace, PTRACE_TRACEME, 0, nullptr, nullptr);
  Try("process_vm_readv", SYS_process_vm_readv, 1, nullptr, 0, nullptr, 0, 0);
  Try("process_vm_writev", SYS_process_vm_writev, 1, nullptr, 0, nullptr, 0, 0);
  Try("kcmp", SYS_kcmp, 1, 1, 0, 0, 0);
  Try("pidfd_getfd", SYS_pidfd_getfd, 0, 0, 0);
  Try("keyctl", SYS_keyctl, 0, -3, 0);
  Try("add_key", SYS_add_key, "user", "name", "x", 1, -3);
  Try("request_key", SYS_request_key, "user", "name", nullptr, 0);
  Try("bpf", SYS_bpf, 0, nullptr, 0);
  Try("perf_event_open", SYS_perf_event_open, nullptr, 0, -1, -1, 0);
  Try("userfaultfd", SYS_userfaultfd, 1);
  Try("io_uring_setup", SYS_io_uring_setup, 1, nullptr);
  Try("io_uring_enter", SYS_io_uring_enter, -1, 0, 0, 0, nullptr, 0);
  Try("io_uring_register", SYS_io_uring_register, -1, 0, nullptr, 0);
  Try("syslog", SYS_syslog, 10, nullptr, 0);
  Try("reboot", SYS_reboot, 0, 0, 0, nullptr);
  Try("init_module", SYS_init_module, nullptr, 0, "");
  Try("kexec_load", SYS_kexec_load, 0, 0, nullptr, 0x1000);
  Try("swapon", SYS_swapon, "/workspace/none", 0);
  Try("acct", SYS_acct, "/workspace/none");
  Try("quotactl", SYS_quotactl, 0, nullptr, 0, nullptr);
  const timespec impossible = {0, -1};
  Try("clock_settime", SYS_clock_settime, CLOCK_REALTIME, &impossible);
  Try("fanotify_init", SYS_fanotify_init, 0, 0);
  Try("personality-no-randomize", SYS_personality, ADDR_NO_RANDOMIZE);
  sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog program = {1, &allow};
  Try("seccomp-new-listener", SYS_seccomp, SECCOMP_SET_MODE_FILTER,
      SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  char byte = 'x';
  Try("ioctl-tiocsti", SYS_ioctl, 0, TIOCSTI, &byte);
  // The kernel only looks at 32 bits of the request, and so must the filter.
  Try("ioctl-tiocsti-high-bits", SYS_ioctl, 0, 0x100000000UL | TIOCSTI, &byte);
}

}  // namespace

void TryCalls() {
  TryRights();
  TryKernelInterfaces();
  TryHardware();
  // Last: if something succeeds here, it changes the answers of the others.
  TryNamespacesAndMounts();
}

}  // namespace sandglass::probe
