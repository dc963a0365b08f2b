#include "server/session/disk_budget.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/base/errors.h"
#include "server/base/strings.h"
#include "server/identity/identity.h"

namespace sandglass::server {

std::shared_ptr<DiskBudget> DiskBudget::ShareOf(const std::string& caller) {
  absl::MutexLock lock(&mutex_);
  if (auto known = shares_[caller].lock()) return known;
  std::erase_if(shares_, [](const auto& of) { return of.second.expired(); });
  std::shared_ptr<Tenant> tenant;
  if (tenant_most_) {
    const std::string name(TenantOf(caller));
    tenant = tenants_[name].lock();
    if (tenant == nullptr) {
      std::erase_if(tenants_,
                    [](const auto& of) { return of.second.expired(); });
      tenant = std::make_shared<Tenant>();
      tenant->name = name;
      tenants_[name] = tenant;
    }
  }
  std::shared_ptr<DiskBudget> share(
      new DiskBudget(shared_from_this(), std::move(tenant)));
  shares_[caller] = share;
  return share;
}

uint64_t DiskBudget::TenantMax() const {
  return all_->tenant_most_(tenant_->name);
}

bool DiskBudget::HasRoom(uint64_t own, uint64_t all, uint64_t bytes) const {
  if (all > max_) return false;
  // The right side of the comparison is what was left before these bytes were
  // added.
  return all <= max_ - max_ / 4 || own <= max_ - all + bytes;
}

bool DiskBudget::Acquire(uint64_t bytes) {
  const uint64_t own = used_.fetch_add(bytes) + bytes;
  bool has_room =
      all_ == nullptr
          ? own <= max_
          : HasRoom(own, all_->used_.fetch_add(bytes) + bytes, bytes);
  if (tenant_ != nullptr && (tenant_->used += bytes) > TenantMax()) {
    has_room = false;
  }
  if (!has_room) Release(bytes);
  return has_room;
}

void DiskBudget::Force(uint64_t bytes) {
  used_ += bytes;
  if (all_ != nullptr) all_->used_ += bytes;
  if (tenant_ != nullptr) tenant_->used += bytes;
}

void DiskBudget::Release(uint64_t bytes) {
  used_ -= bytes;
  if (all_ != nullptr) all_->used_ -= bytes;
  if (tenant_ != nullptr) tenant_->used -= bytes;
}

bool DiskBudget::full() const {
  if (tenant_ != nullptr && tenant_->used >= TenantMax()) return true;
  return all_ == nullptr ? used_ >= max_
                         : !HasRoom(used_ + 1, all_->used_ + 1, 1);
}

std::string DiskBudget::Describe() const {
  const uint64_t all = all_ == nullptr ? used_ : all_->used_;
  std::string text = absl::StrCat("all together may take ", max_,
                                  " bytes, and have taken ", all);
  if (all_ != nullptr) {
    absl::StrAppend(&text, ", ", used_.load(),
                    " of them this caller's, which of the last quarter has no "
                    "more than what is left");
  }
  return text;
}

absl::Status DiskBudget::Refusal(std::string_view whole, uint64_t bytes) const {
  if (tenant_ != nullptr && tenant_->used + bytes > TenantMax()) {
    return TenantCeiling(tenant_->name, "durable_bytes", tenant_->used,
                         TenantMax(), absl::InfiniteDuration());
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("of ", AbslView(whole), " ", Describe()));
}

}  // namespace sandglass::server
