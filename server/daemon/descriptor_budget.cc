#include "server/daemon/descriptor_budget.h"

#include <sys/resource.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sandbox/wire/descriptor_room.h"
#include "server/daemon/resolved_config.h"

namespace sandglass::server {
namespace {

constexpr uint64_t kMaxConnections = 1024;
// Where others can connect they are many, and mostly idle: some 40 KiB each.
constexpr uint64_t kMaxConnectionsWithTls = 16384;
constexpr uint64_t kConnectionDescriptors = 2;
// The most commands of all sessions at the same time.
constexpr uint64_t kMaxCommands = 1024;
// What the server needs for itself: threads' events, helpers, logs, stores.
constexpr uint64_t kOwn = 256;
// For each spawner beyond one of a kind, of which few have several.
constexpr uint64_t kPerYard = 3;
constexpr uint64_t kWideKinds = 4;
// What a spawner needs for itself, network namespaces that nobody used among
// it, for each jail that was handed out, and for each jail that it makes in
// advance or has parts for.
constexpr uint64_t kSpawnersOwn = 64 + 32;
constexpr uint64_t kSpawnersPerJail = 2;
constexpr uint64_t kSpawnersPerSpare = 24;
constexpr uint64_t kMaxSpares = 8;

uint64_t ServerWithoutSessions(const Config& config, uint64_t limit) {
  const uint64_t idle = config.pool.floor == 0 ? 0 : config.pool.max_idle;
  const uint64_t jails = config.admission.max_running_with_reserve() + idle;
  const uint64_t kept =
      std::min<uint64_t>(sandbox::KeptSessions(limit), config.sessions.max()) *
      sandbox::kKeptDescriptors;
  return kOwn + (config.spawners - 1) * kWideKinds * kPerYard +
         jails * sandbox::kJailDescriptors + kept +
         sandbox::DescriptorReserve(sandbox::RoomFor::kJail, limit);
}

}  // namespace

DescriptorNeeds FindDescriptorNeeds(const Config& config, uint64_t limit) {
  DescriptorNeeds needs;
  needs.limit = limit;
  const uint64_t others = ServerWithoutSessions(config, limit);
  const uint64_t wanted = config.sessions.max();
  needs.server = others + wanted * sandbox::kSessionDescriptors;
  needs.spawner = kSpawnersOwn + MaxJails(config) * kSpawnersPerJail +
                  kMaxSpares * kSpawnersPerSpare;
  const auto left = [limit](uint64_t taken) {
    return limit > taken ? limit - taken : 0;
  };
  needs.sessions = static_cast<uint32_t>(
      std::min(wanted, left(others) / sandbox::kSessionDescriptors));
  // At most half of what is left goes to commands, and the rest to connections.
  // There may be some of each in any case, since new sessions are refused by
  // the number of files that are really open.
  const auto fewest = [limit](uint64_t each) {
    return std::max<uint64_t>(16, limit / 16 / each);
  };
  const uint64_t spare = left(needs.server);
  needs.commands = static_cast<uint32_t>(std::clamp<uint64_t>(
      spare / 2 / sandbox::kCommandDescriptors,
      std::min(fewest(sandbox::kCommandDescriptors), kMaxCommands),
      kMaxCommands));
  const uint64_t for_commands =
      std::min(spare, uint64_t{needs.commands} * sandbox::kCommandDescriptors);
  const uint64_t most =
      config.listen_tls.empty() ? kMaxConnections : kMaxConnectionsWithTls;
  needs.connections = static_cast<uint32_t>(std::clamp<uint64_t>(
      (spare - for_commands) / kConnectionDescriptors,
      std::min(fewest(kConnectionDescriptors), most), most));
  return needs;
}

uint64_t HardDescriptorLimit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? uint64_t{limit.rlim_max} : 0;
}

std::string DescribeDescriptorNeeds(const DescriptorNeeds& needs) {
  return absl::StrCat("open files: each process may have ", needs.limit,
                      " (RLIMIT_NOFILE); the server takes up to ", needs.server,
                      ", and ", sandbox::kCommandDescriptors,
                      " for each of at most ", needs.commands,
                      " commands of sessions, ", kConnectionDescriptors,
                      " for each of at most ", needs.connections,
                      " connections; a spawner takes up to ", needs.spawner);
}

std::string WhyTooFewDescriptors(const Config& config,
                                 const DescriptorNeeds& needs) {
  if (needs.server <= needs.limit && needs.spawner <= needs.limit) return "";
  const uint64_t max = std::max(needs.server, needs.spawner);
  return absl::StrCat(
      "each process may have ", needs.limit,
      " files open (RLIMIT_NOFILE), and all that the configuration allows at "
      "once takes up to ",
      max, ": ", sandbox::kJailDescriptors, " for each of admission.",
      "max_running (", config.admission.max_running,
      ") and admission.reserve (", config.admission.reserve,
      ") runs and of the idle jails, ", sandbox::kSessionDescriptors,
      " for each of sessions.max (", config.sessions.max_sessions,
      ") and sessions.reserve (", config.sessions.reserve,
      ") sessions. There is room for some ", needs.sessions,
      " sessions; what goes beyond is refused with RESOURCE_EXHAUSTED. Raise "
      "the limit to ",
      max,
      " or more (LimitNOFILE of the service, ulimit -Hn), or lower "
      "sessions.max");
}

}  // namespace sandglass::server
