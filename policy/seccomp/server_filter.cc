#include "policy/seccomp/server_filter.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "policy/architecture/architecture.h"
#include "policy/seccomp/own_rules.h"
#include "policy/seccomp/seccomp_compile.h"

namespace sandglass::policy {
namespace {

using Rule = SeccompPolicy::Rule;
using Test = SeccompPolicy::ArgumentTest;

// Those after the gap (kLastOldCall): from pidfd_send_signal(2) to
// futex_requeue(2) of Linux 6.7.
constexpr int kFirstNew = 424;
constexpr int kLastNew = 456;
// The headers of Debian 12 don't have this number.
constexpr int kMemfdSecret = 447;

struct Refused {
  std::vector<int> calls;
  const char* reason;
};

const std::vector<Refused>& AllRefused() {
  static const auto* refused = new std::vector<Refused>{
      {{SYS_execve, SYS_execveat, SYS_fork, SYS_vfork},
       "programs run in jails, which spawners make"},
      {{SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
        SYS_pidfd_getfd, SYS_process_madvise},
       "other processes' memory and descriptors"},
      {{SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree,
        SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
        SYS_mount_setattr, SYS_unshare, SYS_setns, SYS_sethostname,
        SYS_setdomainname},
       "mounts and namespaces"},
      {{SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid,
        SYS_setresgid, SYS_setgroups, SYS_setfsuid, SYS_setfsgid, SYS_capset,
        SYS_seccomp, SYS_personality},
       "rights are given up by now"},
      {{SYS_bpf, SYS_perf_event_open, SYS_io_uring_setup, SYS_io_uring_enter,
        SYS_io_uring_register, SYS_userfaultfd, SYS_add_key, SYS_request_key,
        SYS_keyctl, SYS_fanotify_init, SYS_fanotify_mark, kMemfdSecret},
       "large parts of the kernel that a server has no need of"},
      {{SYS_init_module,
        SYS_finit_module,
        SYS_delete_module,
        SYS_kexec_load,
        SYS_kexec_file_load,
        SYS_reboot,
        SYS_swapon,
        SYS_swapoff,
        SYS_acct,
        SYS_quotactl,
        SYS_quotactl_fd,
        SYS_syslog,
        SYS_vhangup,
        SYS_iopl,
        SYS_ioperm,
        SYS_modify_ldt,
        SYS_uselib,
        SYS_nfsservctl,
        SYS_lookup_dcookie,
        SYS_settimeofday,
        SYS_clock_settime,
        SYS_clock_adjtime,
        SYS_adjtimex},
       "the machine as a whole"},
      {{SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_mknod, SYS_mknodat},
       "files other than by their paths, and devices"},
      {{SYS_shmget, SYS_shmat, SYS_shmctl, SYS_shmdt, SYS_semget, SYS_semop,
        SYS_semctl, SYS_semtimedop, SYS_msgget, SYS_msgsnd, SYS_msgrcv,
        SYS_msgctl, SYS_mq_open, SYS_mq_unlink, SYS_migrate_pages,
        SYS_move_pages, SYS_mbind, SYS_set_mempolicy},
       "memory and queues of System V and POSIX, and its placement"}};
  return *refused;
}

Rule Make(int call, int error, const char* reason,
          std::vector<Test> tests = {}) {
  return {.syscall = "",
          .number = call,
          .error = error,
          .tests = std::move(tests),
          .reason = reason,
          .set = "server"};
}

}  // namespace

absl::StatusOr<BpfProgram> MakeServerFilter() {
  std::map<int, const char*> refused;
  for (const Refused& group : AllRefused()) {
    for (const int call : group.calls) refused[call] = group.reason;
  }
  std::vector<Rule> rules;
  const auto add = [&](int call) {
    if (const auto found = refused.find(call); found != refused.end()) {
      rules.push_back(Make(call, EPERM, found->second));
    } else if (call == SYS_clone) {
      rules.push_back(Make(call, 0, "threads", {MakesThread()}));
      rules.push_back(Make(call, EPERM, "no processes"));
    } else if (call == SYS_clone3) {
      // glibc then uses clone(2), whose flags a filter can examine.
      rules.push_back(Make(call, ENOSYS, "its flags are in memory"));
    } else if (call == SYS_socket) {
      for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK}) {
        rules.push_back(
            Make(call, 0, "clients, metrics, what the kernel tells of sockets",
                 {ArgumentEquals(0, static_cast<uint64_t>(family))}));
      }
      rules.push_back(Make(call, EAFNOSUPPORT, "no others"));
    } else {
      rules.push_back(Make(call, 0, "what is not refused"));
    }
  };
  for (int call = 0; call <= kLastOldCall; ++call) add(call);
  for (int call = kFirstNew; call <= kLastNew; ++call) add(call);
  return CompileRules(rules);
}

}  // namespace sandglass::policy
