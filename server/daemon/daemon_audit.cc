#include "server/daemon/daemon_audit.h"

#include <unistd.h>

#include <chrono>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "policy/audit/audit_chain.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/version.h"

namespace sandglass::server {

absl::StatusOr<std::unique_ptr<DaemonAudit>> DaemonAudit::Start(
    os::Fd directory, const Config& config, const PolicySet& policy) {
  if (!directory.valid()) return std::unique_ptr<DaemonAudit>();
  absl::StatusOr<std::unique_ptr<AuditLog>> log =
      AuditLog::Open(std::move(directory), config.audit.dir, config.audit.log);
  if (!log.ok()) return log.status();
  std::unique_ptr<DaemonAudit> audit(
      new DaemonAudit(*std::move(log), config.audit.trail));
  absl::Status written = audit->log_->Append(
      "start", {{"version", std::string(kVersion)},
                {"pid", int64_t{::getpid()}},
                {"uid", uint64_t{::getuid()}},
                {"config_sha256", policy::AuditHash(ConfigToJson(config))},
                {"policy_sha256", policy.digest()}});
  if (!written.ok() && audit->trail_.refuses()) return written;
  Log(LogLevel::kInfo, "audit_log",
      {{"dir", config.audit.dir},
       {"head", policy::FormatAuditHead(audit->log_->Head())}});
  return audit;
}

absl::Status DaemonAudit::RecordPolicy(const PolicySet& policy,
                                       const PolicyChanges& changes) {
  absl::Status written =
      log_->Append("policy", {{"policy_sha256", policy.digest()},
                              {"added", changes.added},
                              {"changed", changes.changed},
                              {"removed", changes.removed}});
  return trail_.refuses() ? written : absl::OkStatus();
}

void DaemonAudit::RecordRefusedPolicy(const absl::Status& why) {
  // Errors are ignored as above; the daemon's own log has both.
  log_->Append("policy_refused", {{"reason", std::string(why.message())}})
      .IgnoreError();
}

void DaemonAudit::RecordRefusal(Refusal refusal, const Identity& identity) {
  // A flood by strangers hides nothing that is known callers' doing.
  const bool known =
      refusal == Refusal::kMissingScope || refusal == Refusal::kReadOnly;
  const auto span = known ? std::chrono::seconds(1) : std::chrono::seconds(60);
  const int most = known ? 10 : 6;
  uint64_t left_out = 0;
  {
    absl::MutexLock lock(&mutex_);
    Lines& lines = known ? of_known_ : of_strangers_;
    const MonotonicTime now = Now();
    if (now - lines.began >= span) {
      lines.began = now;
      lines.written = 0;
    }
    if (++lines.written > most) {
      ++lines.left_out;
      return;
    }
    left_out = std::exchange(lines.left_out, 0);
  }
  log_->Append("caller_refused", {{"reason", NameOf(refusal)},
                                  {"caller", identity.name},
                                  {"tenant", identity.tenant},
                                  {"token_id", identity.token_id},
                                  {"address", identity.address},
                                  {"left_out", left_out}})
      .IgnoreError();
}

absl::Status DaemonAudit::RecordToken(const char* event, const Token& token,
                                      const Identity& by) {
  std::vector<std::string> scopes;
  for (const Scope scope : token.scopes.List()) {
    scopes.emplace_back(NameOf(scope));
  }
  return trail_.WriteEvent(
      event,
      {{"token_id", token.id},
       {"tenant", token.tenant},
       {"principal", token.principal},
       {"scopes", scopes},
       {"read_only", token.read_only},
       {"expires", absl::FormatTime(token.expires, absl::UTCTimeZone())},
       {"caller", by.name}},
      token.id);
}

void DaemonAudit::Stop(const std::string& reason) {
  // If this fails, the daemon's own log says so already.
  log_->Append("stop", {{"reason", reason}, {"pid", int64_t{::getpid()}}})
      .IgnoreError();
}

}  // namespace sandglass::server
