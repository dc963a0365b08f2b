#ifndef SANDGLASS_SANDBOX_OS_NAMESPACES_H_
#define SANDGLASS_SANDBOX_OS_NAMESPACES_H_

#include <cstdint>

#include "sandbox/os/fd.h"

namespace sandglass::os {

// Kinds of namespaces (namespaces(7)), to be or'ed: in CloneOptions::flags for
// a child, in Unshare for the calling process. The values are CLONE_NEW*.
inline constexpr uint64_t kNewMount = 0x00020000;
inline constexpr uint64_t kNewCgroup = 0x02000000;
inline constexpr uint64_t kNewUts = 0x04000000;
inline constexpr uint64_t kNewIpc = 0x08000000;
inline constexpr uint64_t kNewUser = 0x10000000;
inline constexpr uint64_t kNewPid = 0x20000000;
inline constexpr uint64_t kNewNetwork = 0x40000000;

// unshare(2): the caller gets new namespaces of these kinds (kNewPid: its later
// children do). False with errno.
// Preconditions: CAP_SYS_ADMIN, unless kNewUser is among them. Of a process
// with more threads only the calling one moves.
bool Unshare(uint64_t namespaces);

// setns(2) into a network namespace, by a descriptor of its file in
// /proc/PID/ns. False with errno; EINVAL: of another kind.
// Preconditions: CAP_SYS_ADMIN here and in the owner of the namespace. Only the
// calling thread moves.
bool EnterNetworkNamespace(const Fd& network);

// setns(2) into those namespaces of the process behind `pidfd` that are named
// (kNewPid: later children go there, the caller stays). The caller then holds
// every capability in a user namespace that it joins. False with errno.
// Preconditions: single-threaded; CAP_SYS_ADMIN in their owners. Linux 5.8.
bool JoinNamespaces(const Fd& pidfd, uint64_t namespaces);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_NAMESPACES_H_
