#include "policy/uncharged.h"

#include <optional>
#include <utility>

namespace sandglass::policy {

UnchargedRule RuleFor(KillReason reason) {
  switch (reason) {
    case KillReason::kBacklog:
      return {"tcp-backlog", "TCP connections that it had not accepted held",
              kMostBacklogBytes};
    case KillReason::kLocks:
      return {"record-locks", "its locks on files held", kMostRecordLockBytes};
    default:
      return {"netlink-memory", "its netlink sockets held", kMostNetlinkBytes};
  }
}

std::optional<Excess> FindExcess(const UnchargedMemory& memory) {
  for (const auto& [reason, bytes] :
       {std::pair(KillReason::kNetlink, memory.netlink_bytes),
        std::pair(KillReason::kBacklog, memory.backlog_bytes),
        std::pair(KillReason::kLocks, memory.lock_bytes)}) {
    if (bytes > RuleFor(reason).most) return Excess{reason, bytes};
  }
  return std::nullopt;
}

}  // namespace sandglass::policy
