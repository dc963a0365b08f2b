#ifndef SANDGLASS_SERVER_ADMISSION_TENANT_USE_H_
#define SANDGLASS_SERVER_ADMISSION_TENANT_USE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "policy/tenant/tenant.h"

namespace sandglass::server {

// What one run takes of its tenant's ceilings.
struct RunSize {
  uint64_t memory_bytes = 0;
  uint64_t cpu_millis = 0;
};

// A ceiling of a tenant that is in the way.
struct CeilingReached {
  std::string_view ceiling;  // its key in the tenant's file
  uint64_t has = 0;
  uint64_t wanted = 0;  // beside what it has
  uint64_t most = 0;
};

// What each tenant's runs hold. Not thread-safe.
class TenantUse {
 public:
  struct Use {
    uint64_t waiting = 0;
    uint64_t running = 0;
    RunSize size;  // of those that are running
  };

  void Wait(const std::string& tenant);
  void StopWaiting(const std::string& tenant);
  void Start(const std::string& tenant, const RunSize& size);
  void End(const std::string& tenant, const RunSize& size);

  Use Get(const std::string& tenant) const;
  // More than one tenant has had runs since the start.
  bool several() const { return several_; }

  // Whether one more such run may be running.
  bool MayStart(const policy::Tenant& tenant, const RunSize& size) const;
  // Why no such run may wait; absent: it may. `never` is set when it is larger
  // than the tenant's runs may be together, so that it could never start.
  std::optional<CeilingReached> WhyNotWait(const policy::Tenant& tenant,
                                           const RunSize& size,
                                           bool& never) const;

 private:
  void DropIfEmpty(const std::string& tenant);

  std::map<std::string, Use> uses_;  // none that is all zero
  std::string first_;
  bool several_ = false;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ADMISSION_TENANT_USE_H_
