#include "tests/security/posture/start_watch.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/host/process.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kPause = absl::Microseconds(200);
constexpr long kLandlockRestrictSelf = 446;

// Calls that look up a path, and which argument has it.
struct PathCall {
  long number;
  const char* name;
  int argument;
};
constexpr PathCall kPathCalls[] = {
    {SYS_open, "open", 0},
    {SYS_openat, "openat", 1},
    {SYS_openat2, "openat2", 1},
    {SYS_creat, "creat", 0},
    {SYS_chdir, "chdir", 0},
    {SYS_chroot, "chroot", 0},
    {SYS_execve, "execve", 0},
    {SYS_execveat, "execveat", 1},
    {SYS_stat, "stat", 0},
    {SYS_lstat, "lstat", 0},
    {SYS_newfstatat, "newfstatat", 1},
    {SYS_statx, "statx", 1},
    {SYS_access, "access", 0},
    {SYS_faccessat, "faccessat", 1},
    {SYS_faccessat2, "faccessat2", 1},
    {SYS_readlink, "readlink", 0},
    {SYS_readlinkat, "readlinkat", 1},
    {SYS_mkdir, "mkdir", 0},
    {SYS_mkdirat, "mkdirat", 1},
    {SYS_unlink, "unlink", 0},
    {SYS_unlinkat, "unlinkat", 1},
    {SYS_symlink, "symlink", 1},
    {SYS_symlinkat, "symlinkat", 2},
    {SYS_chmod, "chmod", 0},
    {SYS_fchmodat, "fchmodat", 1},
    {SYS_chown, "chown", 0},
    {SYS_fchownat, "fchownat", 1},
    {SYS_truncate, "truncate", 0},
    {SYS_statfs, "statfs", 0},
};

// "" where it can't be read.
std::string TextOf(pid_t pid, uint64_t address) {
  std::string text;
  char buffer[PATH_MAX];
  struct iovec to = {buffer, sizeof(buffer)};
  // What lies behind the text may not be mapped: up to the page's end first.
  constexpr uint64_t kPage = 4096;
  size_t size = kPage - address % kPage;
  while (text.size() < PATH_MAX) {
    to.iov_len = size;
    // Of the other process. NOLINTNEXTLINE(performance-no-int-to-ptr)
    struct iovec from = {reinterpret_cast<void*>(address + text.size()), size};
    const ssize_t got = ::process_vm_readv(pid, &to, 1, &from, 1, 0);
    if (got <= 0) break;
    const std::string_view piece(buffer, static_cast<size_t>(got));
    const size_t end = piece.find('\0');
    text.append(piece.substr(0, end));
    if (end != std::string_view::npos) break;
    size = kPage;
    if (size > sizeof(buffer)) size = sizeof(buffer);
  }
  return text;
}

void TakeFiles(pid_t pid, PathLookup& lookup) {
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(absl::StrCat("/proc/", pid, "/fd"), error)) {
    int number = -1;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &number)) continue;
    const std::string target = fs::read_symlink(entry.path(), error).string();
    lookup.files[number] = target;
    struct stat info = {};
    if (::stat(entry.path().c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      lookup.directories[number] = target;
    }
  }
}

}  // namespace

std::string Describe(const PathLookup& lookup) {
  const auto name = [](std::string* out, const auto& file) {
    absl::StrAppend(out, file.first, "=", file.second);
  };
  return absl::StrCat("pid ", lookup.pid, ": ", lookup.call, "(\"", lookup.path,
                      "\"), Seccomp ", lookup.seccomp, ", NoNewPrivs ",
                      lookup.no_new_privs, ", CapEff ", lookup.capabilities,
                      ", Uid ", lookup.uids, ", Landlock ",
                      lookup.restricted_by_landlock ? "yes" : "no", ", files ",
                      absl::StrJoin(lookup.files, " ", name), ", directories ",
                      absl::StrJoin(lookup.directories, " ", name));
}

StartWatch::StartWatch(pid_t parent)
    : thread_([this, parent] { Loop(parent); }) {
  while (!tried_) absl::SleepFor(kPause);
}

StartWatch::~StartWatch() {
  done_ = true;
  thread_.join();
}

std::vector<PathLookup> StartWatch::lookups() const {
  absl::MutexLock lock(&mutex_);
  return lookups_;
}

void StartWatch::Loop(pid_t parent) {
  // One thread for all: a tracer is a thread.
  parent_ = parent;
  constexpr long kOptions = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                            PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
                            PTRACE_O_TRACESYSGOOD;
  attached_ = ::ptrace(PTRACE_SEIZE, parent, nullptr, kOptions) == 0;
  tried_ = true;
  if (!attached_) return;
  while (!done_) {
    std::vector<pid_t> watched = {parent};
    for (const auto& [pid, child] : children_) watched.push_back(pid);
    bool any = false;
    for (const pid_t pid : watched) {
      int status = 0;
      const pid_t got = ::waitpid(pid, &status, __WALL | WNOHANG);
      if (got == pid) {
        any = true;
        if (!WIFSTOPPED(status) || !Stopped(pid, status)) children_.erase(pid);
      } else if (got < 0 && errno == ECHILD) {
        children_.erase(pid);
      }
    }
    if (!any) absl::SleepFor(kPause);
  }
  std::vector<pid_t> watched = {parent};
  for (const auto& [pid, child] : children_) watched.push_back(pid);
  for (const pid_t pid : watched) {
    int status = 0;
    if (::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) == 0 &&
        ::waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
      ::ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    }
  }
}

void StartWatch::Adopt(pid_t pid) { children_[pid]; }

bool StartWatch::Stopped(pid_t pid, int status) {
  const int signal = WSTOPSIG(status);
  const int event = status >> 16;
  if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
      event == PTRACE_EVENT_CLONE) {
    unsigned long born = 0;
    if (pid == parent_ &&
        ::ptrace(PTRACE_GETEVENTMSG, pid, nullptr, &born) == 0) {
      Adopt(static_cast<pid_t>(born));
    }
  } else if (event == PTRACE_EVENT_EXEC && pid != parent_) {
    // It has become something else, which this watch is not about.
    ::ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    return false;
  }
  const bool of_call = signal == (SIGTRAP | 0x80);
  if (pid != parent_ && of_call && !EntersCall(pid, children_[pid])) {
    ::ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    return false;
  }
  const bool of_tracing = of_call || event != 0;
  const long with = of_tracing ? 0 : signal;
  // Of the parent only its children are of interest.
  const auto how = pid == parent_ ? PTRACE_CONT : PTRACE_SYSCALL;
  return ::ptrace(how, pid, nullptr, with) == 0;
}

bool StartWatch::EntersCall(pid_t pid, Child& child) {
  struct __ptrace_syscall_info info = {};
  if (::ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0 ||
      info.op != PTRACE_SYSCALL_INFO_ENTRY) {
    return true;
  }
  const auto number = static_cast<long>(info.entry.nr);
  if (number == kLandlockRestrictSelf) child.restricted_by_landlock = true;
  if (number == SYS_setns) child.joined_namespaces = true;
  // It serves from here on.
  if (number == SYS_recvmsg) return false;
  for (const PathCall& call : kPathCalls) {
    if (call.number != number) continue;
    PathLookup lookup;
    lookup.pid = pid;
    lookup.call = call.name;
    lookup.path = TextOf(pid, info.entry.args[call.argument]);
    // Of an open file, as fstat(3) asks.
    if (lookup.path.empty()) continue;
    std::map<std::string, std::string> status = StatusOf(pid);
    lookup.seccomp = status["Seccomp"];
    lookup.no_new_privs = status["NoNewPrivs"];
    lookup.capabilities = status["CapEff"];
    lookup.uids = status["Uid"];
    lookup.restricted_by_landlock = child.restricted_by_landlock;
    lookup.joined_namespaces = child.joined_namespaces;
    TakeFiles(pid, lookup);
    absl::MutexLock lock(&mutex_);
    lookups_.push_back(std::move(lookup));
  }
  return true;
}

}  // namespace sandglass::testing
