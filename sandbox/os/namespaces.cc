#include "sandbox/os/namespaces.h"

#include <sched.h>

namespace sandglass::os {

static_assert(kNewMount == CLONE_NEWNS && kNewCgroup == CLONE_NEWCGROUP &&
              kNewUts == CLONE_NEWUTS && kNewIpc == CLONE_NEWIPC &&
              kNewUser == CLONE_NEWUSER && kNewPid == CLONE_NEWPID &&
              kNewNetwork == CLONE_NEWNET);

bool Unshare(uint64_t namespaces) {
  return ::unshare(static_cast<int>(namespaces)) == 0;
}

bool EnterNetworkNamespace(const Fd& network) {
  return ::setns(network.get(), CLONE_NEWNET) == 0;
}

bool JoinNamespaces(const Fd& pidfd, uint64_t namespaces) {
  return ::setns(pidfd.get(), static_cast<int>(namespaces)) == 0;
}

}  // namespace sandglass::os
