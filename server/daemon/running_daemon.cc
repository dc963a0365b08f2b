// How the daemon runs and ends; daemon_start.cc has how it begins.
#include "server/daemon/running_daemon.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sandbox/os/clocks.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/memory_budget.h"
#include "server/base/notify.h"
#include "server/daemon/log_bound.h"
#include "server/daemon/wall_clock_watch.h"
#include "server/daemon/watchdog.h"
#include "server/edge/connection_tap.h"
#include "server/edge/cut_connections.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kKillWait = absl::Seconds(5);
constexpr absl::Duration kLastAnswersWait = absl::Seconds(1);
constexpr absl::Duration kLastReadsWait = absl::Milliseconds(100);
constexpr absl::Duration kDeadHelperWait = absl::Milliseconds(500);
constexpr absl::Duration kPollInterval = absl::Milliseconds(20);
// How often the pool is told how much memory there is.
constexpr absl::Duration kMemoryLook = absl::Seconds(1);
constexpr absl::Duration kCredentialsLook = absl::Milliseconds(400);
constexpr absl::Duration kRenewBefore = absl::Hours(72);
constexpr absl::Duration kTlsReadWait = absl::Seconds(2);

}  // namespace

RunningDaemon::Wake RunningDaemon::WaitForWake(absl::Duration timeout) {
  pollfd fds[] = {
      {signals_.get(), POLLIN, 0},
      {helper_died_.get(), POLLIN, 0},
      {clock_set_.get(), POLLIN, 0},
      {stopping_ ? -1 : parts_.policy_reader->end(), POLLIN, 0},
      {stopping_ || parts_.unpacker == nullptr ? -1 : parts_.unpacker->end(),
       POLLIN, 0}};
  const int timeout_ms =
      timeout == absl::InfiniteDuration()
          ? -1
          : static_cast<int>(absl::ToInt64Milliseconds(timeout));
  ::poll(fds, std::size(fds), timeout_ms);
  if (fds[2].revents != 0) HandleClockSet();
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGHUP) {
      reload_->Ask();
      // Whoever sent the signal may have fixed what was in the way.
      operations_.watch().Recheck();
      return Wake::kNothing;
    }
    if (stopping_) {
      Log(LogLevel::kWarning, "second signal, ending at once");
      // The sandbox ends with this process, since its spawner sees the channel
      // close.
      ::_exit(1);
    }
    stopping_ = true;
    return Wake::kStop;
  }
  if ((fds[1].revents & POLLIN) != 0) return Wake::kHelperDied;
  if (fds[3].revents == 0 && fds[4].revents == 0) return Wake::kNothing;
  // Nobody in this process has the rights to start another one.
  Log(LogLevel::kError, "helper_died",
      {{"error", std::string(fds[3].revents != 0
                                 ? "the process that reads the policy is gone"
                                 : "the process that unpacks archives is "
                                   "gone")}});
  return Wake::kHelperDied;
}

void RunningDaemon::HandleClockSet() {
  uint64_t expirations = 0;
  if (::read(clock_set_.get(), &expirations, sizeof(expirations)) >= 0 ||
      errno != ECANCELED) {
    return;
  }
  Log(LogLevel::kWarning, "clock_set", {});
  ArmClockWatch(clock_set_);
  dispatcher_->Recheck();
  pool_->Recheck();
  sessions_->HandleClockSet();
}

bool RunningDaemon::WaitUntilIdle(absl::Duration timeout) {
  const MonotonicTime end = After(Now(), timeout);
  while (!dispatcher_->idle() || !execs_->idle()) {
    if (parts_.supervisor != nullptr) parts_.supervisor->Beat();
    if (Until(end) <= absl::ZeroDuration()) return false;
    if (WaitForWake(kPollInterval) == Wake::kHelperDied) return false;
  }
  return true;
}

void RunningDaemon::StopAccepting() {
  operations_.readiness().Stop();
  tls_listener_.reset();
  acceptor_.reset();
  dispatcher_->StopAccepting();
  sessions_->StopAccepting();
  execs_->StopAccepting();
}

void RunningDaemon::StopServing(absl::Duration timeout) {
  serving_over_ = true;
  ConnectionTap::HideNewCalls();
  // Calls that gRPC already knows are answered meanwhile. Besides, a client
  // whose own last bytes meet a closed socket throws away what it has not read
  // yet.
  absl::SleepFor(kLastReadsWait);
  grpc_->Shutdown(timeout, [this] {
    std::vector<int> ports = tls_ports_;
    if (tcp_port_ != 0) ports.push_back(tcp_port_);
    const int cut = CutConnections(config_.listen.unix_path, ports);
    Log(LogLevel::kWarning, "connections_cut", {{"connections", int64_t{cut}}});
  });
}

void RunningDaemon::WatchCredentials() {
  if (!credentials_->has_files() && parts_.tls == nullptr) return;
  credentials_thread_ = std::thread([this] {
    do {
      FollowCredentials();
    } while (
        !credentials_over_.WaitForNotificationWithTimeout(kCredentialsLook));
  });
}

void RunningDaemon::FollowCredentials() {
  std::vector<std::string> wrong;
  if (const absl::Status state = credentials_->Refresh(); !state.ok()) {
    wrong.emplace_back(state.message());
  }
  peers_->calls().CancelUnproved(
      [this](const Identity& caller) { return credentials_->Holds(caller); });
  if (parts_.tls != nullptr) {
    const absl::Time now = os::WallNow();
    if (const absl::Status state =
            parts_.tls->Replace(parts_.tls_reader->Read(kTlsReadWait), now);
        !state.ok()) {
      wrong.emplace_back(state.message());
    }
    if (const absl::Time end = CertificateEnd(parts_.tls->Get());
        end - now < kRenewBefore) {
      wrong.push_back(absl::StrCat("the certificate ", config_.tls.certificate,
                                   " ends on ", absl::FormatTime(end)));
    }
  }
  operations_.readiness().Set(ReadyWhen::kCredentials,
                              wrong.empty() ? absl::OkStatus()
                                            : absl::FailedPreconditionError(
                                                  absl::StrJoin(wrong, "; ")));
}

void RunningDaemon::RecordRefusal(Refusal refusal, const Identity& identity) {
  operations_.metrics().NoteRefusedCaller(NameOf(refusal));
  if (audit_) audit_->RecordRefusal(refusal, identity);
}

absl::Status RunningDaemon::RecordToken(const char* event, const Token& token,
                                        const Identity& by) {
  return audit_ ? audit_->RecordToken(event, token, by) : absl::OkStatus();
}

int RunningDaemon::Run() {
  Watchdog watchdog =
      WatchOver(*call_threads_, *dispatcher_, parts_.supervisor);
  while (true) {
    watchdog.Beat();
    pool_->SetSpareMemory(SpareMemory());
    sessions_->SetSpareMemory(SpareBesidePrograms());
    if (config_.log_limit) BoundLog(STDERR_FILENO, *config_.log_limit);
    if (IdleForTooLong()) {
      Log(LogLevel::kInfo, "idle_end",
          {{"idle", absl::FormatDuration(config_.end_when_idle)}});
      return Drain();
    }
    switch (WaitForWake(std::min(watchdog.interval(), kMemoryLook))) {
      case Wake::kNothing:
        break;
      case Wake::kStop:
        return Drain();
      case Wake::kHelperDied:
        return EndWithoutHelper();
    }
  }
}

bool RunningDaemon::IdleForTooLong() {
  if (config_.end_when_idle == absl::InfiniteDuration()) return false;
  const bool used =
      acceptor_->open() > 0 || acceptor_->accepted() != accepted_ ||
      !dispatcher_->idle() || !execs_->idle() || sessions_->size() > 0;
  accepted_ = acceptor_->accepted();
  if (used) last_used_ = Now();
  return Since(last_used_) >= config_.end_when_idle;
}

int RunningDaemon::Drain() {
  NotifyServiceManager("STOPPING=1");
  if (parts_.supervisor != nullptr) parts_.supervisor->Beat();
  Log(LogLevel::kInfo, "draining",
      {{"timeout_ms", absl::ToInt64Milliseconds(config_.drain_timeout)}});
  StopAccepting();
  languages_->Stop();
  reload_->Stop();
  operations_.StopWatch();
  if (!WaitUntilIdle(config_.drain_timeout)) {
    dispatcher_->CancelAll();
    execs_->KillAll();
    WaitUntilIdle(kKillWait);
  }
  if (parts_.supervisor != nullptr) parts_.supervisor->Rest();
  execs_->Shutdown(kKillWait);
  StopServing(kLastAnswersWait);
  operations_.Stop();
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
// supervisor starts a new daemon.
int RunningDaemon::EndWithoutHelper() {
  StopAccepting();
  const MonotonicTime end = After(Now(), kDeadHelperWait);
  while (!dispatcher_->idle() && Until(end) > absl::ZeroDuration()) {
    absl::SleepFor(kPollInterval);
  }
  StopServing(kDeadHelperWait);
  if (audit_) audit_->Stop("a helper died");
  Log(LogLevel::kError, "stopped", {{"reason", "a helper died"}});
  parts_.helper_output->Stop();
  // A worker that hangs because of the spawner's death must not keep us here.
  ::_exit(1);
}

}  // namespace sandglass::server
