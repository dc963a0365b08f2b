#include "server/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sandbox/cgroup_tree.h"
#include "sandbox/egress_port.h"
#include "sandbox/host_probe.h"
#include "sandbox/image.h"
#include "sandbox/os/files.h"
#include "sandbox/os/process.h"
#include "sandbox/sandbox.h"
#include "sandbox/uid_slice.h"
#include "server/daemon_signals.h"
#include "server/denied_calls.h"
#include "server/egress_seed.h"
#include "server/identity.h"
#include "server/image_files.h"
#include "server/later_policy.h"
#include "server/library_setup.h"
#include "server/log.h"
#include "server/place_check.h"
#include "server/policy_reader.h"
#include "server/policy_set.h"
#include "server/prepared_store.h"
#include "server/secret_files.h"
#include "server/serving.h"
#include "server/state_dir.h"
#include "server/supervisor.h"
#include "server/text.h"
#include "server/toolchain.h"
#include "server/unix_socket.h"
#include "server/zygotes.h"

namespace sandglass::server {
namespace {

// Raised by the spawner for runs that the pool has nothing for.
constexpr uint32_t kSpareJails = 2;
constexpr char kConfigurationPage[] = "docs/configuration.md";
constexpr char kImagesPage[] = "docs/images.md";
constexpr char kPolicyPage[] = "docs/policy.md";
constexpr char kPage[] = "docs/troubleshooting.md";
// Jails whose program has ended but whose teardown is under way take a slot.
uint32_t MaxJails(const Config& config) {
  // Twice, for those on their way out; the idle ones; the spawner's spares; and
  // those of sessions.
  const uint32_t idle = config.pool.floor == 0 ? 0 : config.pool.most_idle;
  return std::min(4096u, 2 * config.admission.max_running + 8 + idle +
                             config.sessions.max_sessions);
}

absl::Status RequireRoot() {
  if (::geteuid() == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "sandglassd must be started as root: it makes namespaces and control "
      "groups, and then gives root up for good. An ordinary user can be root "
      "of a user namespace: see docs/rootless.md");
}

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

// A run takes about twenty descriptors, a connection two.
void RaiseOpenFiles() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

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
  std::vector<PlannedZygote> zygotes;
  bool own_user_namespace;  // started in one that isn't the host's
};

absl::StatusOr<Settings> LoadSettings(const ConfigFlags& flags) {
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
  const auto yards = static_cast<uint32_t>(1 + zygotes.size() +
                                           config->libraries.zygotes.size());
  absl::StatusOr<sandbox::UidSlice> uids = sandbox::ChooseUidSlice(
      config->uid_base, yards * sandbox::UidsFor(MaxJails(*config)) + 2,
      *uid_map, *gid_map);
  if (!uids.ok()) return uids.status();
  config->uid_base = uids->first;
  // The last two are no yard's.
  const uid_t reader_uid = uids->first + --uids->count;
  const uid_t egress_uid = uids->first + --uids->count;
  absl::StatusOr<Identity> identity =
      ResolveIdentity(config->user, config->uid_base);
  if (!identity.ok()) return identity.status();
  absl::StatusOr<gid_t> group =
      ResolveGroup(config->socket_group, identity->gid);
  if (!group.ok()) return group.status();
  if (!config->cgroup_parent.empty()) {
    const absl::StatusOr<sandbox::CgroupHost> found =
        sandbox::FindCgroups(config->cgroup_parent);
    if (!found.ok()) return found.status();
  }
  // What --check shows is what is used.
  config->user = absl::StrCat(identity->uid, ":", identity->gid);
  config->socket_group = absl::StrCat(*group);
  return Settings{*std::move(config),
                  *std::move(image_records),
                  *std::move(policy),
                  *identity,
                  *group,
                  *uids,
                  reader_uid,
                  egress_uid,
                  std::move(zygotes),
                  !sandbox::MapsEveryId(*uid_map)};
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

// What jails see of the host's disks; the last two may hold what is prepared.
std::vector<std::string> DiskPlaces(const Config& config) {
  std::vector<std::string> places = {"/usr", config.cache_dir,
                                     config.state_dir};
  for (const policy::Image& image : config.images) {
    places.push_back(image.root + "/usr");
  }
  return places;
}

// Without one, languages that need it are not offered.
std::optional<PreparedStore> OpenPreparedStore(const Settings& settings) {
  // The second is as good until the machine or the container restarts.
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

// Without one, every run is compiled.
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

absl::Status CheckTracing(const Settings& settings) {
  if (!settings.config.trace_syscalls) return absl::OkStatus();
  if (absl::Status host = sandbox::CheckCallTracing(); !host.ok()) return host;
  return CheckTraceable(settings.policy.templates());
}

int Fail(const absl::Status& status, int exit_status) {
  Log(LogLevel::kError, "start_failed",
      {{"error", std::string(WithPage(status, kPage).message())}});
  return exit_status;
}

int Refuse(const absl::Status& status) {
  std::fflush(stdout);
  absl::FPrintF(stderr, "%s\n", std::string(WithPage(status, kPage).message()));
  return kExitBadConfig;
}

}  // namespace

int RunDaemon(const ConfigFlags& flags, Supervision supervision) {
  // What the starter left open is none of our business.
  os::CloseFrom(3);
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
  if (const std::string others = OtherWriters(config.policy_dir);
      !others.empty()) {
    Log(LogLevel::kWarning, "policy_dir_writable",
        {{"policy_dir", config.policy_dir}, {"by", others}});
  }

  if (absl::Status made = MakeDirectories(config.state_dir); !made.ok()) {
    return Fail(made, 1);
  }
  if (absl::Status own =
          CheckOwner("state_dir", config.state_dir, settings->identity.uid);
      !own.ok()) {
    return Fail(own, kExitBadConfig);
  }
  const absl::StatusOr<os::Fd> lock = LockStateDir(config.state_dir);
  if (!lock.ok()) return Fail(lock.status(), 1);
  // Before anything is made that only root could take away again.
  if (absl::Status free = CheckPorts(config); !free.ok()) return Fail(free, 1);

  sandbox::HostReport host = sandbox::ProbeHost(DiskPlaces(config));
  const absl::Status layers =
      sandbox::RequireLayers(host, config.excuse_missing);
  LogHost(host);
  WarnOfDiskCaps(settings->policy, host);
  if (!layers.ok()) return Fail(layers, kExitBadConfig);
  if (absl::Status traceable = CheckTracing(*settings); !traceable.ok()) {
    return Fail(traceable, kExitBadConfig);
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
  // object, since they are forked; the socket before the rights go, since its
  // place needs them; the rights go before the first byte from a client is
  // read.
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
  absl::StatusOr<std::unique_ptr<sandbox::Sandbox>> sandbox =
      sandbox::Sandbox::Start(
          {.spawner_path = config.spawner,
           .state_dir = config.state_dir,
           .instance = InstanceName(config.state_dir),
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
  // ORDER: both after the daemon has moved into its own control group: one that
  // holds a third process isn't taken for delegated.
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
    if (!store.ok()) return Fail(store.status(), 1);
    sessions = *std::move(store);
  }

  os::Fd audit_directory;
  if (!config.audit.dir.empty()) {
    absl::StatusOr<os::Fd> directory = TakeOverDirectory(
        config.audit.dir, settings->identity.uid, settings->identity.gid, 0750,
        "audit.dir", Holds::kItsOwn);
    if (!directory.ok()) return Fail(directory.status(), 1);
    audit_directory = *std::move(directory);
  }

  os::Fd listener;
  if (!config.listen.unix_path.empty()) {
    absl::StatusOr<os::Fd> bound = ListenOnUnixSocket(
        {.path = config.listen.unix_path,
         .mode = config.socket_mode,
         // In a user namespace root is whoever made it,
         // who outside is nobody special.
         .owner = settings->own_user_namespace ? 0 : settings->identity.uid,
         .group = settings->socket_group});
    if (!bound.ok()) return Fail(bound.status(), 1);
    listener = *std::move(bound);
  }
  if (absl::Status dropped = sandbox::DropPrivileges(settings->identity.uid,
                                                     settings->identity.gid);
      !dropped.ok()) {
    return Fail(dropped, 1);
  }
  if (supervision == Supervision::kSupervised) {
    if (absl::Status bound = DieWithParent(parent); !bound.ok()) {
      return Fail(bound, 1);
    }
  }
  auto check_policy = LaterPolicyCheck(config, host, secrets);
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
                .check_policy = std::move(check_policy)});
}

int CleanUp(const ConfigFlags& flags) {
  const absl::StatusOr<Config> config = LoadConfig(flags);
  if (!config.ok()) return Fail(config.status(), kExitBadConfig);
  if (absl::Status root = RequireRoot(); !root.ok()) {
    return Fail(root, kExitBadConfig);
  }
  // A daemon that lives must not lose its jails.
  std::error_code error;
  if (!std::filesystem::exists(config->state_dir, error)) return 0;
  const absl::StatusOr<os::Fd> lock = LockStateDir(config->state_dir);
  if (!lock.ok()) return Fail(lock.status(), 1);
  if (absl::Status swept = sandbox::Sandbox::Sweep(config->state_dir);
      !swept.ok()) {
    Log(LogLevel::kWarning, "sweep_failed",
        {{"error", std::string(swept.message())}});
    return 1;
  }
  // The daemon itself may not: the directory is root's.
  if (config->listen.unix_path.empty()) return 0;
  const absl::Status removed = RemoveStaleSocket(config->listen.unix_path);
  return removed.ok() ? 0 : Fail(removed, 1);
}

int CheckDaemon(const ConfigFlags& flags) {
  const absl::StatusOr<Settings> settings = LoadSettings(flags);
  if (!settings.ok()) return Refuse(settings.status());
  absl::PrintF("%s\n", ConfigToJson(settings->config));
  if (absl::Status root = RequireRoot(); !root.ok()) {
    return Refuse(absl::FailedPreconditionError(
        absl::StrCat("the host was not probed: ", root.message())));
  }
  sandbox::HostReport host = sandbox::ProbeHost(DiskPlaces(settings->config));
  const absl::Status layers =
      sandbox::RequireLayers(host, settings->config.excuse_missing);
  absl::PrintF("\nkernel %s\n%-24s %-14s %-9s %s\n", host.kernel, "layer",
               "state", "required", "detail");
  for (const sandbox::Layer& layer : host.layers) {
    const char* state =
        layer.state == sandbox::LayerState::kInForce   ? "in force"
        : layer.state == sandbox::LayerState::kExcused ? "excused"
                                                       : "not available";
    absl::PrintF("%-24s %-14s %-9s %s\n", layer.name, state,
                 layer.required ? "yes" : "no", layer.detail);
  }
  if (!layers.ok()) return Refuse(layers);
  if (absl::Status traceable = CheckTracing(*settings); !traceable.ok()) {
    return Refuse(traceable);
  }
  for (const auto& [key, path] :
       {std::pair("spawner", settings->config.spawner),
        std::pair("egress.path", settings->config.egress.path)}) {
    if (::access(path.c_str(), X_OK) == 0) continue;
    return Refuse(absl::FailedPreconditionError(
        absl::StrCat("there is no executable ", path, "; set \"", key, "\"")));
  }
  const std::vector<std::string> wrong =
      CheckPlaces(settings->config, settings->identity.uid);
  for (const std::string& what : wrong) {
    Refuse(absl::FailedPreconditionError(what));
  }
  return wrong.empty() ? 0 : kExitBadConfig;
}

}  // namespace sandglass::server
