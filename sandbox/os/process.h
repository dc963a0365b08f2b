#ifndef SANDGLASS_SANDBOX_OS_PROCESS_H_
#define SANDGLASS_SANDBOX_OS_PROCESS_H_

#include <signal.h>
#include <sys/types.h>

#include <cstdint>

#include "absl/status/status.h"
#include "sandbox/os/fd.h"

namespace sandglass::os {

// CLONE_VFORK: the caller sleeps until the child's exec or end.
inline constexpr uint64_t kVfork = 0x00004000;

struct CloneOptions {
  uint64_t flags = 0;    // kNew… of os/namespaces.h, kVfork
  int cgroup_fd = -1;    // v2 directory to be born in, or -1
  int* pidfd = nullptr;  // receives an owned pidfd (close-on-exec)
  int exit_signal = -1;  // -1: SIGCHLD
};

// clone3(2) with fork semantics. Returns the pid in the parent, 0 in the child,
// -1 with errno on failure.
// Preconditions: the caller is single-threaded, or the child only makes
// async-signal-safe calls until exec. glibc's cached tid is not updated in the
// child: it must not use pthread_* before exec.
pid_t Clone3(const CloneOptions& options);

// CLOCK_MONOTONIC in nanoseconds.
int64_t MonotonicNanos();

// pidfd_open(2).
Fd PidfdOpen(pid_t pid);
// pidfd_send_signal(2); false with errno.
bool PidfdSendSignal(const Fd& pidfd, int signal);

// sigprocmask(2); `how` is SIG_BLOCK, SIG_UNBLOCK or SIG_SETMASK. False with
// errno.
// Preconditions: single-threaded.
bool ChangeSignalMask(int how, const sigset_t& mask);

// close_range(2), both ends included; an empty range is fine.
bool CloseRange(int first, int last);
// The same for everything from `first` up.
bool CloseFrom(int first);

// Number of this process's threads, by /proc/self/task; -1 when unknown.
int ThreadCount();

// execveat(2) of the file behind `fd`.
int ExecFd(int fd, char* const argv[], char* const envp[]);

// The kernel sends this process `signal` when the thread that started it ends;
// an exec of a set-user-id file or a change of ids takes that back (prctl(2),
// PR_SET_PDEATHSIG). A parent that is dead already goes unnoticed. False with
// errno.
bool SignalOnParentDeath(int signal);

// The calling thread's name as ps(1) shows it, cut to 15 bytes. False with
// errno.
bool SetProcessName(const char* name);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_PROCESS_H_
