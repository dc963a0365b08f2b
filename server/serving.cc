#include "server/serving.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/acceptor.h"
#include "server/approvals.h"
#include "server/call_threads.h"
#include "server/clock.h"
#include "server/compile_cache.h"
#include "server/daemon_audit.h"
#include "server/daemon_signals.h"
#include "server/denied_calls.h"
#include "server/descriptor_shares.h"
#include "server/exec_service.h"
#include "server/exec_table.h"
#include "server/file_service.h"
#include "server/fill_jail.h"
#include "server/grpc_server.h"
#include "server/health.h"
#include "server/instant.h"
#include "server/jail_host.h"
#include "server/jail_pool.h"
#include "server/job_runner.h"
#include "server/languages.h"
#include "server/layer_service.h"
#include "server/libraries.h"
#include "server/notify.h"
#include "server/peers.h"
#include "server/policy_questions.h"
#include "server/policy_reload.h"
#include "server/policy_service.h"
#include "server/pool_plan.h"
#include "server/prestart_kinds.h"
#include "server/run_anywhere.h"
#include "server/run_dispatcher.h"
#include "server/server_info.h"
#include "server/service.h"
#include "server/session_service.h"
#include "server/session_table.h"
#include "server/text.h"
#include "server/wall_clock_watch.h"
#include "server/watchdog.h"

namespace sandglass::server {
namespace {

// Clients that connect meanwhile wait in the backlog, so that the first answer
// of GetServerInfo already has the versions.
constexpr absl::Duration kVersionsWait = absl::Seconds(2);
constexpr absl::Duration kKillWait = absl::Seconds(5);
constexpr absl::Duration kLastAnswersWait = absl::Seconds(1);
constexpr absl::Duration kLastReadsWait = absl::Milliseconds(100);
constexpr absl::Duration kDeadSpawnerWait = absl::Milliseconds(500);
constexpr absl::Duration kPolicyReadWait = absl::Seconds(10);
constexpr absl::Duration kAuditInterval = absl::Seconds(1);
constexpr absl::Duration kPollInterval = absl::Milliseconds(20);
constexpr uint64_t kStreamBudgetBytes = uint64_t{256} << 20;
// A stream's last event wraps the response in a few fields.
constexpr uint64_t kEnvelopeBytes = 4096;

int Fail(const absl::Status& status) {
  Log(LogLevel::kError, "start_failed",
      {{"error", std::string(status.message())}});
  return 1;
}

// The running daemon; members in the order of their making, so that they go in
// the reverse one.
class Serving {
 public:
  explicit Serving(ServingParts parts)
      : parts_(std::move(parts)),
        policy_(std::move(parts_.policy)),
        prestart_(policy_) {}

  absl::Status Start();
  // Until a signal or the spawner's death.
  int Run();

 private:
  enum class Wake { kNothing, kStop, kSpawnerDied };
  Wake WaitForWake(absl::Duration timeout);
  // What waits for a while waits by the wall clock.
  void NoteClockSet();
  // True when no run and no command that ends by itself is left; false when
  // time is up or something happened.
  bool WaitUntilIdle(absl::Duration timeout);
  void StartReload();
  // Another policy has come into force.
  void UsePolicy();
  // Whether runs are refused for want of an audit log.
  void ShowAuditHealth();
  void StopAccepting();
  int Drain();
  int EndWithoutSpawner();

  ServingParts parts_;
  LivePolicy policy_;
  const PrestartKinds prestart_;
  os::Fd signals_;
  os::Fd spawner_died_;
  os::Fd clock_set_;
  bool stopping_ = false;
  std::unique_ptr<DaemonAudit> audit_;  // null: there is none
  bool audit_healthy_ = true;
  std::optional<DeniedCalls> denied_;  // with --trace-syscalls
  std::optional<JailPool> pool_;
  Health health_;
  std::optional<LanguageProbe> languages_;
  std::optional<CompileCache> compile_cache_;
  std::optional<Libraries> libraries_;
  std::optional<SessionTable> sessions_;
  std::optional<ApprovalTable> approvals_;
  std::optional<RunDispatcher> dispatcher_;
  std::optional<PolicyQuestions> questions_;
  ServerInfoSources info_;
  PeerTable peers_;
  std::optional<SandboxServiceImpl> service_;
  std::optional<CallThreads> call_threads_;
  std::optional<SessionServiceImpl> session_service_;
  std::optional<FileServiceImpl> file_service_;
  std::optional<ExecTable> execs_;
  std::optional<ExecServiceImpl> exec_service_;
  std::optional<PolicyServiceImpl> policy_service_;
  std::optional<LayerAdmin> layer_admin_;
  std::optional<LayerServiceImpl> layer_service_;
  std::optional<PolicyReload> reload_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<Acceptor> acceptor_;
};

absl::Status Serving::Start() {
  absl::StatusOr<os::Fd> signals = TakeDaemonSignals();
  if (!signals.ok()) return signals.status();
  signals_ = *std::move(signals);
  spawner_died_ = os::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!spawner_died_.valid()) {
    return absl::InternalError(absl::StrCat("eventfd: ", ErrorText(errno)));
  }
  clock_set_ = WatchWallClock();
  absl::Status reading = parts_.sandbox->StartReader(
      [fd = spawner_died_.get()](const absl::Status& status) {
        Log(LogLevel::kError, "spawner_died",
            {{"error", std::string(status.message())}});
        ::eventfd_write(fd, 1);
      });
  if (!reading.ok()) return reading;

  const Config& config = parts_.config;
  absl::StatusOr<std::unique_ptr<DaemonAudit>> log = DaemonAudit::Start(
      std::move(parts_.audit_directory), config, *policy_.Get());
  if (!log.ok()) return log.status();
  audit_ = *std::move(log);
  RunAudit* const audit = audit_ ? &audit_->runs() : nullptr;
  if (config.trace_syscalls) denied_.emplace();
  pool_.emplace(
      PlanPool(config.pool, *policy_.Get(), parts_.zygotes, prestart_),
      [this](const JailKey& key, sandbox::FillFor fill_for) {
        return FillJail(*parts_.sandbox, prestart_, key, fill_for);
      },
      [](sandbox::Jail& jail) { return jail.WaitsQuietly(); });
  pool_->Start();
  FindLibraries find_libraries;
  if (parts_.libraries) {
    find_libraries = [this](const WantedLibraries& wanted,
                            const LayerBuilds::Progress& progress,
                            CancelToken& cancel) {
      return libraries_->Get(wanted, progress, cancel);
    };
  }
  const JailHostParts host = {
      .sandbox = parts_.sandbox.get(),
      .pool = &*pool_,
      .prepared =
          [this](const policy::Language& language) {
            return languages_->Prepared(language);
          },
      .find_libraries = find_libraries,
      .fork_memory = std::make_shared<DiskBudget>(config.sessions.fork_bytes),
      .denied = denied_ ? &*denied_ : nullptr};
  const RunFunction run = [host](const Job& job, CancelToken& cancel,
                                 JobObserver* observer) {
    return RunAnywhere(host, job, cancel, observer);
  };
  // Interpreters may need what is prepared for them.
  languages_.emplace(
      policy_, std::move(parts_.prepared), run,
      [this](const policy::Language& language) {
        for (const JailKey& key : prestart_.FromStart(language)) {
          pool_->Keep(key);
        }
      },
      [this](bool all_work) { health_.SetLanguagesWork(all_work); });
  if (!config.canaries) languages_->SkipCanaries();
  languages_->Start();
  if (parts_.compiled) {
    compile_cache_.emplace(*std::move(parts_.compiled), parts_.image_states[""],
                           config.compile_cache);
    for (const policy::Image& image : config.images) {
      compile_cache_->AddImage(image.name, parts_.image_states[image.name],
                               image.root);
    }
    compile_cache_->Start();
  }
  if (parts_.libraries) {
    parts_.libraries->run = run;
    libraries_.emplace(*std::move(parts_.libraries));
  }
  const auto available = [languages = &*languages_](
                             const policy::Language& language,
                             const policy::Profile& profile) {
    return languages->Available(language, profile);
  };
  sessions_.emplace(
      policy_, config.sessions,
      [host](const SessionSpec& spec, const SessionOrigin& origin) {
        return std::make_unique<JailHost>(host, spec, origin);
      },
      available, parts_.sessions.get(), audit);
  sessions_->Start();
  ApprovalRecorder record;
  if (audit != nullptr) {
    record = [audit](const char* event, const v1::Approval& approval) {
      return audit->WriteApproval(event, approval);
    };
  }
  approvals_.emplace(config.approvals, std::move(record));
  dispatcher_.emplace(DispatcherOptions{
      .policy = &policy_,
      .admission = config.admission,
      .retention = config.retention,
      .run = run,
      .compile_cache = compile_cache_ ? &*compile_cache_ : nullptr,
      .find_libraries = find_libraries,
      .find_session =
          [sessions = &*sessions_](const Caller& caller,
                                   const std::string& session_id) {
            return sessions->Find(caller, session_id);
          },
      .available = available,
      .prepared =
          [languages = &*languages_](const policy::Language& language) {
            return languages->Prepared(language);
          },
      .max_response_bytes = config.max_message_bytes - kEnvelopeBytes,
      .approvals = &*approvals_,
      .audit = audit,
      .denied = denied_ ? &*denied_ : nullptr});
  dispatcher_->Start();
  info_ = {.policy = &policy_,
           .languages = &*languages_,
           .admission = &dispatcher_->admission(),
           .host = parts_.host,
           .started = Monotonic::now(),
           .pool = [pool = &*pool_] { return pool->State(); },
           .compile_cache = compile_cache_ ? &*compile_cache_ : nullptr,
           .policy_state = [this] { return reload_->state(); },
           .images = parts_.image_records};
  StartReload();
  service_.emplace(*dispatcher_, peers_, info_, kStreamBudgetBytes);
  call_threads_.emplace(CallThreadsOptions{});
  session_service_.emplace(*sessions_, *call_threads_, peers_);
  file_service_.emplace(
      FileCallParts{.sessions = &*sessions_, .threads = &*call_threads_},
      peers_);
  execs_.emplace(ExecTableParts{.policy = &policy_,
                                .sessions = &*sessions_,
                                .threads = &*call_threads_,
                                .audit = audit,
                                .max_running = MaxCommands(config)});
  if (absl::Status started = execs_->Start(); !started.ok()) return started;
  exec_service_.emplace(*execs_, peers_);
  questions_.emplace(policy_, *dispatcher_, config.policy_dir,
                     sandbox::WhyNoDiskCap(info_.host));
  policy_service_.emplace(*approvals_, *questions_, peers_);
  layer_admin_.emplace(LayerAdminParts{&policy_, &*approvals_, &*pool_,
                                       libraries_ ? &*libraries_ : nullptr});
  layer_service_.emplace(*layer_admin_, *call_threads_, peers_);

  absl::StatusOr<std::unique_ptr<GrpcServer>> grpc = GrpcServer::Start(
      {&*service_, &*session_service_, &*file_service_, &*exec_service_,
       &*policy_service_, &*layer_service_},
      {.tcp_address = config.listen.tcp_address,
       .max_message_bytes = static_cast<int>(config.max_message_bytes)});
  if (!grpc.ok()) return grpc.status();
  grpc_ = *std::move(grpc);
  if (!languages_->WaitForVersions(kVersionsWait)) {
    Log(LogLevel::kWarning, "languages_slow");
  }
  if (parts_.unix_listener.valid()) {
    absl::StatusOr<std::unique_ptr<Acceptor>> acceptor =
        Acceptor::Start(std::move(parts_.unix_listener), peers_,
                        [server = grpc_.get()](int fd) { server->Serve(fd); },
                        {.max_connections = MaxConnections(config)});
    if (!acceptor.ok()) return acceptor.status();
    acceptor_ = *std::move(acceptor);
  }
  health_.StartServing(*grpc_);
  const std::string address =
      grpc_->tcp_port() == 0
          ? config.listen.ToString()
          : absl::StrCat(config.listen.tcp_address.substr(
                             0, config.listen.tcp_address.rfind(':')),
                         ":", grpc_->tcp_port());
  Log(LogLevel::kInfo, "listening on",
      {{"address", address},
       {"version", std::string(kVersion)},
       {"pid", int64_t{::getpid()}},
       {"uid", uint64_t{::getuid()}},
       {"max_running", uint64_t{config.admission.max_running}},
       {"memory_budget_bytes", config.admission.memory_budget_bytes}});
  NotifyServiceManager("READY=1");
  return absl::OkStatus();
}

Serving::Wake Serving::WaitForWake(absl::Duration timeout) {
  pollfd fds[] = {{signals_.get(), POLLIN, 0},
                  {spawner_died_.get(), POLLIN, 0},
                  {clock_set_.get(), POLLIN, 0}};
  const int timeout_ms =
      timeout == absl::InfiniteDuration()
          ? -1
          : static_cast<int>(absl::ToInt64Milliseconds(timeout));
  ::poll(fds, 3, timeout_ms);
  if (fds[2].revents != 0) NoteClockSet();
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGHUP) {
      reload_->Ask();
      return Wake::kNothing;
    }
    if (stopping_) {
      Log(LogLevel::kWarning, "second signal, ending at once");
      // The sandbox ends with this process: its spawner sees the channel close.
      ::_exit(1);
    }
    stopping_ = true;
    return Wake::kStop;
  }
  return (fds[1].revents & POLLIN) != 0 ? Wake::kSpawnerDied : Wake::kNothing;
}

void Serving::NoteClockSet() {
  uint64_t expirations = 0;
  if (::read(clock_set_.get(), &expirations, sizeof(expirations)) >= 0 ||
      errno != ECANCELED) {
    return;
  }
  Log(LogLevel::kWarning, "clock_set", {});
  ArmClockWatch(clock_set_);
  dispatcher_->LookAgain();
  pool_->LookAgain();
  sessions_->NoteClockSet();
}

bool Serving::WaitUntilIdle(absl::Duration timeout) {
  const MonotonicTime end =
      Monotonic::now() + absl::ToChronoNanoseconds(timeout);
  while (!dispatcher_->idle() || !execs_->idle()) {
    if (Until(end) <= absl::ZeroDuration()) return false;
    if (WaitForWake(kPollInterval) == Wake::kSpawnerDied) return false;
  }
  return true;
}

void Serving::StartReload() {
  reload_.emplace(PolicyReloadParts{
      .directory = parts_.config.policy_dir,
      .policy = &policy_,
      .read = [this] { return parts_.policy_reader->Read(kPolicyReadWait); },
      .check = parts_.check_policy,
      .record =
          [this](const PolicySet& next, const PolicyChanges& changes) {
            return audit_ ? audit_->NotePolicy(next, changes)
                          : absl::OkStatus();
          },
      .record_refusal =
          [this](const absl::Status& why) {
            if (audit_) audit_->NoteRefusedPolicy(why);
          },
      .after = [this] { UsePolicy(); }});
  reload_->Start();
  if (HangUpCameEarly()) reload_->Ask();
}

void Serving::UsePolicy() {
  const std::shared_ptr<const PolicySet> policy = policy_.Get();
  std::vector<JailKey> kept = KeptFromStart(*policy, parts_.zygotes);
  for (const policy::Language& language : policy->languages().languages()) {
    if (!languages_->Available(language).ok()) continue;
    for (JailKey& key : prestart_.FromStart(language)) {
      kept.push_back(std::move(key));
    }
  }
  pool_->Renew(kept, prestart_.OnceUsed(), [&](const JailKey& key) {
    return policy->FindByTemplate(key.profile) != nullptr;
  });
  if (parts_.config.canaries) languages_->CheckCanaries();
}

void Serving::StopAccepting() {
  health_.StopServing();
  acceptor_.reset();
  dispatcher_->StopAccepting();
  sessions_->StopAccepting();
  execs_->StopAccepting();
}

void Serving::ShowAuditHealth() {
  if (!audit_ || audit_->Healthy() == audit_healthy_) return;
  audit_healthy_ = !audit_healthy_;
  health_.SetAuditWorks(audit_healthy_);
}

int Serving::Run() {
  Watchdog watchdog = WatchOver(*call_threads_, *dispatcher_);
  const absl::Duration interval = std::min(
      watchdog.interval(), audit_ ? kAuditInterval : absl::InfiniteDuration());
  while (true) {
    watchdog.Beat();
    switch (WaitForWake(interval)) {
      case Wake::kNothing:
        ShowAuditHealth();
        break;
      case Wake::kStop:
        return Drain();
      case Wake::kSpawnerDied:
        return EndWithoutSpawner();
    }
  }
}

int Serving::Drain() {
  NotifyServiceManager("STOPPING=1");
  Log(LogLevel::kInfo, "draining",
      {{"timeout_ms", absl::ToInt64Milliseconds(parts_.config.drain_timeout)}});
  StopAccepting();
  languages_->Stop();
  reload_->Stop();
  if (!WaitUntilIdle(parts_.config.drain_timeout)) {
    dispatcher_->CancelAll();
    execs_->KillAll();
    WaitUntilIdle(kKillWait);
  }
  execs_->Shutdown(kKillWait);
  // A client whose own last words meet a closed socket throws away what it has
  // not read yet.
  absl::SleepFor(kLastReadsWait);
  grpc_->Shutdown(kLastAnswersWait);
  dispatcher_->Shutdown();
  sessions_->Stop();
  pool_->Stop();
  parts_.sandbox->WaitUntilEmpty(kLastAnswersWait);
  if (audit_) audit_->Stop("signal");
  if (denied_) denied_->LogSummary();
  Log(LogLevel::kInfo, "stopped");
  return 0;
}

// Every run gets its answer (UNAVAILABLE) from its own worker; then a
// supervisor makes a new start.
int Serving::EndWithoutSpawner() {
  StopAccepting();
  const MonotonicTime end =
      Monotonic::now() + absl::ToChronoNanoseconds(kDeadSpawnerWait);
  while (!dispatcher_->idle() && Until(end) > absl::ZeroDuration()) {
    absl::SleepFor(kPollInterval);
  }
  grpc_->Shutdown(kDeadSpawnerWait);
  if (audit_) audit_->Stop("the spawner died");
  Log(LogLevel::kError, "stopped", {{"reason", "the spawner died"}});
  // A worker that hangs on what the spawner left must not keep us here.
  ::_exit(1);
}

}  // namespace

int Serve(ServingParts parts) {
  Serving serving(std::move(parts));
  if (absl::Status started = serving.Start(); !started.ok()) {
    return Fail(started);
  }
  return serving.Run();
}

}  // namespace sandglass::server
