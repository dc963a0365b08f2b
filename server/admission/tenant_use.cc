#include "server/admission/tenant_use.h"

namespace sandglass::server {
namespace {

bool Fits(uint64_t has, uint64_t more, uint64_t most) {
  return has <= most && more <= most - has;
}

}  // namespace

void TenantUse::DropIfEmpty(const std::string& tenant) {
  const auto found = uses_.find(tenant);
  if (found->second.waiting == 0 && found->second.running == 0) {
    uses_.erase(found);
  }
}

void TenantUse::Wait(const std::string& tenant) {
  if (first_.empty()) first_ = tenant;
  several_ = several_ || tenant != first_;
  ++uses_[tenant].waiting;
}

void TenantUse::StopWaiting(const std::string& tenant) {
  --uses_[tenant].waiting;
  DropIfEmpty(tenant);
}

void TenantUse::Start(const std::string& tenant, const RunSize& size) {
  Use& use = uses_[tenant];
  ++use.running;
  use.size.memory_bytes += size.memory_bytes;
  use.size.cpu_millis += size.cpu_millis;
}

void TenantUse::End(const std::string& tenant, const RunSize& size) {
  Use& use = uses_[tenant];
  --use.running;
  use.size.memory_bytes -= size.memory_bytes;
  use.size.cpu_millis -= size.cpu_millis;
  DropIfEmpty(tenant);
}

TenantUse::Use TenantUse::Get(const std::string& tenant) const {
  const auto found = uses_.find(tenant);
  return found == uses_.end() ? Use() : found->second;
}

bool TenantUse::MayStart(const policy::Tenant& tenant,
                         const RunSize& size) const {
  const Use use = Get(tenant.name);
  const policy::TenantCeilings& most = tenant.ceilings;
  return Fits(use.running, 1, most.running) &&
         Fits(use.size.memory_bytes, size.memory_bytes, most.memory_bytes) &&
         Fits(use.size.cpu_millis, size.cpu_millis, most.cpu_millis);
}

std::optional<CeilingReached> TenantUse::WhyNotWait(
    const policy::Tenant& tenant, const RunSize& size, bool& never) const {
  const policy::TenantCeilings& most = tenant.ceilings;
  never = true;
  if (size.memory_bytes > most.memory_bytes) {
    return CeilingReached{"memory", 0, size.memory_bytes, most.memory_bytes};
  }
  if (size.cpu_millis > most.cpu_millis) {
    return CeilingReached{"cpu_millis", 0, size.cpu_millis, most.cpu_millis};
  }
  never = false;
  const uint64_t waiting = Get(tenant.name).waiting;
  if (Fits(waiting, 1, most.queued)) return std::nullopt;
  return CeilingReached{"queued", waiting, 1, most.queued};
}

}  // namespace sandglass::server
