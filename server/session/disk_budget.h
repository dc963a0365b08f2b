#ifndef SANDGLASS_SERVER_SESSION_DISK_BUDGET_H_
#define SANDGLASS_SERVER_SESSION_DISK_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace sandglass::server {

// The budget of what durable sessions keep, in refusals.
inline constexpr std::string_view kDurableBytes =
    "durable sessions (sessions.durable_bytes)";

// A budget of bytes, on the disk or in memory: of everything that is kept there
// together, or of one caller's part. Held by a shared_ptr. Thread-safe.
class DiskBudget : public std::enable_shared_from_this<DiskBudget> {
 public:
  explicit DiskBudget(uint64_t max) : max_(max) {}
  // One caller's part, by the rule of Shares: of the last quarter of the whole,
  // it may hold no more than what is left of that quarter.
  std::shared_ptr<DiskBudget> ShareOf(const std::string& caller)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // A tenant's callers together hold no more than `most` says for it at the
  // time. Called once, before ShareOf.
  using TenantMost = std::function<uint64_t(const std::string& tenant)>;
  void LimitTenants(TenantMost most) { tenant_most_ = std::move(most); }

  // Takes that much; returns false when there is no room for it.
  bool Acquire(uint64_t bytes);
  void Force(uint64_t bytes);
  void Release(uint64_t bytes);
  // Whether nothing more can be taken.
  bool full() const;
  uint64_t used() const { return used_; }
  uint64_t max() const { return max_; }
  // How much there may be, and how much has been taken.
  std::string Describe() const;
  // What is said when there is no room for so many bytes of what `whole` names.
  // RESOURCE_EXHAUSTED; TENANT_CEILING with QuotaFailure where it is a
  // tenant's.
  absl::Status Refusal(std::string_view whole, uint64_t bytes) const;

 private:
  struct Tenant {
    std::string name;
    std::atomic<uint64_t> used{0};
  };
  DiskBudget(std::shared_ptr<DiskBudget> all, std::shared_ptr<Tenant> tenant)
      : max_(all->max_), all_(std::move(all)), tenant_(std::move(tenant)) {}
  uint64_t TenantMax() const;
  // Whether there is room in the whole; `own` and `all` are what the caller and
  // all callers hold with `bytes` added.
  bool HasRoom(uint64_t own, uint64_t all, uint64_t bytes) const;

  const uint64_t max_;
  const std::shared_ptr<DiskBudget> all_;  // null when this is the whole
  const std::shared_ptr<Tenant> tenant_;   // null: without a ceiling
  TenantMost tenant_most_;                 // of the whole; may be empty
  std::atomic<uint64_t> used_{0};
  absl::Mutex mutex_;
  std::map<std::string, std::weak_ptr<DiskBudget>> shares_
      ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::weak_ptr<Tenant>> tenants_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_DISK_BUDGET_H_
