// What commands hold of what all callers share, and how room for more is made.
#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/exec/exec_table.h"

namespace sandglass::server {

void ExecTable::DropOldestEnded(Commands& commands) {
  const auto oldest = commands.by_number.find(commands.ended.front());
  commands.ended.pop_front();
  if (oldest == commands.by_number.end()) return;
  commands.by_id.erase(oldest->second->plan().exec_id);
  commands.by_number.erase(oldest);
}

void ExecTable::MakeRoom(Commands& commands) {
  while (commands.kept->full() && !commands.ended.empty()) {
    DropOldestEnded(commands);
  }
  // To make room for new output, the oldest commands in the same caller's other
  // sessions are dropped, too. Those of other callers stay.
  for (auto& [session_id, others] : sessions_) {
    if (others.kept_of_owner != commands.kept_of_owner) continue;
    while (commands.kept_of_owner->full() && !others.ended.empty()) {
      DropOldestEnded(others);
    }
  }
}

absl::Status ExecTable::CheckTenantRoom(const Identity& owner) const {
  const std::shared_ptr<const PolicySet> policy = parts_.policy->Get();
  const policy::Tenant* tenant = policy->tenants()->Find(owner.tenant);
  const auto running = running_of_tenant_.find(owner.tenant);
  if (tenant == nullptr) return absl::OkStatus();
  if (running != running_of_tenant_.end() &&
      running->second >= tenant->ceilings.execs) {
    return TenantCeiling(owner.tenant, "execs", running->second,
                         tenant->ceilings.execs, kRetryExecAfter);
  }
  return parts_.runs != nullptr ? parts_.runs->BudgetLeft(owner.tenant)
                                : absl::OkStatus();
}

absl::Status ExecTable::CheckStdinRoom(const Identity& owner, size_t bytes) {
  const auto share = stdin_waiting_->ShareOf(owner.name);
  if (bytes == 0 || !share->full()) return absl::OkStatus();
  return TooManyExecs(
      absl::StrCat("commands of ", owner.name,
                   " have too much input that they don't read: ", share->used(),
                   " of ", stdin_waiting_->used(),
                   " bytes that the server holds"),
      kRetryExecAfter);
}

}  // namespace sandglass::server
