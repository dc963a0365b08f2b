#ifndef SANDGLASS_SERVER_DAEMON_RUNNING_DAEMON_H_
#define SANDGLASS_SERVER_DAEMON_RUNNING_DAEMON_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "sandglass/node/v1/node.pb.h"
#include "server/admission/budget_keeper.h"
#include "server/base/call_threads.h"
#include "server/daemon/daemon_audit.h"
#include "server/daemon/daemon_start.h"
#include "server/daemon/install_runner.h"
#include "server/daemon/run_gate.h"
#include "server/edge/acceptor.h"
#include "server/edge/grpc_server.h"
#include "server/edge/peers.h"
#include "server/edge/request_room.h"
#include "server/exec/exec_table.h"
#include "server/job/refused_calls.h"
#include "server/languages/languages.h"
#include "server/languages/prestart_kinds.h"
#include "server/libraries/layer_admin.h"
#include "server/libraries/libraries.h"
#include "server/live_policy/policy_reload.h"
#include "server/ops/operated_daemon.h"
#include "server/ops/operations.h"
#include "server/ops/server_info.h"
#include "server/phases/compile_cache.h"
#include "server/pool/jail_pool.h"
#include "server/run/approvals.h"
#include "server/run/job_router.h"
#include "server/run/policy_questions.h"
#include "server/run/run_dispatcher.h"
#include "server/session/jail_host.h"
#include "server/session/session_table.h"
#include "server/tls/tls_listener.h"

namespace sandglass::server {

// The running daemon. Its members are in the order in which they are made, so
// that they are destroyed in the reverse order.
class RunningDaemon final : OperatedDaemon,
                            PolicyReloadHooks,
                            IdentityRecorder {
 public:
  explicit RunningDaemon(ServingParts parts)
      : parts_(std::move(parts)),
        policy_(std::move(parts_.settings.policy)),
        prestart_(policy_) {}
  ~RunningDaemon() override {
    credentials_over_.Notify();
    if (credentials_thread_.joinable()) credentials_thread_.join();
    if (languages_) languages_->Stop();
    operations_.Stop();
  }

  absl::Status Start();
  // Serves until a signal comes, or a spawner, the egress proxy, the policy
  // reader or the unpacker dies.
  int Run();

 private:
  // There is room in any case for so many of the longest answers.
  static constexpr uint64_t kMaxAnswersAtOnce = 16;

  enum class Wake { kNothing, kStop, kHelperDied };
  Wake WaitForWake(absl::Duration timeout);
  // Tells everything that waits by the wall clock that the clock was set.
  void HandleClockSet();
  // Returns true when no run is left, and no command that ends by itself; false
  // when time is up or something happened.
  bool WaitUntilIdle(absl::Duration timeout);

  // The steps of Start, in this order.
  // Listens to signals, to the clock, and to the deaths of helpers.
  absl::Status WatchProcess();
  absl::Status StartAudit();
  void StartPool();
  void StartLanguages();
  void StartCompileCache();
  void StartSessions();
  void StartRuns();
  void StartReload();
  absl::Status StartExecs();
  absl::Status OpenCredentials();
  void MakeServices();
  // What gateways are told.
  node::v1::Offer MakeOffer() const;
  node::v1::Load MakeLoad() const;
  absl::Status ServeOperations();
  // Unless it has a socket already. It is kept for the next daemon.
  absl::Status Listen();
  absl::Status StartGrpc();
  // So that the first clients are told what works here.
  void WaitForFirstAnswers() const;
  absl::Status StartAccepting();
  void TellStarted() const;

  absl::StatusOr<std::vector<std::string>> MakeTemplates() override;
  absl::Status CheckPolicy(const PolicySet& next) override;
  absl::Status RecordPolicy(const PolicySet& next,
                            const PolicyChanges& changes) override;
  void RecordRefusedPolicy(const absl::Status& why) override;
  void FollowPolicy(bool changed) override;
  // Checks whether the policy reader and the spawners answer.
  void WatchHelpers() override;
  void RecordRefusal(Refusal refusal, const Identity& identity) override;
  absl::Status RecordToken(const char* event, const Token& token,
                           const Identity& by) override;
  // Another policy has come into force.
  void RenewPool();

  // Of these, the watch over readiness, which begins first, asks only for what
  // the pool, the yards and the languages are.
  std::vector<PoolKeyState> PoolStates() const override {
    return pool_->State();
  }
  std::vector<sandbox::YardStock> YardStocks() const override;
  size_t Sessions() const override { return sessions_->size(); }
  uint32_t Commands() const override { return execs_->running(); }
  PolicyReload::State PolicyState() const override { return reload_->state(); }
  absl::Status Usable(const policy::Language& language) const override {
    return languages_->Available(language);
  }
  void TryFailedLanguages() override;

  void StopAccepting();
  // Stops even if clients don't read their answers.
  void StopServing(absl::Duration timeout);
  // Looks at the files of the certificate, of tokens and of JWTs' keys.
  void FollowCredentials();
  // Does so twice a second, on a thread of its own: a disk may hang. Not where
  // there are no such files.
  void WatchCredentials();
  // Whether nobody has used this daemon for config_.end_when_idle.
  bool IdleForTooLong();
  int Drain();
  int EndWithoutHelper();

  ServingParts parts_;
  const Config& config_ = parts_.settings.config;
  LivePolicy policy_;
  const PrestartKinds prestart_;
  os::Fd signals_;
  os::Fd helper_died_;
  os::Fd clock_set_;
  bool stopping_ = false;
  MonotonicTime last_used_ = Now();
  uint64_t accepted_ = 0;  // connections, when it was last used
  Operations operations_;
  std::unique_ptr<DaemonAudit> audit_;    // null when there is none
  std::optional<RefusedCallLog> denied_;  // with --trace-syscalls
  std::optional<JailPool> pool_;
  std::optional<InstallRunner> install_runner_;
  std::optional<Libraries> libraries_;
  std::optional<RunGate> gate_;      // asks languages_
  JailHostParts host_parts_;         // of every session's host
  std::optional<JobRouter> router_;  // threads that use it end before it goes
  std::optional<LanguageProbe> languages_;
  std::optional<CompileCache> compile_cache_;
  std::optional<SessionTable> sessions_;
  std::optional<ApprovalTable> approvals_;
  std::optional<RunDispatcher> dispatcher_;
  std::optional<BudgetKeeper> budgets_;
  std::atomic<bool> serving_over_ = false;
  std::optional<PolicyQuestions> questions_;
  ServerInfoSources info_;
  std::optional<RequestRoom> request_room_;
  std::optional<Credentials> credentials_;
  std::optional<PeerTable> peers_;
  Services services_;
  std::optional<CallThreads> call_threads_;
  std::optional<ExecTable> execs_;
  std::optional<LayerAdmin> layer_admin_;
  std::optional<PolicyReload> reload_;
  int tcp_port_ = 0;  // 0 when it listens on a unix socket
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<TlsListener> tls_listener_;  // offers to acceptor_
  std::vector<int> tls_ports_;
  absl::Notification credentials_over_;
  std::thread credentials_thread_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_RUNNING_DAEMON_H_
