#include "sandbox/os/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace sandglass::os {

static_assert(kVfork == CLONE_VFORK && kSibling == CLONE_PARENT);

pid_t Clone3(const CloneOptions& options) {
  struct clone_args args = {};
  args.flags = options.flags;
  args.exit_signal = static_cast<uint64_t>(
      options.exit_signal < 0 ? SIGCHLD : options.exit_signal);
  if (options.cgroup_fd >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<uint64_t>(options.cgroup_fd);
  }
  if (options.thread_id != nullptr) {
    args.flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
    args.child_tid = reinterpret_cast<uint64_t>(options.thread_id);
  }
  int pidfd = -1;
  if (options.pidfd != nullptr) {
    args.flags |= CLONE_PIDFD;
    args.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  }
  const long pid = ::syscall(SYS_clone3, &args, sizeof(args));
  if (pid > 0 && options.pidfd != nullptr) *options.pidfd = pidfd;
  return static_cast<pid_t>(pid);
}

pid_t* ThreadIdCache() {
  pid_t* address = nullptr;
  if (::prctl(PR_GET_TID_ADDRESS, &address, 0, 0, 0) != 0) return nullptr;
  return address;
}

int64_t MonotonicNanos() {
  struct timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

Fd PidfdOpen(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool PidfdSendSignal(const Fd& pidfd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0;
}

bool ChangeSignalMask(int how, const sigset_t& mask) {
  // Not pthread_sigmask, which must not be used after Clone3. Callers have only
  // one thread.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  return ::sigprocmask(how, &mask, nullptr) == 0;
}

void IgnoreStoppedChildren() {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  action.sa_flags = SA_NOCLDSTOP;
  ::sigaction(SIGCHLD, &action, nullptr);
}

bool LetGoIfStopped(pid_t pid, int wait_status) {
  if (!WIFSTOPPED(wait_status)) return false;
  // SIGTRAP reports an exec to the tracer; without a tracer it would not have
  // been sent, so it isn't delivered.
  const int signal = WSTOPSIG(wait_status);
  (void)::ptrace(PTRACE_DETACH, pid, nullptr, signal == SIGTRAP ? 0 : signal);
  return true;
}

void ResetSignals() {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    ::sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ChangeSignalMask(SIG_SETMASK, none);
}

bool CloseRange(int first, int last) {
  return last < first || ::syscall(SYS_close_range, first, last, 0) == 0;
}

bool CloseFrom(int first) {
  return ::syscall(SYS_close_range, first, UINT_MAX, 0) == 0;
}

bool CloseAllBut(absl::Span<const int> sorted) {
  int from = 3;
  for (const int fd : sorted) {
    if (fd > from && !CloseRange(from, fd - 1)) return false;
    from = fd + 1;
  }
  return CloseFrom(from);
}

int ThreadCount() {
  DIR* dir = ::opendir("/proc/self/task");
  if (dir == nullptr) return -1;
  int count = 0;
  // glibc's readdir is unsafe only where threads share one stream.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const struct dirent* entry = ::readdir(dir)) {
    if (entry->d_name[0] != '.') ++count;
  }
  ::closedir(dir);
  return count;
}

int ExecFd(int fd, char* const argv[], char* const envp[]) {
  return static_cast<int>(
      ::syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH));
}

bool SignalOnParentDeath(int signal) {
  return ::prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) == 0;
}

bool DieWithParent(pid_t parent) {
  if (!SignalOnParentDeath(SIGKILL)) return false;
  // The parent may have died before the request took effect.
  if (::getppid() == parent) return true;
  errno = ESRCH;
  return false;
}

bool UseTitle(const char* title, size_t size) {
  char text[2048] = {};
  const Fd file(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  if (!file.valid() || ::read(file.get(), text, sizeof(text) - 1) <= 0) {
    return false;
  }
  // proc(5): the second field is the process's name in brackets, and the name
  // may contain any character.
  const char* rest = std::strrchr(text, ')');
  uint64_t fields[52] = {};
  for (size_t i = 3; rest != nullptr && i < std::size(fields); ++i) {
    rest = std::strchr(rest, ' ');
    if (rest == nullptr) break;
    fields[i] = std::strtoull(++rest, nullptr, 10);
  }
  if (rest == nullptr) {
    errno = EPROTO;
    return false;
  }
  struct prctl_mm_map map = {};
  map.start_code = fields[26];
  map.end_code = fields[27];
  map.start_stack = fields[28];
  map.start_data = fields[45];
  map.end_data = fields[46];
  map.start_brk = fields[47];
  map.brk = reinterpret_cast<uint64_t>(::sbrk(0));
  map.arg_start = reinterpret_cast<uint64_t>(title);
  map.arg_end = map.arg_start + size;
  map.env_start = map.env_end = map.arg_end;
  map.exe_fd = UINT32_MAX;
  return ::prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) == 0;
}

void OwnPages(void* from, void* to) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t into_page = reinterpret_cast<uintptr_t>(from) & (page - 1);
  char* const first = static_cast<char*>(from) - into_page;
  (void)::madvise(first, static_cast<char*>(to) - first, MADV_POPULATE_WRITE);
}

bool GetProcessName(char (&name)[16]) {
  return ::prctl(PR_GET_NAME, name, 0, 0, 0) == 0;
}

bool SetProcessName(const char* name) {
  return ::prctl(PR_SET_NAME, name, 0, 0, 0) == 0;
}

}  // namespace sandglass::os
