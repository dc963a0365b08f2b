// A static program that runs inside a jail and tries what a hostile program
// would. Prints one "name=RESULT" line per attempt; RESULT is OK or the errno's
// name. It decides nothing: the tests compare the lines with what they expect.
//
// usage: probe calls | sockets | network

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

void Report(const char* name, long result, int error) {
  const char* text = result >= 0 ? "OK" : strerrorname_np(error);
  printf("%s=%s\n", name, text == nullptr ? "?" : text);
  fflush(stdout);
}

template <typename... Args>
void Try(const char* name, long number, Args... args) {
  errno = 0;
  const long result = syscall(number, args...);
  Report(name, result, errno);
}

// A raw clone with namespace flags: the child, should there be one, ends at
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

// A system call by the 32-bit door; returns what the kernel put in eax.
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
  // i386's getpid is 20. A kernel without 32-bit support sends SIGSEGV for the
  // instruction, hence the child.
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const long result = CallI386(20);
    _exit(result >= 0 ? 0 : static_cast<int>(-result));
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    printf("i386-getpid=SIGNAL\n");
  } else {
    Report("i386-getpid", WEXITSTATUS(status) == 0 ? 0 : -1,
           WEXITSTATUS(status));
  }
}

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
  Try("kill-init", SYS_kill, 1, SIGKILL);
  Try("sethostname", SYS_sethostname, "pwned", 5);
  Try("chroot", SYS_chroot, "/workspace");
  Try("mknod-device", SYS_mknod, "/workspace/device", S_IFBLK | 0600, 0x0800);
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
  Try("modify_ldt", SYS_modify_ldt, 0, nullptr, 0);
  Try("iopl", SYS_iopl, 3);
  Try("syslog", SYS_syslog, 10, nullptr, 0);
  Try("reboot", SYS_reboot, 0, 0, 0, nullptr);
  Try("init_module", SYS_init_module, nullptr, 0, "");
  Try("kexec_load", SYS_kexec_load, 0, 0, nullptr, 0);
  Try("swapon", SYS_swapon, "/workspace/none", 0);
  Try("acct", SYS_acct, nullptr);
  Try("quotactl", SYS_quotactl, 0, nullptr, 0, nullptr);
  const timespec epoch = {};
  Try("clock_settime", SYS_clock_settime, CLOCK_REALTIME, &epoch);
  Try("fanotify_init", SYS_fanotify_init, 0, 0);
  Try("personality-no-randomize", SYS_personality, ADDR_NO_RANDOMIZE);
  sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog program = {1, &allow};
  Try("seccomp-new-listener", SYS_seccomp, SECCOMP_SET_MODE_FILTER,
      SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  char byte = 'x';
  Try("ioctl-tiocsti", SYS_ioctl, 0, TIOCSTI, &byte);
  // The kernel looks at 32 bits of the request only; so must the filter.
  Try("ioctl-tiocsti-high-bits", SYS_ioctl, 0, 0x100000000UL | TIOCSTI, &byte);
}

void TrySocket(const char* name, int family, int type, int protocol = 0) {
  errno = 0;
  const int fd = socket(family, type | SOCK_CLOEXEC, protocol);
  Report(name, fd, errno);
  if (fd >= 0) close(fd);
}

void Sockets() {
  TrySocket("unix", AF_UNIX, SOCK_STREAM);
  TrySocket("inet", AF_INET, SOCK_STREAM);
  TrySocket("inet6", AF_INET6, SOCK_DGRAM);
  TrySocket("netlink-route", AF_NETLINK, SOCK_RAW, 0);
  TrySocket("netlink-netfilter", AF_NETLINK, SOCK_RAW, 12);
  TrySocket("packet", AF_PACKET, SOCK_DGRAM);
  TrySocket("vsock", AF_VSOCK, SOCK_STREAM);
  TrySocket("alg", AF_ALG, SOCK_SEQPACKET);
  TrySocket("bluetooth", AF_BLUETOOTH, SOCK_RAW);
  TrySocket("xdp", AF_XDP, SOCK_RAW);
  TrySocket("key", AF_KEY, SOCK_RAW);
  TrySocket("tipc", AF_TIPC, SOCK_STREAM);
  TrySocket("inet-raw", AF_INET, SOCK_RAW, IPPROTO_ICMP);
  const int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  errno = 0;
  const int upper = setsockopt(tcp, SOL_TCP, TCP_ULP, "tls", 3);
  Report("tcp-ulp", upper, errno);
  close(tcp);
  int pair[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
    errno = 0;
    const ssize_t sent = send(pair[0], "x", 1, MSG_OOB);
    Report("unix-msg-oob", sent, errno);
  }
}

// Connects without ever waiting longer than two seconds.
void TryConnect(const char* name, const char* address, int port, int type) {
  sockaddr_in target = {};
  target.sin_family = AF_INET;
  target.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address, &target.sin_addr);
  const int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  errno = 0;
  int result =
      connect(fd, reinterpret_cast<sockaddr*>(&target), sizeof(target));
  if (result < 0 && errno == EINPROGRESS) {
    pollfd waiting = {fd, POLLOUT, 0};
    if (poll(&waiting, 1, 2000) <= 0) {
      printf("%s=HANGS\n", name);
      close(fd);
      return;
    }
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    result = error == 0 ? 0 : -1;
    errno = error;
  }
  Report(name, result, errno);
  close(fd);
}

void TryBind(const char* name, int port) {
  sockaddr_in target = {};
  target.sin_family = AF_INET;
  target.sin_port = htons(static_cast<uint16_t>(port));
  target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  errno = 0;
  const int result =
      bind(fd, reinterpret_cast<sockaddr*>(&target), sizeof(target));
  Report(name, result, errno);
  close(fd);
}

void Network() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    for (ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
      if (it->ifa_addr == nullptr || it->ifa_addr->sa_family != AF_INET) {
        continue;
      }
      printf("interface=%s %s\n", it->ifa_name,
             (it->ifa_flags & IFF_UP) != 0 ? "up" : "down");
    }
    freeifaddrs(list);
  }
  // The kernel numbers interfaces from 1; a second one would have a name.
  for (unsigned index = 1; index < 64; ++index) {
    char name[IF_NAMESIZE];
    if (if_indextoname(index, name) != nullptr) printf("link=%s\n", name);
  }
  TryConnect("connect-loopback", "127.0.0.1", 9, SOCK_STREAM);
  TryConnect("connect-outside", "192.0.2.1", 80, SOCK_STREAM);
  TryConnect("connect-resolver", "192.0.2.53", 53, SOCK_DGRAM);
  TryConnect("connect-metadata", "169.254.169.254", 80, SOCK_STREAM);
  TryBind("bind-high-port", 18080);
  TryBind("bind-low-port", 80);
  // Nobody in the jail may change its network.
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = {};
  strcpy(request.ifr_name, "lo");
  errno = 0;
  const int down = ioctl(fd, SIOCSIFFLAGS, &request);
  Report("set-lo-down", down, errno);
  close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  // Outside of a jail some of these attempts would do harm.
  char directory[64] = "";
  if (geteuid() == 0 || getcwd(directory, sizeof(directory)) == nullptr ||
      strcmp(directory, "/workspace") != 0) {
    fprintf(stderr, "probe: runs only in a jail, as an ordinary user\n");
    return 3;
  }
  const char* what = argc == 2 ? argv[1] : "";
  if (strcmp(what, "calls") == 0) {
    TryRights();
    TryNamespacesAndMounts();
    TryKernelInterfaces();
    TryForeignArchitectures();
    return 0;
  }
  if (strcmp(what, "sockets") == 0) {
    Sockets();
    return 0;
  }
  if (strcmp(what, "network") == 0) {
    Network();
    return 0;
  }
  fprintf(stderr, "usage: probe calls | sockets | network\n");
  return 2;
}
