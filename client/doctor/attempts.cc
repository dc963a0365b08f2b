#include "client/doctor/attempts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"

namespace sandglass::client {
namespace {

constexpr char kRights[] = "Rights";
constexpr char kSpaces[] = "Namespaces and processes";
constexpr char kFiles[] = "Files";
constexpr char kKernel[] = "Kernel";
constexpr char kNetwork[] = "Network";
constexpr char kGiven[] = "What a program is given";
constexpr char kOthers[] = "Other runs";
constexpr char kLimits[] = "Limits";

constexpr char kLayers[] = "the-layers";
constexpr char kHolds[] = "who-holds-which-rights-after-the-start";
constexpr char kRead[] = "what-a-program-can-read";

constexpr Protection kProtections[] = {
    {"no-capabilities", kRights, "no rights",
     "acting as root, over files, processes or the kernel", kHolds},
    {"no-new-privs", kRights, "no_new_privs",
     "gaining rights by setuid programs and file capabilities", kLayers},
    {"seccomp", kRights, "system call filter",
     "reaching kernel code that no program needs", kLayers},
    {"foreign-calls", kRights, "no other call numbers",
     "going around the filter as a 32-bit or x32 program", kLayers},
    {"landlock", kRights, "Landlock",
     "writing or executing where it isn't meant, should a mount be wrong",
     kLayers},
    {"own-limits", kRights, "limits stay",
     "raising its own limits or priority, and what crashes leave behind",
     kLayers},

    {"own-namespaces", kSpaces, "namespaces of its own",
     "sharing users, processes, mounts, network, queues or names with anyone",
     kLayers},
    {"no-nested-namespaces", kSpaces, "no nested namespaces",
     "regaining rights in a new namespace, which most kernel exploits need",
     kLayers},
    {"processes-hidden", kSpaces, "others' processes",
     "seeing or signalling processes of the host or of other runs", kLayers},
    {"init-closed", kSpaces, "the jail's init",
     "reading the memory, files or environment of the jail's keeper", kHolds},
    {"cgroup-root", kSpaces, "control groups",
     "seeing where the jail is in the host's tree", kLayers},

    {"read-only-image", kFiles, "read-only image",
     "changing files that the host or other runs use", kLayers},
    {"nosuid", kFiles, "no setuid mounts",
     "gaining rights by a setuid program, once more", kLayers},
    {"no-mounts", kFiles, "no mounts",
     "changing its view of files, by the old and the new calls", kLayers},
    {"file-handles", kFiles, "no file handles",
     "opening files past the jail's view", kLayers},
    {"devices", kFiles, "devices",
     "reaching disks, terminals and drivers by device files", kLayers},
    {"proc-masked", kFiles, "masked /proc",
     "reading kernel memory, keys, addresses and timers", kLayers},
    {"proc-read-only", kFiles, "read-only /proc",
     "changing kernel settings, pressing sysrq, writing to memory", kLayers},
    {"host-files", kFiles, "the host's files",
     "reading the host's accounts, logs, services and control groups", kRead},
    {"no-watching", kFiles, "no watching",
     "learning which files of the image others open", kLayers},

    {"no-tracing", kKernel, "no tracing",
     "reading or changing other processes (ptrace, process_vm)", kLayers},
    {"no-keyrings", kKernel, "no keyrings",
     "kernel keys, which belong to users and not to jails", kLayers},
    {"no-bpf-perf", kKernel, "no bpf, no perf",
     "the BPF verifier and perf events, ways in of many exploits", kLayers},
    {"no-io-uring", kKernel, "no io_uring",
     "input and output past the filter, a way in of exploits", kLayers},
    {"no-userfaultfd", kKernel, "no userfaultfd",
     "stopping the kernel midway, which wins races", kLayers},
    {"no-own-filters", kKernel, "no filters of its own",
     "putting chosen machine code into kernel memory", kLayers},
    {"no-hardware", kKernel, "no old hardware calls",
     "ports, segment descriptors, a predictable layout", kLayers},
    {"no-administration", kKernel, "no administration",
     "modules, kexec, reboot, swap, clock, kernel log, host name", kLayers},
    {"no-terminal-input", kKernel, "no terminal input",
     "typing into the terminal of whoever started the daemon", kLayers},

    {"loopback-only", kNetwork, "loopback only",
     "any traffic out: internet, name servers, cloud metadata, the host",
     kLayers},
    {"socket-families", kNetwork, "few socket families",
     "netfilter, packet, vsock, crypto and other exploited kernel code",
     kLayers},
    {"no-raw-sockets", kNetwork, "no raw sockets",
     "reading and forging packets", kLayers},
    {"no-kernel-tls", kNetwork, "no kernel TLS",
     "TCP_ULP, which exploits used over a plain loopback", kLayers},
    {"no-out-of-band", kNetwork, "no out-of-band data",
     "MSG_OOB, which exploits used on unix sockets", kLayers},

    {"descriptors", kGiven, "descriptors",
     "using files or sockets that somebody forgot to close", kHolds},
    {"environment", kGiven, "environment",
     "reading secrets of whoever started the daemon", kRead},

    {"files-apart", kOthers, "files of other runs",
     "finding another run's files in /tmp, /dev/shm, home or /workspace",
     kLayers},
    {"sockets-apart", kOthers, "sockets of other runs",
     "reaching another run's abstract sockets or loopback ports", kLayers},
    {"memory-apart", kOthers, "shared memory of other runs",
     "finding another run's System V shared memory", kLayers},

    {"memory-limit", kLimits, "memory", "taking the machine's memory", kLayers},
    {"process-limit", kLimits, "processes", "fork bombs", kLayers},
    {"cpu-limit", kLimits, "processor time", "computing without end", kLayers},
    {"wall-limit", kLimits, "wall time", "waiting without end", kLayers},
    {"output-limit", kLimits, "output", "flooding whoever reads it", kLayers},
    {"disk-limit", kLimits, "room in /tmp", "filling the disk", kLayers},
    {"file-size-limit", kLimits, "file size", "writing one huge file", kLayers},
    {"leftovers-killed", kLimits, "nothing left behind",
     "a background process that goes on after the run", kLayers},
    {"evidence", kLimits, "evidence",
     "a verdict that rests on the program's word", kHolds},
};

constexpr char kZero[] = "0000000000000000";

constexpr Attempt kSelf[] = {
    {"CapInh", kZero, "no-capabilities"},
    {"CapPrm", kZero, "no-capabilities"},
    {"CapEff", kZero, "no-capabilities"},
    {"CapBnd", kZero, "no-capabilities"},
    {"CapAmb", kZero, "no-capabilities"},
    {"user", "ordinary", "no-capabilities"},
    {"groups", "none", "no-capabilities"},
    {"NoNewPrivs", "1", "no-new-privs"},
    {"Seccomp", "2", "seccomp"},
    {"core-limit", "1", "own-limits"},
    {"landlock-domains", "some", "landlock"},
    {"other-processes", "none", "processes-hidden"},
    {"init-readable", "none", "init-closed"},
    {"own-descriptors", "none", "descriptors"},
    {"starter-descriptors", "none", "descriptors"},
    {"host-environment", "none", "environment"},
    {"cgroup-below-root", "none", "cgroup-root"},
    {"max-user-namespaces", "0", "no-nested-namespaces"},
    // Absent if the kernel is built without it.
    {"max-inotify", "0|absent", "no-watching"},
};

constexpr Attempt kFileTable[] = {
    {"write-workspace", "OK", kWork},
    {"write-tmp", "OK", kWork},
    {"write-shm", "OK", kWork},
    {"write-home", "OK", kWork},
    {"writable-places", "none", "read-only-image"},
    {"writable-mounts", "/dev/shm,/home/sandbox,/tmp,/workspace",
     "read-only-image"},
    {"setuid-mounts", "none", "nosuid"},
    {"device-nodes", "full,null,ptmx,random,tty,urandom,zero", "devices"},
    {"proc-readable", "none", "proc-masked"},
    {"proc-listed", "none", "proc-masked"},
    {"proc-writable", "none", "proc-read-only"},
    {"host-secrets", "none", "host-files"},
    {"host-places", "none", "host-files"},
    {"inotify", "ENOSYS", "no-watching"},
    {"dnotify", "EINVAL", "no-watching"},
};

constexpr Attempt kSockets[] = {
    {"unix", "OK", kWork},
    {"inet", "OK", kWork},
    {"inet6", "OK", kWork},
    {"netlink-route", "OK", kWork},
    {"netlink-netfilter", "EPROTONOSUPPORT", "socket-families"},
    {"packet", "EAFNOSUPPORT", "socket-families"},
    {"vsock", "EAFNOSUPPORT", "socket-families"},
    {"alg", "EAFNOSUPPORT", "socket-families"},
    {"bluetooth", "EAFNOSUPPORT", "socket-families"},
    {"xdp", "EAFNOSUPPORT", "socket-families"},
    {"key", "EAFNOSUPPORT", "socket-families"},
    {"tipc", "EAFNOSUPPORT", "socket-families"},
    {"inet-raw", "EPERM", "no-raw-sockets"},
    {"tcp-ulp", "EPERM", "no-kernel-tls"},
    {"unix-msg-oob", "EOPNOTSUPP", "no-out-of-band"},
};

constexpr Attempt kNetworkTable[] = {
    {"interface", "lo up", "loopback-only"},
    {"link", "lo", "loopback-only"},
    {"connect-loopback", "ECONNREFUSED", kWork},
    {"connect-outside", "ENETUNREACH", "loopback-only"},
    {"connect-resolver", "ENETUNREACH", "loopback-only"},
    {"connect-metadata", "ENETUNREACH", "loopback-only"},
    {"bind-high-port", "OK", kWork},
    {"bind-low-port", "EACCES", "loopback-only"},
    {"set-lo-down", "EPERM", "loopback-only"},
};

constexpr Attempt kCalls[] = {
    {"setuid-0", "EPERM", "no-capabilities"},
    {"setgid-0", "EPERM", "no-capabilities"},
    {"setresuid-0", "EPERM", "no-capabilities"},
    {"setgroups", "EPERM", "no-capabilities"},
    {"capset", "EPERM", "no-capabilities"},
    {"kill-init", "EPERM", "processes-hidden"},
    {"sethostname", "EPERM", "no-administration"},
    {"chroot", "EPERM", "no-mounts"},
    {"mknod-device", "EPERM", "devices"},
    {"raise-rlimit", "EPERM", "own-limits"},
    {"nice-up", "EACCES", "own-limits"},
    {"unshare-user", "EPERM", "no-nested-namespaces"},
    {"unshare-mount", "EPERM", "no-nested-namespaces"},
    {"unshare-net", "EPERM", "no-nested-namespaces"},
    {"clone-user", "EPERM", "no-nested-namespaces"},
    {"clone-net", "EPERM", "no-nested-namespaces"},
    {"clone-pid", "EPERM", "no-nested-namespaces"},
    {"clone3", "ENOSYS", "no-nested-namespaces"},
    {"setns", "EPERM", "no-nested-namespaces"},
    {"mount", "EPERM", "no-mounts"},
    {"remount-root", "EPERM", "no-mounts"},
    {"umount", "EPERM", "no-mounts"},
    {"pivot_root", "EPERM", "no-mounts"},
    {"open_tree", "EPERM", "no-mounts"},
    {"fsopen", "EPERM", "no-mounts"},
    {"move_mount", "EPERM", "no-mounts"},
    {"mount_setattr", "EPERM", "no-mounts"},
    {"open_by_handle_at", "EPERM", "file-handles"},
    {"ptrace", "EPERM", "no-tracing"},
    {"process_vm_readv", "EPERM", "no-tracing"},
    {"process_vm_writev", "EPERM", "no-tracing"},
    {"kcmp", "EPERM", "no-tracing"},
    {"pidfd_getfd", "EPERM", "no-tracing"},
    {"keyctl", "EPERM", "no-keyrings"},
    {"add_key", "EPERM", "no-keyrings"},
    {"request_key", "EPERM", "no-keyrings"},
    {"bpf", "EPERM", "no-bpf-perf"},
    {"perf_event_open", "EPERM", "no-bpf-perf"},
    {"userfaultfd", "EPERM", "no-userfaultfd"},
    {"io_uring_setup", "ENOSYS", "no-io-uring"},
    {"io_uring_enter", "ENOSYS", "no-io-uring"},
    {"io_uring_register", "ENOSYS", "no-io-uring"},
    // Absent on arm64, and so are those of foreign-calls.
    {"modify_ldt", "EPERM|absent", "no-hardware"},
    {"iopl", "EPERM|absent", "no-hardware"},
    {"personality-no-randomize", "EPERM", "no-hardware"},
    {"syslog", "EPERM", "no-administration"},
    {"reboot", "EPERM", "no-administration"},
    {"init_module", "EPERM", "no-administration"},
    {"kexec_load", "EPERM", "no-administration"},
    {"swapon", "EPERM", "no-administration"},
    {"acct", "EPERM", "no-administration"},
    {"quotactl", "EPERM", "no-administration"},
    {"clock_settime", "EPERM", "no-administration"},
    {"fanotify_init", "EPERM", "no-watching"},
    {"seccomp-new-listener", "ENOSYS", "no-own-filters"},
    {"ioctl-tiocsti", "EPERM", "no-terminal-input"},
    {"ioctl-tiocsti-high-bits", "EPERM", "no-terminal-input"},
    // A kernel without 32-bit support answers this instruction with a signal.
    {"x32-getpid", "ENOSYS|absent", "foreign-calls"},
    {"i386-getpid", "ENOSYS|SIGNAL|absent", "foreign-calls"},
};

constexpr Attempt kLook[] = {
    {"marks-files", "none", "files-apart"},
    {"marks-abstract-socket", "none", "sockets-apart"},
    {"marks-loopback", "none", "sockets-apart"},
    {"marks-shared-memory", "none", "memory-apart"},
};

}  // namespace

absl::Span<const Protection> Protections() { return kProtections; }

absl::Span<const Attempt> SelfAttempts() { return kSelf; }
absl::Span<const Attempt> FileAttempts() { return kFileTable; }
absl::Span<const Attempt> SocketAttempts() { return kSockets; }
absl::Span<const Attempt> NetworkAttempts() { return kNetworkTable; }
absl::Span<const Attempt> CallAttempts() { return kCalls; }
absl::Span<const Attempt> LookAttempts() { return kLook; }

absl::string_view LayerOf(absl::string_view protection_or_attempt) {
  static constexpr std::pair<absl::string_view, absl::string_view> kRestOn[] = {
      {"landlock", "landlock"},
      {"memory-limit", "memory-limit"},
      {"process-limit", "pids-limit"},
      {"cpu-limit", "cpu-limit"},
      // The attempt. There is no such protection: "own-limits" has others, too.
      {"core-limit", "core-limit"}};
  for (const auto& [id, layer] : kRestOn) {
    if (id == protection_or_attempt) return layer;
  }
  return "";
}

bool IsSeenFromInside(const Protection& protection) {
  for (const auto part : {SelfAttempts(), FileAttempts(), SocketAttempts(),
                          NetworkAttempts(), CallAttempts()}) {
    for (const Attempt& attempt : part) {
      if (attempt.protection == absl::string_view(protection.id)) return true;
    }
  }
  return false;
}

bool IsExpected(const Attempt& attempt, absl::string_view answer) {
  const std::vector<absl::string_view> allowed =
      absl::StrSplit(attempt.expected, '|');
  return std::find(allowed.begin(), allowed.end(), answer) != allowed.end();
}

}  // namespace sandglass::client
