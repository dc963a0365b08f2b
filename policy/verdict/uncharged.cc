#include "policy/verdict/uncharged.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "policy/text/units.h"

namespace sandglass::policy {

namespace {

struct UnchargedRule {
  const char* rule;
  const char* held;  // "…" of "was stopped because … 17 MiB of kernel memory"
  uint64_t max;      // bytes
};

UnchargedRule RuleFor(KillReason reason) {
  switch (reason) {
    case KillReason::kBacklog:
      return {"tcp-backlog", "TCP connections that it had not accepted held",
              kMaxBacklogBytes};
    case KillReason::kLocks:
      return {"record-locks", "its locks on files held", kMaxRecordLockBytes};
    default:
      return {"netlink-memory", "its netlink sockets held", kMaxNetlinkBytes};
  }
}

}  // namespace

std::optional<Excess> FindExcess(const UnchargedMemory& memory) {
  for (const auto& [reason, bytes] :
       {std::pair(KillReason::kNetlink, memory.netlink_bytes),
        std::pair(KillReason::kBacklog, memory.backlog_bytes),
        std::pair(KillReason::kLocks, memory.lock_bytes)}) {
    if (bytes > RuleFor(reason).max) return Excess{reason, bytes};
  }
  return std::nullopt;
}

void DecideUncharged(const Kill& kill, const char* whole, Verdict& verdict) {
  const UnchargedRule rule = RuleFor(kill.reason);
  const uint64_t bytes = kill.measured > 0 ? kill.measured : rule.max;
  verdict.outcome = Outcome::kMemoryLimit;
  verdict.rule = rule.rule;
  verdict.limit = LimitReading{LimitKind::kMemory, rule.max, bytes};
  verdict.explanation = absl::StrCat(
      whole, " was stopped because ", rule.held, " ", FormatBytes(bytes),
      " of kernel memory, which the memory limit doesn't cover: they may "
      "hold ",
      FormatBytes(rule.max), ".");
}

}  // namespace sandglass::policy
