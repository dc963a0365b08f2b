#include "server/daemon/daemon.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/yard/sandbox.h"
#include "server/base/log.h"
#include "server/base/state_dir.h"
#include "server/base/unix_socket.h"
#include "server/daemon/daemon_signals.h"
#include "server/daemon/daemon_start.h"
#include "server/daemon/descriptor_budget.h"
#include "server/daemon/privileged_start.h"
#include "server/daemon/resolved_config.h"
#include "server/daemon/supervisor.h"

namespace sandglass::server {
namespace {

absl::Status RequireSingleThread() {
  std::error_code error;
  const auto threads = std::distance(
      std::filesystem::directory_iterator("/proc/self/task", error),
      std::filesystem::directory_iterator());
  if (error || threads != 1) {
    return absl::InternalError(absl::StrCat(
        "the spawner must be started before any thread; there are ",
        error ? -1 : threads));
  }
  return absl::OkStatus();
}

// Raises the limit of this process and of everything that it starts.
void RaiseOpenFiles() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void LogOpenFiles(const Config& config) {
  const DescriptorNeeds needs =
      FindDescriptorNeeds(config, HardDescriptorLimit());
  Log(LogLevel::kInfo, "open_files",
      {{"limit", needs.limit},
       {"server", needs.server},
       {"spawner", needs.spawner}});
  if (const std::string few = WhyTooFewDescriptors(config, needs);
      !few.empty()) {
    Log(LogLevel::kWarning, "few_open_files", {{"error", few}});
  }
}

// If no core files are allowed at all, jails can't have the limit with which a
// crash starts nothing.
void RaiseCoreLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0) {
    (void)os::ForbidCrashHelper();
  }
}

void RaiseLimits(const Config& config) {
  RaiseOpenFiles();
  LogOpenFiles(config);
  RaiseCoreLimit();
}

void WarnOfPolicyWriters(const Config& config) {
  for (const auto& [key, directory] :
       {std::pair<std::string, std::string>("policy_dir", config.policy_dir),
        {"tenants_dir", config.tenants_dir}}) {
    if (directory.empty()) continue;
    const std::string others = OtherWriters(directory);
    if (others.empty()) continue;
    Log(LogLevel::kWarning, key + "_writable",
        {{key, directory}, {"by", others}});
  }
}

}  // namespace

int RunDaemon(const ConfigFlags& flags, Heartbeat* supervisor,
              KeptListeners& listeners) {
  listeners.CloseOthers();
  if (supervisor != nullptr) supervisor->KeepFromChildren();
  KeepHangUps();
  const pid_t parent = ::getppid();
  absl::StatusOr<ResolvedConfig> settings = LoadResolvedConfig(flags);
  if (!settings.ok()) return FailStart(settings.status(), kExitBadConfig);
  StartLog(settings->config.log_level, settings->config.log_format);
  if (absl::Status root = RequireRoot(); !root.ok()) {
    return FailStart(root, kExitBadConfig);
  }
  RaiseLimits(settings->config);
  WarnOfPolicyWriters(settings->config);

  PrivilegedStart start(*std::move(settings));
  if (const auto failed = start.AcquirePlaces(listeners)) return *failed;
  if (const auto failed = start.LookAtHost()) return *failed;
  start.OpenStores();
  // ORDER: spawner, egress proxy, reader and unpacker come before any thread
  // and any gRPC object, since they are forked; the socket comes before the
  // rights are dropped, since its place needs them; the rights are dropped
  // before the first byte from a client is read.
  if (absl::Status single = RequireSingleThread(); !single.ok()) {
    return FailStart(single, 1);
  }
  if (const auto failed = start.PlanJails()) return *failed;
  if (const auto failed = start.StartHelpers()) return *failed;
  if (const auto failed = start.OpenKeptPlaces()) return *failed;
  if (const auto failed = start.BindTls()) return *failed;
  if (const auto failed = start.BindSocket()) return *failed;
  if (const auto failed = start.DropRights(supervisor, parent)) return *failed;
  return Serve(start.Parts(supervisor, listeners));
}

int CleanUp(const ConfigFlags& flags) {
  const absl::StatusOr<Config> config = LoadConfig(flags);
  if (!config.ok()) return FailStart(config.status(), kExitBadConfig);
  if (absl::Status root = RequireRoot(); !root.ok()) {
    return FailStart(root, kExitBadConfig);
  }
  // Don't clean up while a daemon runs: it must not lose its jails.
  std::error_code error;
  if (!std::filesystem::exists(config->state_dir, error)) return 0;
  const absl::StatusOr<os::Fd> lock = LockStateDir(config->state_dir);
  if (!lock.ok()) return FailStart(lock.status(), 1);
  if (absl::Status swept = sandbox::Sandbox::Sweep(
          config->state_dir, InstanceName(config->state_dir));
      !swept.ok()) {
    Log(LogLevel::kWarning, "sweep_failed",
        {{"error", std::string(swept.message())}});
    return 1;
  }
  // The daemon itself may not remove the socket, since the directory belongs to
  // root.
  if (config->listen.unix_path.empty()) return 0;
  // A service manager keeps it for the next daemon.
  if (Answers(config->listen.unix_path).value_or(false)) return 0;
  const absl::Status removed = RemoveStaleSocket(config->listen.unix_path);
  return removed.ok() ? 0 : FailStart(removed, 1);
}

int CleanUpAll(const ConfigFlags& flags) {
  if (const int code = CleanUp(flags); code != 0) return code;
  const absl::StatusOr<Config> config = LoadConfig(flags);
  if (!config.ok()) return FailStart(config.status(), kExitBadConfig);
  std::error_code error;
  if (!std::filesystem::exists(config->state_dir, error)) return 0;
  const absl::StatusOr<os::Fd> lock = LockStateDir(config->state_dir);
  if (!lock.ok()) return FailStart(lock.status(), 1);
  // What daemons put there; whatever else there is isn't ours.
  for (const char* name : {"cgroups", "prepared", "proc", "reload", "yard"}) {
    std::filesystem::remove_all(config->state_dir + "/" + name, error);
  }
  std::filesystem::remove(StateLock(config->state_dir), error);
  std::filesystem::remove(config->state_dir, error);
  return 0;
}

}  // namespace sandglass::server
