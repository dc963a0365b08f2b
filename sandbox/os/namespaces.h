#ifndef SANDGLASS_SANDBOX_OS_NAMESPACES_H_
#define SANDGLASS_SANDBOX_OS_NAMESPACES_H_

#include <cstdint>

#include "sandbox/os/fd.h"

namespace sandglass::os {

// Kinds of namespaces (namespaces(7)), to be combined with |: for a child in
// CloneOptions::flags, for the calling process in Unshare. The values are those
// of CLONE_NEW*.
inline constexpr uint64_t kNewMount = 0x00020000;
inline constexpr uint64_t kNewCgroup = 0x02000000;
inline constexpr uint64_t kNewUts = 0x04000000;
inline constexpr uint64_t kNewIpc = 0x08000000;
inline constexpr uint64_t kNewUser = 0x10000000;
inline constexpr uint64_t kNewPid = 0x20000000;
inline constexpr uint64_t kNewNetwork = 0x40000000;

// unshare(2): moves the caller into new namespaces of these kinds (for kNewPid,
// only its later children). Returns false and sets errno on failure.
// Preconditions: CAP_SYS_ADMIN, unless kNewUser is among the kinds. In a
// process with several threads, only the calling thread moves.
bool Unshare(uint64_t namespaces);

// setns(2) into a network namespace, given a descriptor of its file in
// /proc/PID/ns. Returns false and sets errno on failure; EINVAL means that the
// file is of another kind.
// Preconditions: CAP_SYS_ADMIN here and in the user namespace that owns the
// network namespace. Only the calling thread moves.
bool EnterNetworkNamespace(const Fd& network);

// setns(2) into the namespaces of these kinds that the process behind `pidfd`
// has (for kNewPid later children go there, and the caller stays). In a user
// namespace that it joins, the caller then holds every capability. Returns
// false and sets errno on failure.
// Preconditions: single-threaded; CAP_SYS_ADMIN in the user namespaces that own
// them. Linux 5.8.
bool JoinNamespaces(const Fd& pidfd, uint64_t namespaces);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_NAMESPACES_H_
