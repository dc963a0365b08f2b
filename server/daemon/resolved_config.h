#ifndef SANDGLASS_SERVER_DAEMON_RESOLVED_CONFIG_H_
#define SANDGLASS_SERVER_DAEMON_RESOLVED_CONFIG_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/wire/uid_slice.h"
#include "server/base/accounts.h"
#include "server/daemon/config.h"
#include "server/daemon/uid_range.h"
#include "server/daemon/zygote_plan.h"
#include "server/images/image_files.h"
#include "server/images/image_record.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// Everything that the flags and files alone decide.
struct ResolvedConfig {
  Config config;
  ImageRecords image_records;
  PolicySet policy;
  Ids identity;
  gid_t socket_group;
  sandbox::UidSlice uids;  // for the yards
  uid_t reader_uid;        // the policy reader's
  uid_t egress_uid;        // the egress proxy's
  UidRange ids;            // all of these, and the daemon's own beside them
  std::vector<PlannedZygote> zygotes;
  bool own_user_namespace;  // started in one that isn't the host's
};

// Reads and resolves the settings. An error names the page of the documentation
// that helps, if there is one.
absl::StatusOr<ResolvedConfig> LoadResolvedConfig(const ConfigFlags& flags);

// The most jails that one spawner may have at a time.
uint32_t MaxJails(const Config& config);

// FAILED_PRECONDITION unless this process is root, perhaps only of a user
// namespace.
absl::Status RequireRoot();

// The places on the host's disks that jails see; the last two may hold what was
// prepared.
std::vector<std::string> DiskPlaces(const Config& config);

// Says in words for people why a program with the default profile's memory
// could never run; empty when it could. This looks only at the limits; a
// language may need more.
std::string WhyNoneFits(const Config& config, const PolicySet& policy);

// Returns an error when calls are to be traced but can't be traced here.
absl::Status CheckTracing(const ResolvedConfig& settings);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_RESOLVED_CONFIG_H_
