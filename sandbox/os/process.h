#ifndef SANDGLASS_SANDBOX_OS_PROCESS_H_
#define SANDGLASS_SANDBOX_OS_PROCESS_H_

#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "sandbox/os/fd.h"

namespace sandglass::os {

// CLONE_VFORK: the caller is suspended until the child calls exec or ends.
inline constexpr uint64_t kVfork = 0x00004000;
// CLONE_PARENT: the child becomes a sibling of the caller. The caller's parent
// reaps it, and gets the same signal at its end as at the caller's (exit_signal
// has to be 0).
inline constexpr uint64_t kSibling = 0x00008000;

struct CloneOptions {
  uint64_t flags = 0;    // kNew… of os/namespaces.h, kVfork, kSibling
  int cgroup_fd = -1;    // v2 directory in which the child starts, or -1
  int* pidfd = nullptr;  // receives an owned pidfd (close-on-exec)
  int exit_signal = -1;  // -1: SIGCHLD
  // Where libc caches the thread's id, see ThreadIdCache; or nullptr.
  pid_t* thread_id = nullptr;
};

// clone3(2) with the semantics of fork(2). Returns the pid in the parent, 0 in
// the child, and -1 with errno set on failure.
// Preconditions: the caller is single-threaded, or the child only makes
// async-signal-safe calls until exec. The thread id that glibc caches is
// updated in the child only through `thread_id`; without it the child must not
// use pthread_* before exec.
pid_t Clone3(const CloneOptions& options);

// The place where glibc caches the calling thread's id: the kernel writes the
// id there when the thread is made and clears it when the thread ends
// (prctl(2), PR_GET_TID_ADDRESS; needs a kernel with
// CONFIG_CHECKPOINT_RESTORE). Returns nullptr and sets errno on failure.
pid_t* ThreadIdCache();

// The time of CLOCK_MONOTONIC in nanoseconds.
int64_t MonotonicNanos();

// pidfd_open(2).
Fd PidfdOpen(pid_t pid);
// pidfd_send_signal(2). Returns false and sets errno on failure.
bool PidfdSendSignal(const Fd& pidfd, int signal);

// sigprocmask(2); `how` is SIG_BLOCK, SIG_UNBLOCK or SIG_SETMASK. Returns false
// and sets errno on failure.
// Preconditions: single-threaded.
bool ChangeSignalMask(int how, const sigset_t& mask);

// From now on SIGCHLD only reports children that have ended, no longer children
// that stop or continue: a child could do that as often as it likes.
void IgnoreStoppedChildren();

// Returns true when a status that waitpid(2) gave says that the child stopped,
// not that it ended, and then lets the child continue. Where its filter allows
// it, a child can make its parent its tracer (PTRACE_TRACEME); from then on it
// stops at each signal until the parent lets it go. This function lets it go
// for good, and delivers the signal that stopped it.
bool LetGoIfStopped(pid_t pid, int wait_status);

// Gives every signal its default action and unblocks all: exec keeps ignored
// signals ignored and blocked ones blocked.
// Preconditions: single-threaded.
void ResetSignals();

// close_range(2) with both ends included. An empty range is allowed.
bool CloseRange(int first, int last);
// The same for all descriptors from `first` on.
bool CloseFrom(int first);
// Closes all descriptors from 3 on but these, which are in ascending order.
bool CloseAllBut(absl::Span<const int> sorted);

// The number of threads of this process, from /proc/self/task; -1 when it can't
// be found out.
int ThreadCount();

// Executes the file behind `fd` with execveat(2).
int ExecFd(int fd, char* const argv[], char* const envp[]);

// Asks the kernel to send this process `signal` when the thread that started it
// ends (prctl(2), PR_SET_PDEATHSIG). Executing a set-user-id file or changing
// ids cancels that. When the parent is dead already, this goes unnoticed.
// Returns false and sets errno on failure.
bool SignalOnParentDeath(int signal);

// Asks the kernel to kill this process (SIGKILL) when the thread that started
// it ends. `parent` is what getppid(2) returned earlier. A change of ids
// cancels the request, so a process that gives up its rights must make it again
// afterwards. Returns false and sets errno on failure; ESRCH means that the
// parent is dead already.
bool DieWithParent(pid_t parent);

// Sets what /proc/self/cmdline, and so ps(1), shows: the text in `title`, up to
// its first NUL. /proc/self/environ is empty from then on. Both hold for
// children too. The last byte of `title` must never become NUL: it tells the
// kernel that the arguments were replaced (setproctitle(3bsd); prctl(2),
// PR_SET_MM_MAP, which needs a kernel with CONFIG_CHECKPOINT_RESTORE). `title`
// must live as long as the process. Returns false and sets errno on failure.
bool UseTitle(const char* title, size_t size);

// Gives the caller its own copies of the pages that hold any byte of this range
// now, as a write to each of them would (madvise(2), MADV_POPULATE_WRITE, Linux
// 5.14). Where that fails, each page is copied later, when it is first written
// to.
void OwnPages(void* from, void* to);

// Sets the calling thread's name as ps(1) shows it, cut to 15 bytes. Returns
// false and sets errno on failure.
bool SetProcessName(const char* name);
// Writes the calling thread's name to `name`, including the NUL.
bool GetProcessName(char (&name)[16]);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_PROCESS_H_
