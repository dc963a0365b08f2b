#include "server/daemon/daemon_start.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sandbox/wire/descriptor_room.h"
#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/base/log.h"
#include "server/base/memory_budget.h"
#include "server/base/notify.h"
#include "server/base/random_id.h"
#include "server/base/strings.h"
#include "server/base/tcp_socket.h"
#include "server/base/version.h"
#include "server/daemon/daemon.h"
#include "server/daemon/daemon_signals.h"
#include "server/daemon/descriptor_budget.h"
#include "server/daemon/pool_plan.h"
#include "server/daemon/running_daemon.h"
#include "server/daemon/wall_clock_watch.h"
#include "server/edge/identity_service.h"
#include "server/edge/socket_tap.h"
#include "server/languages/fill_jail.h"
#include "server/rpc/node_service.h"
#include "server/rpc/services.h"
#include "server/session/jail_host.h"

namespace sandglass::server {
namespace {

// The server waits for so long for the languages' versions, so that the first
// answer of GetServerInfo already has them. Clients that connect meanwhile wait
// in the backlog.
constexpr absl::Duration kVersionsWait = absl::Seconds(2);
// The same for the first try of the isolation.
constexpr absl::Duration kIsolationWait = absl::Seconds(2);
// The room for requests that are being received, of all callers together: so
// many bytes, or the bytes of so many messages of the largest size if that is
// more.
constexpr uint64_t kRequestRoomBytes = uint64_t{512} << 20;
constexpr uint64_t kRequestRoomMessages = 16;
constexpr uint64_t kStreamBudgetBytes = uint64_t{256} << 20;
// A stream's last event surrounds the response with a few fields.
constexpr uint64_t kEnvelopeBytes = 4096;

// The directories to which the daemon writes, by the configuration.
std::vector<std::string> WrittenTo(const Config& config) {
  std::vector<std::string> directories = {config.state_dir, config.cache_dir};
  for (const std::string& directory :
       {config.audit.dir, config.sessions.durable_dir, config.libraries.dir,
        config.identity.tokens_dir}) {
    if (!directory.empty()) directories.push_back(directory);
  }
  return directories;
}

DescriptorNeeds DescriptorBudget(const Config& config) {
  return FindDescriptorNeeds(config, sandbox::MaxDescriptors());
}

Acceptor::Handover HandoverTo(GrpcServer& server) {
  return [&server](int fd) { server.Serve(fd); };
}

}  // namespace

// ORDER: each step may use what the steps before it made.
absl::Status RunningDaemon::Start() {
  SetNodeName(config_.node_name);
  if (absl::Status done = WatchProcess(); !done.ok()) return done;
  if (absl::Status done = StartAudit(); !done.ok()) return done;
  StartPool();
  StartLanguages();
  operations_.StartWatch({.policy = &policy_,
                          .runner = &*router_,
                          .daemon = this,
                          .audit = audit_.get(),
                          .directories = WrittenTo(config_)});
  StartCompileCache();
  StartSessions();
  StartRuns();
  StartReload();
  if (absl::Status done = StartExecs(); !done.ok()) return done;
  if (absl::Status done = OpenCredentials(); !done.ok()) return done;
  MakeServices();
  if (absl::Status done = ServeOperations(); !done.ok()) return done;
  // Clients that connect before the server runs wait in the backlog.
  if (absl::Status done = Listen(); !done.ok()) return done;
  if (absl::Status done = StartGrpc(); !done.ok()) return done;
  WaitForFirstAnswers();
  if (absl::Status done = StartAccepting(); !done.ok()) return done;
  TellStarted();
  return absl::OkStatus();
}

absl::Status RunningDaemon::WatchProcess() {
  absl::StatusOr<os::Fd> signals = OpenDaemonSignals();
  if (!signals.ok()) return signals.status();
  signals_ = *std::move(signals);
  // ORDER: a thread from before would take signals that are meant for the loop.
  parts_.helper_output->Start();
  helper_died_ = os::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!helper_died_.valid()) {
    return absl::InternalError(absl::StrCat("eventfd: ", ErrorText(errno)));
  }
  clock_set_ = WatchWallClock();
  return parts_.sandbox->StartReader(
      [fd = helper_died_.get()](const absl::Status& status) {
        Log(LogLevel::kError, "helper_died",
            {{"error", std::string(status.message())}});
        ::eventfd_write(fd, 1);
      },
      [](const std::string& yard, const absl::Status& status) {
        Log(LogLevel::kError, "spawner_lost",
            {{"yard", yard},
             {"error", std::string(status.message())},
             {"effect", "others of its kind go on"}});
      });
}

absl::Status RunningDaemon::StartAudit() {
  absl::StatusOr<std::unique_ptr<DaemonAudit>> log = DaemonAudit::Start(
      std::move(parts_.audit_directory), config_, *policy_.Get());
  if (!log.ok()) return log.status();
  audit_ = *std::move(log);
  if (config_.trace_syscalls) {
    denied_.emplace([this](const RefusedCallLog::Source& source,
                           const sandbox::RefusedCalls& calls) {
      operations_.metrics().RecordRefusedCalls(source.language, calls);
    });
  }
  return absl::OkStatus();
}

void RunningDaemon::StartPool() {
  pool_.emplace(PlanPool(config_.pool, *policy_.Get(), parts_.settings.zygotes,
                         prestart_),
                operations_.Recording([this](const JailKey& key,
                                             sandbox::FillFor fill_for) {
                  return FillJail(*parts_.sandbox, prestart_, key, fill_for);
                }),
                [](sandbox::Jail& jail) { return jail.WaitsQuietly(); });
  pool_->Start();
  if (!parts_.libraries) return;
  install_runner_.emplace(operations_.readiness(), *parts_.sandbox, *pool_);
  parts_.libraries->runner = &*install_runner_;
  parts_.libraries->unpacker = parts_.unpacker.get();
  parts_.libraries->policy = &policy_;
  libraries_.emplace(*std::move(parts_.libraries));
}

void RunningDaemon::StartLanguages() {
  gate_.emplace(operations_, languages_);
  host_parts_ = {
      .sandbox = parts_.sandbox.get(),
      .pool = &*pool_,
      .languages = &*gate_,
      .libraries = libraries_ ? &*libraries_ : nullptr,
      .no_libraries = parts_.no_libraries,
      .fork_memory = std::make_shared<DiskBudget>(config_.sessions.fork_bytes),
      .denied = denied_ ? &*denied_ : nullptr};
  router_.emplace(host_parts_);
  // Interpreters may need what is prepared for them.
  languages_.emplace(
      policy_, std::move(parts_.prepared), *router_,
      [this](const policy::Language& language) {
        for (const JailKey& key : prestart_.FromStart(language)) {
          pool_->Keep(key);
        }
      },
      [this](const absl::Status& all_work) {
        operations_.readiness().Set(ReadyWhen::kLanguages, all_work);
      });
  if (!config_.canaries) languages_->SkipCanaries();
  languages_->Start();
}

void RunningDaemon::StartCompileCache() {
  if (!parts_.compiled) return;
  compile_cache_.emplace(*std::move(parts_.compiled), parts_.image_states[""],
                         config_.compile_cache);
  for (const policy::Image& image : config_.images) {
    compile_cache_->AddImage(image.name, parts_.image_states[image.name],
                             image.root);
  }
  compile_cache_->Start();
}

void RunningDaemon::StartSessions() {
  sessions_.emplace(
      policy_, config_.sessions,
      [this](const SessionSpec& spec, const SessionOrigin& origin) {
        return std::make_unique<JailHost>(host_parts_, spec, origin);
      },
      *gate_, parts_.sessions.get(), audit_ ? &audit_->trail() : nullptr);
  sessions_->Start();
}

void RunningDaemon::StartRuns() {
  RunAudit* const audit = audit_ ? &audit_->runs() : nullptr;
  approvals_.emplace(config_.approvals, audit);
  dispatcher_.emplace(DispatcherOptions{
      .admission = config_.admission,
      .retention = config_.retention,
      .max_response_bytes = config_.max_message_bytes - kEnvelopeBytes,
      .policy = &policy_,
      .runner = &*router_,
      .gate = &*gate_,
      .sessions = &*sessions_,
      .compile_cache = compile_cache_ ? &*compile_cache_ : nullptr,
      .libraries = libraries_ ? &*libraries_ : nullptr,
      .no_libraries = parts_.no_libraries,
      .approvals = &*approvals_,
      .audit = audit,
      .denied = denied_ ? &*denied_ : nullptr,
      .watcher = &operations_});
  if (parts_.budgets_directory.valid()) {
    budgets_.emplace(std::move(parts_.budgets_directory), config_.state_dir,
                     dispatcher_->admission());
  }
  dispatcher_->Start();
}

void RunningDaemon::StartReload() {
  reload_.emplace(config_.policy_dir, policy_,
                  static_cast<PolicyReloadHooks&>(*this));
  reload_->Start();
  if (HangUpCameEarly()) reload_->Ask();
}

absl::Status RunningDaemon::StartExecs() {
  call_threads_.emplace(CallThreadsOptions{});
  execs_.emplace(
      ExecTableParts{.policy = &policy_,
                     .sessions = &*sessions_,
                     .threads = &*call_threads_,
                     .runs = &*dispatcher_,
                     .audit = audit_ ? &audit_->trail() : nullptr,
                     .watcher = &operations_,
                     .gate = &*gate_,
                     .max_running = DescriptorBudget(config_).commands});
  return execs_->Start();
}

absl::Status RunningDaemon::OpenCredentials() {
  std::unique_ptr<TokenStore> tokens;
  if (parts_.tokens_directory.valid()) {
    absl::StatusOr<std::unique_ptr<TokenStore>> opened = TokenStore::Open(
        std::move(parts_.tokens_directory), config_.identity.tokens_dir);
    if (!opened.ok()) return opened.status();
    tokens = *std::move(opened);
  }
  std::unique_ptr<JwtVerifier> jwt;
  if (!config_.identity.jwt.empty()) {
    absl::StatusOr<std::unique_ptr<JwtVerifier>> made =
        JwtVerifier::Make(config_.identity.jwt);
    if (!made.ok()) return made.status();
    jwt = *std::move(made);
  }
  IdentityRecorder* const recorder = this;
  credentials_.emplace(
      std::move(tokens), recorder,
      [this](const std::string& tenant) {
        const std::shared_ptr<const PolicySet> policy = policy_.Get();
        const policy::Tenant* is = policy->tenants()->Find(tenant);
        if (is == nullptr) return Credentials::Rules();
        return Credentials::Rules{.shares = is->shares,
                                  .streams = is->ceilings.streams,
                                  .message_bytes = is->ceilings.message_bytes};
      },
      std::move(jwt));
  peers_.emplace(std::max(PeerTable::kAnswerBytes,
                          kMaxAnswersAtOnce * config_.max_message_bytes),
                 &*credentials_);
  return absl::OkStatus();
}

void RunningDaemon::MakeServices() {
  info_ = {.policy = &policy_,
           .languages = &*languages_,
           .admission = &dispatcher_->admission(),
           .host = parts_.host,
           .started = Now(),
           .daemon = this,
           .compile_cache = compile_cache_ ? &*compile_cache_ : nullptr,
           .images = parts_.settings.image_records};
  questions_.emplace(policy_, *dispatcher_, config_.policy_dir,
                     sandbox::WhyNoDiskCap(info_.host));
  layer_admin_.emplace(LayerAdminParts{&policy_, &*pool_,
                                       libraries_ ? &*libraries_ : nullptr,
                                       parts_.no_libraries});
  services_.push_back(
      MakeSandboxService(*dispatcher_, *peers_, info_, kStreamBudgetBytes));
  services_.push_back(MakeSessionService(*sessions_, *call_threads_, *peers_));
  services_.push_back(MakeFileService(*sessions_, *call_threads_, *peers_));
  services_.push_back(MakeExecService(*execs_, *peers_));
  services_.push_back(
      MakePortService(*sessions_, *call_threads_, execs_->loop(), *peers_));
  services_.push_back(MakePolicyService(*approvals_, *questions_, *peers_));
  services_.push_back(MakeLayerService(*layer_admin_, *call_threads_, *peers_));
  services_.push_back(
      MakeOperatorService(operations_, *call_threads_, *peers_));
  services_.push_back(MakeIdentityService(*call_threads_, *peers_));
  services_.push_back(
      MakeNodeService({.name = config_.node_name,
                       .offer = [this] { return MakeOffer(); },
                       .load = [this] { return MakeLoad(); },
                       .over = [this] { return serving_over_.load(); }},
                      *peers_));
}

node::v1::Offer RunningDaemon::MakeOffer() const {
  const std::shared_ptr<const PolicySet> policy = policy_.Get();
  node::v1::Offer offer;
  for (const policy::Language& language : policy->languages().languages()) {
    if (!Usable(language).ok()) continue;
    offer.add_languages(language.id);
    for (const std::string& alias : language.aliases) {
      (*offer.mutable_aliases())[alias] = language.id;
    }
  }
  for (const policy::SharedProfile& profile : policy->profiles()) {
    offer.add_profiles(profile->name);
  }
  for (const std::string& image : policy->languages().images()) {
    offer.add_images(image);
  }
  offer.set_version(kVersion);
  return offer;
}

node::v1::Load RunningDaemon::MakeLoad() const {
  const Admission& admission = dispatcher_->admission();
  const Admission::Snapshot now = admission.snapshot();
  node::v1::Load load;
  load.set_draining(!operations_.readiness().Ready());
  load.set_max_running(admission.options().max_running);
  load.set_running(now.running);
  load.set_max_queued(admission.options().max_queued);
  load.set_queued(now.queued);
  load.set_memory_budget_bytes(admission.options().memory_budget_bytes);
  load.set_memory_reserved_bytes(now.memory_reserved_bytes);
  load.set_max_sessions(config_.sessions.max());
  load.set_sessions(static_cast<uint32_t>(sessions_->size()));
  load.set_available_memory_bytes(
      static_cast<uint64_t>(std::max(int64_t{0}, SpareBesidePrograms())));
  return load;
}

absl::Status RunningDaemon::ServeOperations() {
  return operations_.Serve(config_.metrics,
                           {.admission = &dispatcher_->admission(),
                            .started = info_.started,
                            .daemon = this,
                            .audit = audit_ ? &audit_->log() : nullptr,
                            .on_audit_failure = config_.audit.trail.on_failure},
                           compile_cache_ ? &*compile_cache_ : nullptr);
}

absl::Status RunningDaemon::Listen() {
  if (!parts_.listener.valid()) {
    absl::StatusOr<os::Fd> tcp =
        ListenOnTcp("listen", config_.listen.tcp_address);
    if (!tcp.ok()) return tcp.status();
    parts_.listener = *std::move(tcp);
  }
  if (config_.listen.unix_path.empty()) {
    tcp_port_ = TcpPortOf(parts_.listener);
  }
  for (const os::Fd& listener : parts_.tls_listeners) {
    tls_ports_.push_back(TcpPortOf(listener));
  }
  parts_.listeners->Keep(parts_.listener);
  return absl::OkStatus();
}

absl::Status RunningDaemon::StartGrpc() {
  request_room_.emplace(std::max(
      kRequestRoomBytes, kRequestRoomMessages * config_.max_message_bytes));
  absl::StatusOr<std::unique_ptr<GrpcServer>> grpc = GrpcServer::Start(
      services_,
      {.max_message_bytes = static_cast<int>(config_.max_message_bytes),
       .record =
           [this](const char* method, int code, absl::Duration took) {
             operations_.metrics().RecordCall(method, code, took);
           },
       .calls = &peers_->calls(),
       .health_services = {Readiness::Services().begin(),
                           Readiness::Services().end()}});
  if (!grpc.ok()) return grpc.status();
  grpc_ = *std::move(grpc);
  return CheckTaps(HandoverTo(*grpc_));
}

void RunningDaemon::WaitForFirstAnswers() const {
  if (!languages_->WaitForVersions(kVersionsWait)) {
    Log(LogLevel::kWarning, "languages_slow");
  }
  if (!operations_.watch().WaitForFirst(kIsolationWait)) {
    Log(LogLevel::kWarning, "isolation_slow");
  }
}

absl::Status RunningDaemon::StartAccepting() {
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = Acceptor::Start(
      std::move(parts_.listener), *peers_, *request_room_, HandoverTo(*grpc_),
      {.max_connections = DescriptorBudget(config_).connections,
       .max_message_bytes = static_cast<uint32_t>(config_.max_message_bytes),
       .accounts = config_.identity.accounts,
       .tls = parts_.tls.get()});
  if (!acceptor.ok()) return acceptor.status();
  acceptor_ = *std::move(acceptor);
  if (parts_.tls != nullptr) {
    absl::StatusOr<std::unique_ptr<TlsListener>> tls = TlsListener::Start(
        std::move(parts_.tls_listeners), *parts_.tls, config_.identity,
        std::bind_front(&Acceptor::Offer, acceptor_.get()), {});
    if (!tls.ok()) return tls.status();
    tls_listener_ = *std::move(tls);
  }
  WatchCredentials();
  operations_.readiness().Start(
      [server = grpc_.get()](const std::string& service, bool serving) {
        server->SetHealth(service, serving);
      });
  return absl::OkStatus();
}

void RunningDaemon::TellStarted() const {
  const std::string address =
      tcp_port_ == 0
          ? config_.listen.ToString()
          : absl::StrCat(config_.listen.tcp_address.substr(
                             0, config_.listen.tcp_address.rfind(':')),
                         ":", tcp_port_);
  for (size_t i = 0; i < tls_ports_.size(); ++i) {
    const std::string& text = config_.listen_tls[i].tcp_address;
    Log(LogLevel::kInfo, "listening with TLS",
        {{"address",
          absl::StrCat(text.substr(0, text.rfind(':') + 1), tls_ports_[i])},
         {"certificate_until",
          absl::FormatTime(CertificateEnd(parts_.tls->Get()))},
         {"client_certificates", config_.tls.client_ca.empty() ? "none"
                                 : config_.tls.client_required ? "required"
                                                               : "optional"}});
  }
  Log(LogLevel::kInfo, "listening on",
      {{"address", address},
       {"version", std::string(kVersion)},
       {"pid", int64_t{::getpid()}},
       {"uid", uint64_t{::getuid()}},
       {"max_running", uint64_t{config_.admission.max_running}},
       {"memory_budget_bytes", config_.admission.memory_budget_bytes}});
  NotifyServiceManager("READY=1");
}

int FailStart(const absl::Status& status, int exit_status) {
  Log(LogLevel::kError, "start_failed",
      {{"error", std::string(WithPage(status, kStartPage).message())}});
  return exit_status;
}

int Serve(ServingParts parts) {
  RunningDaemon serving(std::move(parts));
  if (absl::Status started = serving.Start(); !started.ok()) {
    return FailStart(started, 1);
  }
  return serving.Run();
}

}  // namespace sandglass::server
