#include "server/daemon/resolved_config.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "policy/text/docs_page.h"
#include "policy/text/units.h"
#include "sandbox/host/cgroup_tree.h"
#include "sandbox/os/files.h"
#include "sandbox/yard/sandbox.h"
#include "sandbox/yard/yard_root.h"
#include "server/base/strings.h"
#include "server/daemon/policy_acceptance.h"
#include "server/job/refused_calls.h"

namespace sandglass::server {
namespace {

constexpr char kConfigurationPage[] = "configuration.md";
constexpr char kImagesPage[] = "images.md";
constexpr char kPolicyPage[] = "policy.md";
constexpr char kTenantsPage[] = "tenants.md";

// Beside those of the yards, one id for the policy's reader and one for the
// egress proxy.
uint32_t UidsNeeded(const Config& config,
                    const std::vector<PlannedZygote>& zygotes) {
  size_t yards = config.spawners + config.libraries.zygotes.size();
  for (const PlannedZygote& zygote : zygotes) yards += zygote.options.yards;
  return static_cast<uint32_t>(yards) * sandbox::UidsFor(MaxJails(config)) + 2;
}

// Where there are not enough ids for the yards, as in a user namespace that
// maps few, each kind has fewer.
absl::StatusOr<sandbox::UidSlice> ChooseUids(
    Config& config, std::vector<PlannedZygote>& zygotes,
    const std::string& uid_map, const std::string& gid_map) {
  while (true) {
    const uint32_t needed = UidsNeeded(config, zygotes);
    absl::StatusOr<sandbox::UidSlice> uids =
        sandbox::ChooseUidSlice(config.uid_base, needed, uid_map, gid_map);
    const bool fit = uids.ok() && uids->count >= needed;
    if (fit || config.spawners == 1) return uids;
    --config.spawners;
    for (PlannedZygote& zygote : zygotes) {
      zygote.options.yards = std::min(zygote.options.yards, config.spawners);
    }
  }
}

}  // namespace

uint32_t MaxJails(const Config& config) {
  // Jails whose program has ended but whose teardown is under way take a slot
  // as well. So this counts running runs twice, for those on their way out,
  // then the idle jails, the spawner's spares, and those of sessions.
  const uint32_t idle = config.pool.floor == 0 ? 0 : config.pool.max_idle;
  return std::min(4096u, 2 * config.admission.max_running_with_reserve() + 8 +
                             idle + config.sessions.max());
}

absl::Status RequireRoot() {
  if (::geteuid() == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "sandglassd must be started as root: it makes namespaces and "
      "control groups, and then gives root up for good. An ordinary user can "
      "be root of a user namespace: see ",
      policy::DocsPage("rootless.md")));
}

absl::StatusOr<ResolvedConfig> LoadResolvedConfig(const ConfigFlags& flags) {
  absl::StatusOr<Config> config = LoadConfig(flags);
  if (!config.ok()) return WithPage(config.status(), kConfigurationPage);
  for (const policy::Image& image : config->images) {
    if (absl::Status good = sandbox::CheckImage(image); !good.ok()) {
      return WithPage(good, kImagesPage);
    }
  }
  absl::StatusOr<ImageRecords> image_records = ReadImageRecords(config->images);
  if (!image_records.ok()) return WithPage(image_records.status(), kImagesPage);
  absl::StatusOr<PolicySet> policy =
      PolicySet::Load(config->policy_dir, config->images);
  if (!policy.ok()) return WithPage(policy.status(), kPolicyPage);
  if (!config->tenants_dir.empty()) {
    if (absl::Status tenants = policy->LoadTenants(config->tenants_dir);
        !tenants.ok()) {
      return WithPage(tenants, kTenantsPage);
    }
  }
  const absl::StatusOr<std::string> uid_map =
      os::ReadSmallFile(AT_FDCWD, "/proc/self/uid_map");
  if (!uid_map.ok()) return uid_map.status();
  const absl::StatusOr<std::string> gid_map =
      os::ReadSmallFile(AT_FDCWD, "/proc/self/gid_map");
  if (!gid_map.ok()) return gid_map.status();
  if (absl::Status place = CheckDurablePlace(*config, *policy); !place.ok()) {
    return place;
  }
  std::vector<PlannedZygote> zygotes = PlanZygotes(*config, *policy);
  absl::StatusOr<sandbox::UidSlice> uids =
      ChooseUids(*config, zygotes, *uid_map, *gid_map);
  if (!uids.ok()) return uids.status();
  config->uid_base = uids->first;
  // The last two ids aren't for the yards.
  const uid_t reader_uid = uids->first + --uids->count;
  const uid_t egress_uid = uids->first + --uids->count;
  absl::StatusOr<Ids> identity = ResolveIds(config->user, config->uid_base);
  if (!identity.ok()) return identity.status();
  const UidRange ids = {
      .first = uids->first - (identity->uid == uids->first - 1 ? 1 : 0),
      .last = reader_uid};
  absl::StatusOr<gid_t> group =
      ResolveGroup(config->socket_group, identity->gid);
  if (!group.ok()) return group.status();
  if (!config->cgroup_parent.empty()) {
    const absl::StatusOr<sandbox::CgroupHost> found =
        sandbox::FindCgroups(config->cgroup_parent);
    if (!found.ok()) return found.status();
  }
  // What --check shows is what will be used.
  config->user = absl::StrCat(identity->uid, ":", identity->gid);
  config->socket_group = absl::StrCat(*group);
  return ResolvedConfig{*std::move(config),
                        *std::move(image_records),
                        *std::move(policy),
                        *identity,
                        *group,
                        *uids,
                        reader_uid,
                        egress_uid,
                        ids,
                        std::move(zygotes),
                        !sandbox::MapsEveryId(*uid_map)};
}

std::vector<std::string> DiskPlaces(const Config& config) {
  std::vector<std::string> places = {"/usr", config.cache_dir,
                                     config.state_dir};
  for (const policy::Image& image : config.images) {
    places.push_back(image.root + "/usr");
  }
  return places;
}

std::string WhyNoneFits(const Config& config, const PolicySet& policy) {
  const policy::SharedProfile profile = policy.FindProfile("");
  if (profile == nullptr) return "";
  const uint64_t takes =
      profile->limits.memory_bytes + config.admission.overhead_bytes;
  if (takes <= config.admission.memory_budget_bytes) return "";
  return absl::StrCat(
      "admission.memory_budget: ",
      policy::FormatBytes(config.admission.memory_budget_bytes),
      " is less than a program of profile ", profile->name, " counts for (",
      policy::FormatBytes(takes),
      "), so that none would ever run; raise it, or lower the profile's "
      "memory_bytes");
}

absl::Status CheckTracing(const ResolvedConfig& settings) {
  if (!settings.config.trace_syscalls) return absl::OkStatus();
  if (absl::Status host = sandbox::CheckCallTracing(); !host.ok()) return host;
  return CheckTraceable(settings.policy.templates());
}

}  // namespace sandglass::server
