#include "server/daemon/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sandbox/host/cgroup_tree.h"
#include "sandbox/host/host_probe.h"
#include "sandbox/os/files.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/status.h"
#include "sandbox/wire/uid_slice.h"
#include "sandbox/yard/egress_port.h"
#include "sandbox/yard/sandbox.h"
#include "sandbox/yard/yard_root.h"
#include "server/base/accounts.h"
#include "server/base/log.h"
#include "server/base/memory_budget.h"
#include "server/base/state_dir.h"
#include "server/base/strings.h"
#include "server/base/unix_socket.h"
#include "server/daemon/config_doubts.h"
#include "server/daemon/daemon_signals.h"
#include "server/daemon/daemon_start.h"
#include "server/daemon/descriptor_budget.h"
#include "server/daemon/egress_start.h"
#include "server/daemon/library_setup.h"
#include "server/daemon/own_walls.h"
#include "server/daemon/policy_acceptance.h"
#include "server/daemon/preflight_helpers.h"
#include "server/daemon/preflight_places.h"
#include "server/daemon/resolved_config.h"
#include "server/daemon/supervisor.h"
#include "server/daemon/uid_range.h"
#include "server/daemon/zygote_plan.h"
#include "server/images/image_files.h"
#include "server/images/toolchain.h"
#include "server/job/refused_calls.h"
#include "server/languages/prepared_store.h"
#include "server/live_policy/policy_reader.h"
#include "server/live_policy/policy_set.h"
#include "server/live_policy/secret_files.h"

namespace sandglass::server {
namespace {

// Jails that the spawner makes in advance, for runs for which the pool has
// nothing.
constexpr uint32_t kSpareJails = 2;

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

void LogHost(const sandbox::HostReport& host) {
  for (const sandbox::Layer& layer : host.layers) {
    const bool in_force = layer.state == sandbox::LayerState::kInForce;
    Log(in_force || !layer.required ? LogLevel::kInfo : LogLevel::kWarning,
        "layer",
        {{"name", layer.name},
         {"state", std::string(in_force ? "in_force"
                               : layer.state == sandbox::LayerState::kExcused
                                   ? "excused"
                                   : "not_available")},
         {"detail", layer.detail}});
  }
}

// Without a store, languages that need it are not offered.
std::optional<PreparedStore> OpenPreparedStore(const Settings& settings) {
  // The second directory is just as good until the machine or the container
  // restarts.
  for (const std::string& parent :
       {settings.config.cache_dir, settings.config.state_dir}) {
    absl::StatusOr<PreparedStore> store =
        PreparedStore::Open(absl::StrCat(parent, "/prepared"),
                            settings.identity.uid, settings.identity.gid);
    if (store.ok()) return *std::move(store);
    Log(LogLevel::kWarning, "no_place_for_prepared",
        {{"error", std::string(store.status().message())}});
  }
  return std::nullopt;
}

// Without a store, every run is compiled.
std::optional<CompileStore> OpenCompileStore(const Settings& settings) {
  if (settings.config.compile_cache.max_bytes == 0) return std::nullopt;
  absl::StatusOr<CompileStore> store =
      CompileStore::Open(absl::StrCat(settings.config.cache_dir, "/compiled"),
                         settings.identity.uid, settings.identity.gid);
  if (store.ok()) return *std::move(store);
  Log(LogLevel::kWarning, "no_compile_cache",
      {{"error", std::string(store.status().message())}});
  return std::nullopt;
}

void NamePreparedDirs(PolicySet& policy) {
  policy.mutable_languages().SetPreparedDirs(
      [](const policy::Language& language) {
        return language.prepare ? absl::StrCat(sandbox::kPreparedInJail, "/",
                                               PreparedName(language))
                                : "";
      });
}

// The places to which the daemon may write while it serves.
struct Opened {
  std::string prepared;  // its directory; empty when there is none
  bool compiled = false;
  bool libraries = false;
};
std::vector<std::string> WrittenPlaces(const Config& config,
                                       const Opened& opened) {
  std::vector<std::string> places;
  for (const std::string& place :
       {opened.prepared,
        opened.compiled ? absl::StrCat(config.cache_dir, "/compiled") : "",
        opened.libraries ? config.libraries.dir : "", config.audit.dir,
        config.sessions.durable_dir}) {
    if (!place.empty()) places.push_back(place);
  }
  return places;
}

int Fail(const absl::Status& status, int exit_status) {
  Log(LogLevel::kError, "start_failed",
      {{"error", std::string(WithPage(status, kStartPage).message())}});
  return exit_status;
}

// The exit status tells whether only another configuration or another host can
// help.
int FailedStart(const absl::Status& status) {
  return Fail(status, absl::IsFailedPrecondition(status) ? kExitBadConfig : 1);
}

}  // namespace

int RunDaemon(const ConfigFlags& flags, Heartbeat* supervisor) {
  // Whatever files the process that started us left open aren't ours to use.
  os::CloseFrom(3);
  if (supervisor != nullptr) supervisor->KeepFromChildren();
  KeepHangUps();
  const pid_t parent = ::getppid();
  absl::StatusOr<Settings> settings = LoadSettings(flags);
  if (!settings.ok()) return Fail(settings.status(), kExitBadConfig);
  const Config& config = settings->config;
  StartLog(config.log_level, config.log_format);
  if (absl::Status root = RequireRoot(); !root.ok()) {
    return Fail(root, kExitBadConfig);
  }
  RaiseOpenFiles();
  LogOpenFiles(config);
  RaiseCoreLimit();
  if (const std::string others = OtherWriters(config.policy_dir);
      !others.empty()) {
    Log(LogLevel::kWarning, "policy_dir_writable",
        {{"policy_dir", config.policy_dir}, {"by", others}});
  }

  if (absl::Status made = MakeDirectories(config.state_dir); !made.ok()) {
    return FailedStart(made);
  }
  if (absl::Status own = CheckNobodyElses("state_dir", config.state_dir,
                                          settings->identity.uid);
      !own.ok()) {
    return Fail(own, kExitBadConfig);
  }
  const absl::StatusOr<os::Fd> lock = LockStateDir(config.state_dir);
  if (!lock.ok()) return Fail(lock.status(), 1);
  const absl::StatusOr<os::Fd> ids = HoldUidRange(settings->ids);
  if (!ids.ok()) return Fail(ids.status(), 1);
  // Check this before anything is made that only root could remove again.
  if (absl::Status free = CheckPorts(config); !free.ok()) return Fail(free, 1);

  for (const absl::Status& helper : CheckHelpers(config)) {
    if (!helper.ok()) return FailedStart(helper);
  }

  sandbox::HostReport host = sandbox::ProbeHost(DiskPlaces(config));
  const absl::Status layers =
      sandbox::RequireLayers(host, config.excuse_missing);
  LogHost(host);
  WarnOfDiskCaps(settings->policy, host);
  if (!layers.ok()) return Fail(layers, kExitBadConfig);
  if (absl::Status traceable = CheckTracing(*settings); !traceable.ok()) {
    return Fail(traceable, kExitBadConfig);
  }
  for (const std::string& doubt : ConfigDoubts(config, MachineMemory())) {
    Log(LogLevel::kWarning, "config_doubt", {{"because", doubt}});
  }
  if (const std::string small = WhyNoneFits(config, settings->policy);
      !small.empty()) {
    Log(LogLevel::kWarning, "nothing_fits", {{"error", small}});
  }
  if (config.trace_syscalls) {
    Log(LogLevel::kWarning, "tracing_syscalls",
        {{"so", "runs take longer and no zygotes are used"}});
  }

  std::optional<PreparedStore> prepared = OpenPreparedStore(*settings);
  NamePreparedDirs(settings->policy);
  std::optional<CompileStore> compiled = OpenCompileStore(*settings);
  const bool installs = !config.libraries.dir.empty();
  ImageStates image_states;
  if (compiled || installs) image_states = AllImageStates(config.images);
  if (compiled && image_states[""].empty()) {
    Log(LogLevel::kWarning, "no_compile_cache",
        {{"error", "the state of the image can't be told"}});
    compiled.reset();
  }

  // ORDER: spawner, egress proxy and reader come before any thread and any gRPC
  // object, since they are forked; the socket comes before the rights are
  // dropped, since its place needs them; the rights are dropped before the
  // first byte from a client is read.
  if (absl::Status single = RequireSingleThread(); !single.ok()) {
    return Fail(single, 1);
  }
  absl::StatusOr<sandbox::TemplateLedger> ledger =
      sandbox::TemplateLedger::Create();
  if (!ledger.ok()) return Fail(ledger.status(), 1);
  absl::StatusOr<os::Fd> spawners_end = ledger->ReadingEnd();
  if (!spawners_end.ok()) return Fail(spawners_end.status(), 1);
  absl::StatusOr<EgressSeed> seed = MakeEgressSeed(config.egress);
  if (!seed.ok()) return Fail(seed.status(), kExitBadConfig);
  const std::set<std::string> secrets = seed->SecretNames();
  if (absl::Status known = CheckSecrets(settings->policy, secrets);
      !known.ok()) {
    return Fail(known, kExitBadConfig);
  }
  std::vector<sandbox::JailTemplate> templates = settings->policy.templates();
  absl::StatusOr<std::optional<LibrariesParts>> prepared_libraries =
      PrepareLibraries(config.libraries, settings->policy, settings->identity,
                       image_states, templates);
  if (!prepared_libraries.ok()) {
    return Fail(prepared_libraries.status(), kExitBadConfig);
  }
  std::optional<LibrariesParts> libraries = *std::move(prepared_libraries);
  if (libraries) {
    for (PlannedZygote& zygote : PlanLayerZygotes(
             config, settings->policy, settings->identity, *libraries)) {
      settings->zygotes.push_back(std::move(zygote));
    }
  }
  std::vector<sandbox::ZygoteOptions> zygotes;
  for (const PlannedZygote& zygote : settings->zygotes) {
    zygotes.push_back(zygote.options);
  }
  const std::string instance = InstanceName(config.state_dir);
  // Starting the sandbox sweeps too, and says what keeps it from doing that.
  if (const absl::Status swept =
          sandbox::Sandbox::Sweep(config.state_dir, instance);
      absl::IsFailedPrecondition(swept)) {
    Log(LogLevel::kWarning, "control_groups_left",
        {{"because", std::string(swept.message())}});
  }
  absl::StatusOr<std::unique_ptr<sandbox::Sandbox>> sandbox =
      sandbox::Sandbox::Start(
          {.spawner_path = config.spawner,
           .state_dir = config.state_dir,
           .instance = instance,
           .cgroup_parent = config.cgroup_parent,
           .uids = settings->uids,
           .server_uid = settings->identity.uid,
           .server_gid = settings->identity.gid,
           .max_jails = MaxJails(config),
           .spare_jails = config.pool.floor == 0 ? 0 : kSpareJails,
           .prepared_dir = prepared ? prepared->directory() : "",
           .layers_dir = libraries ? config.libraries.dir : "",
           .images = config.images,
           .authority_certificate = seed->authority_certificate,
           .templates = templates,
           .template_ledger = spawners_end->get(),
           .zygotes = std::move(zygotes),
           .trace_calls = config.trace_syscalls},
          host);
  if (!sandbox.ok()) return Fail(sandbox.status(), 1);
  // ORDER: both come after the daemon has moved into its own control group,
  // since a group that holds a third process isn't recognised as delegated.
  absl::StatusOr<std::unique_ptr<sandbox::EgressPort>> egress =
      StartEgress(config.egress, *std::move(seed), settings->egress_uid,
                  templates, spawners_end->get());
  if (!egress.ok()) return Fail(egress.status(), 1);
  (*sandbox)->SetEgress(*std::move(egress));
  spawners_end->reset();
  absl::StatusOr<std::unique_ptr<PolicyReader>> reader = PolicyReader::Start(
      config.policy_dir, settings->policy, *std::move(ledger),
      settings->reader_uid, settings->identity.gid);
  if (!reader.ok()) return Fail(reader.status(), 1);

  std::unique_ptr<SessionStore> sessions;
  if (!config.sessions.durable_dir.empty()) {
    absl::StatusOr<std::unique_ptr<SessionStore>> store = SessionStore::Open(
        config.sessions.durable_dir, settings->identity.uid,
        settings->identity.gid, config.sessions.durable_bytes);
    if (!store.ok()) return FailedStart(store.status());
    sessions = *std::move(store);
  }

  os::Fd audit_directory;
  if (!config.audit.dir.empty()) {
    absl::StatusOr<os::Fd> directory = TakeOverDirectory(
        config.audit.dir, settings->identity.uid, settings->identity.gid, 0750,
        "audit.dir", Holds::kItsOwn);
    if (!directory.ok()) return FailedStart(directory.status());
    audit_directory = *std::move(directory);
  }

  os::Fd listener;
  if (!config.listen.unix_path.empty()) {
    absl::StatusOr<os::Fd> bound = ListenOnUnixSocket(
        {.path = config.listen.unix_path,
         .mode = config.socket_mode,
         // In a user namespace, root is the user who made the namespace and who
         // is nobody special outside.
         .owner = settings->own_user_namespace ? 0 : settings->identity.uid,
         .group = settings->socket_group});
    if (!bound.ok()) return Fail(bound.status(), 1);
    listener = *std::move(bound);
  }
  absl::StatusOr<OwnWalls> walls = OwnWalls::Prepare(
      WrittenPlaces(config, {.prepared = prepared ? prepared->directory() : "",
                             .compiled = compiled.has_value(),
                             .libraries = libraries.has_value()}));
  if (!walls.ok()) return Fail(walls.status(), 1);
  if (absl::Status dropped = sandbox::DropPrivileges(settings->identity.uid,
                                                     settings->identity.gid);
      !dropped.ok()) {
    return Fail(dropped, 1);
  }
  if (supervisor != nullptr && !os::DieWithParent(parent)) {
    return Fail(errno == ESRCH
                    ? absl::UnavailableError("the parent process has died")
                    : os::ErrnoStatus("prctl(PR_SET_PDEATHSIG)"),
                1);
  }
  // ORDER: this comes after the rights are dropped, since it needs
  // no_new_privs, and before the first thread, since a thread has the walls of
  // the thread that made it.
  if (absl::Status raised = walls->Raise(); !raised.ok()) {
    return Fail(raised, 1);
  }
  PolicyAcceptance acceptance(config, host, secrets);
  return Serve({.config = std::move(settings->config),
                .image_records = std::move(settings->image_records),
                .policy = std::move(settings->policy),
                .host = std::move(host),
                .sandbox = *std::move(sandbox),
                .zygotes = std::move(settings->zygotes),
                .prepared = std::move(prepared),
                .compiled = std::move(compiled),
                .image_states = std::move(image_states),
                .libraries = std::move(libraries),
                .sessions = std::move(sessions),
                .unix_listener = std::move(listener),
                .audit_directory = std::move(audit_directory),
                .policy_reader = *std::move(reader),
                .acceptance = std::move(acceptance),
                .supervisor = supervisor});
}

int CleanUp(const ConfigFlags& flags) {
  const absl::StatusOr<Config> config = LoadConfig(flags);
  if (!config.ok()) return Fail(config.status(), kExitBadConfig);
  if (absl::Status root = RequireRoot(); !root.ok()) {
    return Fail(root, kExitBadConfig);
  }
  // Don't clean up while a daemon runs: it must not lose its jails.
  std::error_code error;
  if (!std::filesystem::exists(config->state_dir, error)) return 0;
  const absl::StatusOr<os::Fd> lock = LockStateDir(config->state_dir);
  if (!lock.ok()) return Fail(lock.status(), 1);
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
  const absl::Status removed = RemoveStaleSocket(config->listen.unix_path);
  return removed.ok() ? 0 : Fail(removed, 1);
}

}  // namespace sandglass::server
