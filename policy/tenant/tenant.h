#ifndef SANDGLASS_POLICY_TENANT_TENANT_H_
#define SANDGLASS_POLICY_TENANT_TENANT_H_

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/tenant/budget.h"

namespace sandglass::policy {

// Which runs come first when there is not room for all of them.
enum class Priority {
  kInteractive,  // somebody waits for the answer
  kBatch,        // takes what interactive runs leave
};

// "interactive" or "batch".
std::string_view PriorityName(Priority priority);

inline constexpr uint64_t kNoCeiling = std::numeric_limits<uint64_t>::max();

// The most that all callers of a tenant may have at the same time.
struct TenantCeilings {
  uint64_t running = kNoCeiling;       // runs
  uint64_t queued = kNoCeiling;        // runs that wait
  uint64_t memory_bytes = kNoCeiling;  // that running runs reserve
  uint64_t cpu_millis = kNoCeiling;    // that running runs may use
  uint64_t sessions = kNoCeiling;
  uint64_t session_memory_bytes = kNoCeiling;  // that sessions may take
  uint64_t durable_bytes = kNoCeiling;         // of durable sessions
  uint64_t execs = kNoCeiling;                 // commands in sessions
  uint64_t installs = kNoCeiling;              // of libraries
  uint64_t streams = kNoCeiling;               // streaming calls
  uint64_t message_bytes = kNoCeiling;         // of one request

  friend bool operator==(const TenantCeilings&,
                         const TenantCeilings&) = default;
};

// Callers that belong together, and what they may have together. One that no
// file describes has these values: they limit nothing.
struct Tenant {
  std::string name;  // file name without ".json"
  // Of what tenants want more of than there is, each gets a part in proportion
  // to its weight.
  uint32_t weight = 1;
  Priority priority = Priority::kInteractive;
  std::vector<std::string> profiles;  // that its requests may name; empty: all
  // For requests that name no profile.
  std::string default_profile = "default";
  TenantCeilings ceilings;
  Budgets budgets;
  // Whether its callers see each other's runs, sessions and files.
  bool shares = false;
  // Whether it reuses only what its own runs have compiled.
  bool own_compile_cache = false;
  // Whether it gets no set of libraries that others have installed.
  bool own_libraries = false;

  friend bool operator==(const Tenant&, const Tenant&) = default;
};

bool AllowsProfile(const Tenant& tenant, std::string_view profile);

// Tenants have the names that server/identity allows: at most 63 of a-z, 0-9
// and "-", of which the first is no "-".
bool IsTenantFileName(std::string_view name);

// All tenants that files describe, by name.
class TenantTable {
 public:
  TenantTable() = default;
  // Each tenant once.
  explicit TenantTable(std::vector<Tenant> tenants);

  // Reads each file NAME.json of the directory. INVALID_ARGUMENT lists all that
  // is wrong, by file and JSON pointer; so does a profile that isn't one of
  // `profiles`. NOT_FOUND: the directory has no such file, or can't be read.
  static absl::StatusOr<TenantTable> Load(
      const std::string& directory, const std::set<std::string>& profiles);

  // Null: no file describes it.
  const Tenant* Find(std::string_view name) const;
  // Of a tenant without a file, the values that limit nothing.
  Tenant Get(std::string_view name) const;

  bool empty() const { return tenants_.empty(); }
  // What all files say in one form: equal tables that were loaded have equal
  // ones.
  const std::string& canonical() const { return canonical_; }
  const std::map<std::string, Tenant, std::less<>>& tenants() const {
    return tenants_;
  }

 private:
  std::map<std::string, Tenant, std::less<>> tenants_;
  std::string canonical_;
};

// The text of one tenant's file. Errors name it `name`.json.
absl::StatusOr<Tenant> ParseTenant(const std::string& name,
                                   std::string_view text,
                                   const std::set<std::string>& profiles);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TENANT_TENANT_H_
