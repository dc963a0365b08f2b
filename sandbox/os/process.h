#ifndef SANDGLASS_SANDBOX_OS_PROCESS_H_
#define SANDGLASS_SANDBOX_OS_PROCESS_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/status.h"
#include "sandbox/os/fd.h"

namespace sandglass::os {

struct CloneOptions {
  uint64_t flags = 0;    // CLONE_NEW*, CLONE_VFORK, CLONE_PARENT…
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

// close_range(2), both ends included; an empty range is fine.
bool CloseRange(int first, int last);
// The same for everything from `first` up.
bool CloseFrom(int first);

// Number of this process's threads, by /proc/self/task; -1 when unknown.
int ThreadCount();

// execveat(2) of the file behind `fd`.
int ExecFd(int fd, char* const argv[], char* const envp[]);

// pivot_root(2).
bool PivotRoot(const char* new_root, const char* put_old);

// Drops every capability of `keep`'s complement from permitted and effective,
// and all inheritable and ambient ones. `keep` is a bit mask by CAP_* number.
bool SetCapabilities(uint64_t keep);
// Empties the bounding set. Needs CAP_SETPCAP.
bool DropBoundingSet();

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_PROCESS_H_
