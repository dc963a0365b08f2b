#ifndef SANDGLASS_SANDBOX_OS_PROCESS_H_
#define SANDGLASS_SANDBOX_OS_PROCESS_H_

#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "sandbox/os/fd.h"

namespace sandglass::os {

// CLONE_VFORK: the caller sleeps until the child's exec or end.
inline constexpr uint64_t kVfork = 0x00004000;
// CLONE_PARENT: the child is the caller's sibling; the caller's parent reaps
// it, and hears of its end as of the caller's (exit_signal has to be 0).
inline constexpr uint64_t kSibling = 0x00008000;

struct CloneOptions {
  uint64_t flags = 0;    // kNew… of os/namespaces.h, kVfork
  int cgroup_fd = -1;    // v2 directory to be born in, or -1
  int* pidfd = nullptr;  // receives an owned pidfd (close-on-exec)
  int exit_signal = -1;  // -1: SIGCHLD
  // Where libc caches the thread's id, see ThreadIdCache; or nullptr.
  pid_t* thread_id = nullptr;
};

// clone3(2) with fork semantics. Returns the pid in the parent, 0 in the child,
// -1 with errno on failure.
// Preconditions: the caller is single-threaded, or the child only makes
// async-signal-safe calls until exec. glibc's cached tid is updated in the
// child only through `thread_id`; without it the child must not use pthread_*
// before exec.
pid_t Clone3(const CloneOptions& options);

// Where the calling thread's id is written when it is made and cleared when it
// ends: glibc's own cache of it (prctl(2), PR_GET_TID_ADDRESS; a kernel with
// CONFIG_CHECKPOINT_RESTORE). nullptr with errno.
pid_t* ThreadIdCache();

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

// From here on SIGCHLD tells of children that end, and no more of those that
// stop or go on: a child can do that as often as it likes.
void HearOfEndsOnly();

// True when the status that waitpid(2) gave for a child is not an end but a
// stop. A child can make its parent its tracer (PTRACE_TRACEME) where its
// filter lets it, and then stops at each signal until the parent lets it go:
// this does so for good, with the signal that stopped it.
bool LetGoIfStopped(pid_t pid, int wait_status);

// Every signal has its default action and none is blocked: what exec leaves as
// it was.
// Preconditions: single-threaded.
void ResetSignals();

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

// The kernel kills this process (SIGKILL) when the thread that started it ends,
// if its parent still is `parent`, which is what getppid(2) said earlier. A
// change of ids takes that back, so a process that gives up its rights asks for
// it again afterwards. False with errno; that is ESRCH when the parent is dead
// already.
bool DieWithParent(pid_t parent);

// From now on /proc/self/cmdline, and so ps(1), shows the text in `title`, up
// to its first NUL, and /proc/self/environ nothing; both hold for children too.
// The last byte of `title` has to stay other than NUL: it tells the kernel that
// the arguments were replaced (setproctitle(3bsd); prctl(2), PR_SET_MM_MAP, a
// kernel with CONFIG_CHECKPOINT_RESTORE). `title` must live as long as the
// process. False with errno.
bool UseTitle(const char* title, size_t size);

// Makes the pages that hold any of these bytes the caller's own now, as writing
// to each would (madvise(2), MADV_POPULATE_WRITE, Linux 5.14). Where that
// fails they become so later, one by one.
void OwnPages(void* from, void* to);

// The calling thread's name as ps(1) shows it, cut to 15 bytes. False with
// errno.
bool SetProcessName(const char* name);
// Writes it to `name`, NUL included.
bool GetProcessName(char (&name)[16]);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_PROCESS_H_
