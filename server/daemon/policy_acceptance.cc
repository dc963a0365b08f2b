#include "server/daemon/policy_acceptance.h"

#include "absl/strings/str_cat.h"
#include "server/base/log.h"
#include "server/job/refused_calls.h"
#include "server/live_policy/secret_files.h"

namespace sandglass::server {

absl::Status CheckDurablePlace(const Config& config, const PolicySet& policy) {
  if (!config.sessions.durable_dir.empty()) return absl::OkStatus();
  for (const policy::SharedProfile& profile : policy.profiles()) {
    if (profile->session_files != policy::SessionFiles::kDurable) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "profile \"", profile->name,
        "\" keeps its sessions' files (\"session_files\": \"durable\"), but "
        "the configuration names no place for them; set "
        "\"sessions\": {\"durable_dir\": \"/var/lib/sandglass/sessions\"}"));
  }
  return absl::OkStatus();
}

void WarnOfDiskCaps(const PolicySet& policy, const sandbox::HostReport& host) {
  const std::string why = sandbox::WhyNoDiskCap(host);
  if (why.empty()) return;
  for (const policy::SharedProfile& profile : policy.profiles()) {
    if (!profile->disk_io.any()) continue;
    Log(LogLevel::kWarning, "disk_cap_not_in_force",
        {{"profile", profile->name}, {"why", why}});
  }
}

absl::Status AcceptPolicy(const PolicySet& policy, const Config& config,
                          const sandbox::HostReport& host,
                          const std::set<std::string>& secrets) {
  if (absl::Status known = CheckSecrets(policy, secrets); !known.ok()) {
    return known;
  }
  if (absl::Status place = CheckDurablePlace(config, policy); !place.ok()) {
    return place;
  }
  if (config.trace_syscalls) {
    absl::Status traceable = CheckTraceable(policy.templates());
    if (!traceable.ok()) return traceable;
  }
  WarnOfDiskCaps(policy, host);
  return absl::OkStatus();
}

}  // namespace sandglass::server
