// What the running daemon does about its policy, and tells of itself.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/daemon/policy_acceptance.h"
#include "server/daemon/pool_plan.h"
#include "server/daemon/running_daemon.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kPolicyReadWait = absl::Seconds(10);
constexpr absl::Duration kPolicyBeatWait = absl::Seconds(5);
constexpr absl::Duration kStockWait = absl::Milliseconds(200);

}  // namespace

absl::StatusOr<std::vector<std::string>> RunningDaemon::MakeTemplates() {
  parts_.reloads.Begin();
  return parts_.policy_reader->Read(kPolicyReadWait);
}

absl::Status RunningDaemon::CheckPolicy(const PolicySet& next) {
  return AcceptPolicy(next, config_, parts_.host, parts_.secrets);
}

absl::Status RunningDaemon::RecordPolicy(const PolicySet& next,
                                         const PolicyChanges& changes) {
  return audit_ ? audit_->RecordPolicy(next, changes) : absl::OkStatus();
}

void RunningDaemon::RecordRefusedPolicy(const absl::Status& why) {
  if (audit_) audit_->RecordRefusedPolicy(why);
  operations_.readiness().Set(
      ReadyWhen::kPolicy,
      absl::FailedPreconditionError(absl::StrCat(
          "the last reload failed, so the one before is in force: ",
          why.message())));
  parts_.reloads.End(why);
}

void RunningDaemon::FollowPolicy(bool changed) {
  operations_.readiness().Set(ReadyWhen::kPolicy, absl::OkStatus());
  parts_.reloads.End(absl::OkStatus());
  dispatcher_->FollowTenants();
  if (changed) RenewPool();
  operations_.watch().Recheck();
  if (!config_.canaries) return;
  languages_->CheckCanaries(changed ? LanguageProbe::Which::kAll
                                    : LanguageProbe::Which::kFailed);
}

void RunningDaemon::WatchHelpers() {
  absl::Status status = parts_.policy_reader->Beat(kPolicyBeatWait);
  if (status.ok()) {
    const std::vector<std::string> silent = parts_.sandbox->SilentYards();
    if (!silent.empty()) {
      status = absl::UnavailableError(absl::StrCat(
          "no sign of life of the spawners of: ", absl::StrJoin(silent, ", "),
          "; the daemon ends if it stays so"));
    }
  }
  operations_.readiness().Set(ReadyWhen::kHelpers, status);
}

void RunningDaemon::RenewPool() {
  const std::shared_ptr<const PolicySet> policy = policy_.Get();
  std::vector<JailKey> kept = KeptFromStart(*policy, parts_.settings.zygotes);
  for (const policy::Language& language : policy->languages().languages()) {
    if (!languages_->Available(language).ok()) continue;
    for (JailKey& key : prestart_.FromStart(language)) {
      kept.push_back(std::move(key));
    }
  }
  pool_->Renew(kept, prestart_.OnceUsed(), [&](const JailKey& key) {
    return policy->FindByTemplate(key.profile) != nullptr;
  });
}

std::vector<sandbox::YardStock> RunningDaemon::YardStocks() const {
  return parts_.sandbox->CollectStock(kStockWait);
}

void RunningDaemon::TryFailedLanguages() {
  if (!config_.canaries) return;
  languages_->CheckCanaries(LanguageProbe::Which::kFailed);
}

}  // namespace sandglass::server
