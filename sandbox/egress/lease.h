#ifndef SANDGLASS_SANDBOX_EGRESS_LEASE_H_
#define SANDGLASS_SANDBOX_EGRESS_LEASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "policy/network/network.h"
#include "sandbox/egress/waiting.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/network_use.h"

namespace sandglass::egress {

using LeaseLimits = policy::NetworkLimits;

// The reason when a connection ends because its jail has used up its bytes.
inline constexpr char kUsedUp[] =
    "all bytes that the jail may send and get are used up";

using Refusal = sandbox::NetworkRefusal;
using LeaseUsage = sandbox::NetworkUse;

// A jail's use of the network: what it may do, and what it has done. All its
// connections share it. Thread-safe.
class Lease {
 public:
  // RESOURCE_EXHAUSTED: no descriptor is free.
  static absl::StatusOr<std::shared_ptr<Lease>> Create(
      std::shared_ptr<const policy::NetworkPolicy> policy,
      const LeaseLimits& limits);

  const policy::NetworkPolicy& policy() const { return *policy_; }
  const LeaseLimits& limits() const { return limits_; }
  // Patience that lasts until the lease ends.
  Patience patience() const { return {.ended = ended_.get()}; }

  // A connection begins. False: it would be one too many. Call EndOne for each
  // that began.
  bool Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndOne() ABSL_LOCKS_EXCLUDED(mutex_);

  // Accounts for bytes that are about to be passed on. False: they would exceed
  // what the jail may send or receive.
  bool SpendUp(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  bool SpendDown(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  void RecordRefusal(std::string_view target, std::string_view words)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends all waits of its connections, and waits until the last connection has
  // ended.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

  LeaseUsage usage() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Lease(std::shared_ptr<const policy::NetworkPolicy> policy,
        const LeaseLimits& limits, os::Fd ended)
      : policy_(std::move(policy)), limits_(limits), ended_(std::move(ended)) {}

  bool Spend(uint64_t bytes, uint64_t LeaseUsage::*direction)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool NoneGoesOn() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return at_once_ == 0;
  }

  const std::shared_ptr<const policy::NetworkPolicy> policy_;
  const LeaseLimits limits_;
  const os::Fd ended_;  // eventfd, never read

  mutable absl::Mutex mutex_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  uint32_t at_once_ ABSL_GUARDED_BY(mutex_) = 0;
  LeaseUsage usage_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_LEASE_H_
