#include "server/daemon/privileged_start.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sandbox/os/process.h"
#include "sandbox/os/status.h"
#include "sandbox/yard/egress_port.h"
#include "server/base/log.h"
#include "server/base/memory_budget.h"
#include "server/base/state_dir.h"
#include "server/base/tcp_socket.h"
#include "server/base/unix_socket.h"
#include "server/daemon/config_doubts.h"
#include "server/daemon/egress_start.h"
#include "server/daemon/library_setup.h"
#include "server/daemon/own_walls.h"
#include "server/daemon/policy_acceptance.h"
#include "server/daemon/preflight_helpers.h"
#include "server/daemon/preflight_places.h"
#include "server/daemon/supervisor.h"
#include "server/daemon/uid_range.h"
#include "server/live_policy/secret_files.h"

namespace sandglass::server {
namespace {

// Jails that the spawner makes in advance, for runs for which the pool has
// nothing.
constexpr uint32_t kSpareJails = 2;
// More would only wait for locks of the kernel.
constexpr uint32_t kMaxParallelRaises = 8;

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

// Of what tenants have used of their budgets.
std::string BudgetsPlace(const Config& config) {
  return absl::StrCat(config.cache_dir, "/budgets");
}

// Without a store, languages that need it are not offered.
std::optional<PreparedStore> OpenPreparedStore(const ResolvedConfig& settings) {
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
std::optional<CompileStore> OpenCompileStore(const ResolvedConfig& settings) {
  if (settings.config.compile_cache.max_bytes == 0) return std::nullopt;
  absl::StatusOr<CompileStore> store =
      CompileStore::Open(absl::StrCat(settings.config.cache_dir, "/compiled"),
                         settings.identity.uid, settings.identity.gid);
  if (store.ok()) return *std::move(store);
  Log(LogLevel::kWarning, "no_compile_cache",
      {{"error", std::string(store.status().message())}});
  return std::nullopt;
}

// Empty: there is no place, or nobody has a budget.
os::Fd OpenBudgets(const ResolvedConfig& settings) {
  if (settings.config.tenants_dir.empty()) return {};
  absl::StatusOr<os::Fd> directory =
      AdoptDirectory(BudgetsPlace(settings.config), settings.identity.uid,
                     settings.identity.gid, 0700, "cache_dir", Holds::kItsOwn);
  if (directory.ok()) return *std::move(directory);
  Log(LogLevel::kWarning, "no_place_for_budgets",
      {{"error", std::string(directory.status().message())},
       {"so",
        "what tenants use of budgets is forgotten when the daemon ends"}});
  return {};
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
  bool budgets = false;
};
std::vector<std::string> WrittenPlaces(const Config& config,
                                       const Opened& opened) {
  std::vector<std::string> places;
  for (const std::string& place :
       {opened.prepared,
        opened.compiled ? absl::StrCat(config.cache_dir, "/compiled") : "",
        opened.libraries ? config.libraries.dir : "",
        opened.budgets ? BudgetsPlace(config) : "", config.audit.dir,
        config.sessions.durable_dir, config.identity.tokens_dir}) {
    if (!place.empty()) places.push_back(place);
  }
  return places;
}

// The exit status tells whether only another configuration or another host can
// help.
int FailedStart(const absl::Status& status) {
  return FailStart(status,
                   absl::IsFailedPrecondition(status) ? kExitBadConfig : 1);
}

}  // namespace

std::optional<int> PrivilegedStart::AcquirePlaces(KeptListeners& listeners) {
  if (absl::Status made = MakeDirectories(config_.state_dir); !made.ok()) {
    return FailedStart(made);
  }
  if (absl::Status own = CheckNobodyElses("state_dir", config_.state_dir,
                                          settings_.identity.uid);
      !own.ok()) {
    return FailStart(own, kExitBadConfig);
  }
  absl::StatusOr<os::Fd> lock = LockStateDir(config_.state_dir);
  if (!lock.ok()) return FailStart(lock.status(), 1);
  lock_ = *std::move(lock);
  absl::StatusOr<os::Fd> ids = HoldUidRange(settings_.ids);
  if (!ids.ok()) return FailStart(ids.status(), 1);
  ids_ = *std::move(ids);
  parts_.listener = listeners.Take(config_.listen);
  // Check this before anything is made that only root could remove again.
  Config to_bind = config_;
  if (parts_.listener.valid()) to_bind.listen.tcp_address.clear();
  if (absl::Status free = CheckPorts(to_bind); !free.ok()) {
    return FailStart(free, 1);
  }

  for (const absl::Status& helper : CheckHelpers(config_)) {
    if (!helper.ok()) return FailedStart(helper);
  }
  absl::StatusOr<ReloadRecord> reloads = ReloadRecord::Make(config_.state_dir);
  if (!reloads.ok()) return FailStart(reloads.status(), 1);
  parts_.reloads = *std::move(reloads);
  return std::nullopt;
}

std::optional<int> PrivilegedStart::LookAtHost() {
  parts_.host = sandbox::ProbeHost(DiskPlaces(config_));
  const absl::Status layers =
      sandbox::RequireLayers(parts_.host, config_.excuse_missing);
  LogHost(parts_.host);
  WarnOfDiskCaps(settings_.policy, parts_.host);
  if (!layers.ok()) return FailStart(layers, kExitBadConfig);
  if (absl::Status traceable = CheckTracing(settings_); !traceable.ok()) {
    return FailStart(traceable, kExitBadConfig);
  }
  for (const std::string& doubt : ConfigDoubts(config_, MachineMemory())) {
    Log(LogLevel::kWarning, "config_doubt", {{"because", doubt}});
  }
  if (const std::string small = WhyNoneFits(config_, settings_.policy);
      !small.empty()) {
    Log(LogLevel::kWarning, "nothing_fits", {{"error", small}});
  }
  if (config_.trace_syscalls) {
    Log(LogLevel::kWarning, "tracing_syscalls",
        {{"so", "runs take longer and no zygotes are used"}});
  }
  return std::nullopt;
}

void PrivilegedStart::OpenStores() {
  parts_.prepared = OpenPreparedStore(settings_);
  NamePreparedDirs(settings_.policy);
  parts_.compiled = OpenCompileStore(settings_);
  parts_.budgets_directory = OpenBudgets(settings_);
  const bool installs = !config_.libraries.dir.empty();
  if (parts_.compiled || installs) {
    parts_.image_states = AllImageStates(config_.images, config_.host_etc);
  }
  if (parts_.compiled && parts_.image_states[""].empty()) {
    Log(LogLevel::kWarning, "no_compile_cache",
        {{"error", "the state of the image can't be told"}});
    parts_.compiled.reset();
  }
}

std::optional<int> PrivilegedStart::PlanJails() {
  absl::StatusOr<sandbox::TemplateLedger> ledger =
      sandbox::TemplateLedger::Create();
  if (!ledger.ok()) return FailStart(ledger.status(), 1);
  ledger_ = *std::move(ledger);
  absl::StatusOr<os::Fd> spawners_end = ledger_->ReadingEnd();
  if (!spawners_end.ok()) return FailStart(spawners_end.status(), 1);
  spawners_end_ = *std::move(spawners_end);
  absl::StatusOr<sandbox::EgressOptions> egress =
      MakeEgressOptions(config_.egress);
  if (!egress.ok()) return FailStart(egress.status(), kExitBadConfig);
  egress_ = *std::move(egress);
  parts_.secrets = SecretNames(egress_);
  if (absl::Status known = CheckSecrets(settings_.policy, parts_.secrets);
      !known.ok()) {
    return FailStart(known, kExitBadConfig);
  }
  templates_ = settings_.policy.templates();
  absl::StatusOr<std::optional<LibrariesParts>> libraries =
      PrepareLibraries(config_.libraries, settings_.policy, settings_.identity,
                       parts_.image_states, templates_, parts_.no_libraries);
  if (!libraries.ok()) return FailStart(libraries.status(), kExitBadConfig);
  parts_.libraries = *std::move(libraries);
  if (!parts_.libraries) return std::nullopt;
  for (PlannedZygote& zygote : PlanLayerZygotes(
           config_, settings_.policy, settings_.identity, *parts_.libraries)) {
    settings_.zygotes.push_back(std::move(zygote));
  }
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<sandbox::Sandbox>>
PrivilegedStart::StartSandbox() {
  std::vector<sandbox::ZygoteOptions> zygotes;
  for (const PlannedZygote& zygote : settings_.zygotes) {
    zygotes.push_back(zygote.options);
  }
  return sandbox::Sandbox::Start(
      {.spawner_path = config_.spawner,
       .state_dir = config_.state_dir,
       .instance = InstanceName(config_.state_dir),
       .cgroup_parent = config_.cgroup_parent,
       .uids = settings_.uids,
       .max_jails = MaxJails(config_),
       .spare_jails = config_.pool.floor == 0 ? 0 : kSpareJails,
       .parallel_raises = std::clamp(std::thread::hardware_concurrency(), 2u,
                                     kMaxParallelRaises),
       .exec_yards = config_.spawners,
       .prepared_dir = parts_.prepared ? parts_.prepared->directory() : "",
       .layers_dir = parts_.libraries ? config_.libraries.dir : "",
       .images = config_.images,
       .host_etc = config_.host_etc,
       .authority_certificate = egress_.authority_certificate,
       .templates = templates_,
       .template_ledger = spawners_end_.get(),
       .zygotes = std::move(zygotes),
       .trace_calls = config_.trace_syscalls},
      parts_.host);
}

absl::Status PrivilegedStart::StartHelperProcesses() {
  absl::StatusOr<std::unique_ptr<sandbox::Sandbox>> sandbox = StartSandbox();
  if (!sandbox.ok()) return sandbox.status();
  parts_.sandbox = *std::move(sandbox);
  // ORDER: these helpers come after the daemon has moved into its own control
  // group, since a group that holds a third process isn't recognised as
  // delegated.
  egress_.uid = settings_.egress_uid;
  egress_.templates = templates_;
  egress_.template_ledger = spawners_end_.get();
  absl::StatusOr<std::unique_ptr<sandbox::EgressPort>> egress =
      StartEgress(std::move(egress_));
  if (!egress.ok()) return egress.status();
  parts_.sandbox->SetEgress(*std::move(egress));
  spawners_end_.reset();
  absl::StatusOr<std::unique_ptr<PolicyReader>> reader = PolicyReader::Start(
      config_.policy_dir, settings_.policy, *std::move(ledger_),
      settings_.reader_uid, settings_.identity.gid);
  if (!reader.ok()) return reader.status();
  parts_.policy_reader = *std::move(reader);
  if (!config_.listen_tls.empty()) {
    absl::StatusOr<std::unique_ptr<TlsFileReader>> files = TlsFileReader::Start(
        config_.tls, settings_.reader_uid, settings_.identity.gid);
    if (!files.ok()) return files.status();
    parts_.tls_reader = *std::move(files);
  }
  if (!parts_.libraries) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<UnpackHelper>> unpacker = UnpackHelper::Start(
      config_.libraries.dir, settings_.identity.uid, settings_.identity.gid);
  if (!unpacker.ok()) return unpacker.status();
  parts_.unpacker = *std::move(unpacker);
  return absl::OkStatus();
}

std::optional<int> PrivilegedStart::StartHelpers() {
  // Starting the sandbox sweeps too, and says what keeps it from doing that.
  if (const absl::Status swept = sandbox::Sandbox::Sweep(
          config_.state_dir, InstanceName(config_.state_dir));
      absl::IsFailedPrecondition(swept)) {
    Log(LogLevel::kWarning, "control_groups_left",
        {{"because", std::string(swept.message())}});
  }
  absl::StatusOr<std::unique_ptr<HelperOutput>> output = HelperOutput::Create();
  if (!output.ok()) return FailStart(output.status(), 1);
  parts_.helper_output = *std::move(output);
  parts_.helper_output->Divert();
  const absl::Status started = StartHelperProcesses();
  // What they wrote comes before the error that it explains.
  parts_.helper_output->EndDiversion();
  if (!started.ok()) return FailStart(started, 1);
  return std::nullopt;
}

std::optional<int> PrivilegedStart::OpenKeptPlaces() {
  if (!config_.sessions.durable_dir.empty()) {
    absl::StatusOr<std::unique_ptr<SessionStore>> store = SessionStore::Open(
        config_.sessions.durable_dir, settings_.identity.uid,
        settings_.identity.gid, config_.sessions.durable_bytes);
    if (!store.ok()) return FailedStart(store.status());
    parts_.sessions = *std::move(store);
  }
  if (!config_.audit.dir.empty()) {
    absl::StatusOr<os::Fd> directory = AdoptDirectory(
        config_.audit.dir, settings_.identity.uid, settings_.identity.gid, 0750,
        "audit.dir", Holds::kItsOwn);
    if (!directory.ok()) return FailedStart(directory.status());
    parts_.audit_directory = *std::move(directory);
  }
  if (!config_.identity.tokens_dir.empty()) {
    absl::StatusOr<os::Fd> directory = AdoptDirectory(
        config_.identity.tokens_dir, settings_.identity.uid,
        settings_.identity.gid, 0700, "identity.tokens_dir", Holds::kItsOwn);
    if (!directory.ok()) return FailedStart(directory.status());
    parts_.tokens_directory = *std::move(directory);
  }
  return std::nullopt;
}

std::optional<int> PrivilegedStart::BindTls() {
  if (config_.listen_tls.empty()) return std::nullopt;
  const absl::StatusOr<TlsFiles> files = ReadTlsFiles(config_.tls);
  if (!files.ok()) return FailStart(files.status(), kExitBadConfig);
  absl::StatusOr<SharedTls> tls = MakeTls(config_.tls, *files, absl::Now());
  if (!tls.ok()) return FailStart(tls.status(), kExitBadConfig);
  parts_.tls =
      std::make_unique<TlsContext>(config_.tls, *files, *std::move(tls));
  for (const ListenAddress& address : config_.listen_tls) {
    absl::StatusOr<os::Fd> bound =
        ListenOnTcp("listen", address.tcp_address, Ipv4::kNot);
    if (!bound.ok()) return FailStart(bound.status(), 1);
    parts_.tls_listeners.push_back(*std::move(bound));
  }
  return std::nullopt;
}

std::optional<int> PrivilegedStart::BindSocket() {
  if (config_.listen.unix_path.empty()) return std::nullopt;
  const UnixSocketOptions options = {
      .path = config_.listen.unix_path,
      .mode = config_.socket_mode,
      // In a user namespace, root is the user who made the namespace and who
      // is nobody special outside.
      .owner = settings_.own_user_namespace ? 0 : settings_.identity.uid,
      .group = settings_.socket_group};
  if (parts_.listener.valid()) {
    const absl::Status set = SetSocketAccess(options);
    if (!set.ok()) return FailStart(set, 1);
    return std::nullopt;
  }
  absl::StatusOr<os::Fd> bound = ListenOnUnixSocket(options);
  if (!bound.ok()) return FailStart(bound.status(), 1);
  parts_.listener = *std::move(bound);
  return std::nullopt;
}

std::optional<int> PrivilegedStart::DropRights(Heartbeat* supervisor,
                                               pid_t parent) {
  absl::StatusOr<OwnWalls> walls = OwnWalls::Prepare(WrittenPlaces(
      config_, {.prepared = parts_.prepared ? parts_.prepared->directory() : "",
                .compiled = parts_.compiled.has_value(),
                .libraries = parts_.libraries.has_value(),
                .budgets = parts_.budgets_directory.valid()}));
  if (!walls.ok()) return FailStart(walls.status(), 1);
  if (absl::Status dropped = sandbox::DropPrivileges(settings_.identity.uid,
                                                     settings_.identity.gid);
      !dropped.ok()) {
    return FailStart(dropped, 1);
  }
  if (supervisor != nullptr && !os::DieWithParent(parent)) {
    return FailStart(errno == ESRCH
                         ? absl::UnavailableError("the parent process has died")
                         : os::ErrnoStatus("prctl(PR_SET_PDEATHSIG)"),
                     1);
  }
  // ORDER: this comes after the rights are dropped, since it needs
  // no_new_privs, and before the first thread, since a thread has the walls of
  // the thread that made it.
  if (absl::Status raised = walls->Raise(); !raised.ok()) {
    return FailStart(raised, 1);
  }
  return std::nullopt;
}

ServingParts PrivilegedStart::Parts(Heartbeat* supervisor,
                                    KeptListeners& listeners) {
  parts_.supervisor = supervisor;
  parts_.listeners = &listeners;
  return std::move(parts_);
}

}  // namespace sandglass::server
