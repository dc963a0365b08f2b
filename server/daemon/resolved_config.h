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

// What the flags and files alone decide.
struct Settings {
  Config config;
  ImageRecords image_records;
  PolicySet policy;
  Identity identity;
  gid_t socket_group;
  sandbox::UidSlice uids;  // of the yards
  uid_t reader_uid;        // the policy reader's
  uid_t egress_uid;        // the egress proxy's
  UidRange ids;            // all of these, and the daemon's own beside them
  std::vector<PlannedZygote> zygotes;
  bool own_user_namespace;  // started in one that isn't the host's
};

// Reads and resolves them. The errors name the page that helps, or none.
absl::StatusOr<Settings> LoadSettings(const ConfigFlags& flags);

// The most jails that one spawner may have at a time.
uint32_t MaxJails(const Config& config);

// FAILED_PRECONDITION unless root, perhaps of a user namespace, calls.
absl::Status RequireRoot();

// What jails see of the host's disks; the last two may hold what is prepared.
std::vector<std::string> DiskPlaces(const Config& config);

// For people: that a program with the default profile's memory could never run.
// Empty: it could. By the limits alone; a language may need more.
std::string WhyNoneFits(const Config& config, const PolicySet& policy);

// OK unless calls are to be traced and can't be here.
absl::Status CheckTracing(const Settings& settings);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_RESOLVED_CONFIG_H_
