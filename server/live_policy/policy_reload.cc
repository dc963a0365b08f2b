#include "server/live_policy/policy_reload.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/process.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/notify.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kLookEvery = absl::Seconds(5);

// Explains why a file can't be read now although the start went well: at the
// start root read it.
absl::Status WithHint(const absl::Status& status) {
  if (!absl::StrContains(status.message(), ErrorText(EACCES))) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(),
                   "; the daemon's user, or its group, must be able to read "
                   "policy_dir and tenants_dir"));
}

}  // namespace

PolicyChanges CompareProfiles(const PolicySet& before, const PolicySet& after) {
  PolicyChanges changes;
  for (const policy::SharedProfile& profile : after.profiles()) {
    const policy::SharedProfile old = before.FindProfile(profile->name);
    if (old == nullptr) {
      changes.added.push_back(profile->name);
    } else if (old->canonical != profile->canonical ||
               old->jail_template != profile->jail_template) {
      changes.changed.push_back(profile->name);
    }
  }
  for (const policy::SharedProfile& profile : before.profiles()) {
    if (after.FindProfile(profile->name) == nullptr) {
      changes.removed.push_back(profile->name);
    }
  }
  changes.any = before.digest() != after.digest();
  return changes;
}

PolicyReload::PolicyReload(std::string directory, LivePolicy& policy,
                           PolicyReloadHooks& hooks)
    : directory_(std::move(directory)), policy_(policy), hooks_(hooks) {
  state_.loaded = os::WallNow();
}

PolicyReload::~PolicyReload() { Stop(); }

void PolicyReload::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void PolicyReload::Ask() {
  absl::MutexLock lock(&mutex_);
  asked_ = true;
}

void PolicyReload::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

PolicyReload::State PolicyReload::state() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

void PolicyReload::Loop() {
  const auto woken = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return asked_ || stopped_;
  };
  while (true) {
    bool asked;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&woken), kLookEvery);
      if (stopped_) return;
      asked = std::exchange(asked_, false);
    }
    if (!asked) {
      hooks_.WatchHelpers();
      continue;
    }
    // sd_notify(3) asks this of a service that reloads.
    NotifyServiceManager(absl::StrCat("RELOADING=1\nMONOTONIC_USEC=",
                                      os::MonotonicNanos() / 1000));
    Reload();
    NotifyServiceManager("READY=1");
  }
}

absl::StatusOr<PolicySet> PolicyReload::Load() const {
  const absl::StatusOr<std::vector<std::string>> made = hooks_.MakeTemplates();
  if (!made.ok()) return WithHint(made.status());
  absl::StatusOr<PolicySet> next =
      PolicySet::Reload(directory_, *policy_.Get());
  if (!next.ok()) return WithHint(next.status());
  for (const sandbox::JailTemplate& each : next->templates()) {
    if (std::find(made->begin(), made->end(), each.name) != made->end()) {
      continue;
    }
    return absl::AbortedError(
        "the files changed while they were read; send SIGHUP again");
  }
  if (absl::Status good = hooks_.CheckPolicy(*next); !good.ok()) return good;
  return next;
}

void PolicyReload::Reload() {
  const MonotonicTime began = Now();
  absl::StatusOr<PolicySet> next = Load();
  absl::Status status = next.status();
  PolicyChanges changes;
  if (status.ok()) {
    changes = CompareProfiles(*policy_.Get(), *next);
    if (changes.any) status = hooks_.RecordPolicy(*next, changes);
  }
  if (!status.ok()) {
    Log(LogLevel::kError, "policy_not_reloaded",
        {{"error", std::string(status.message())},
         {"so", "the policy that was in force stays"}});
    hooks_.RecordRefusedPolicy(status);
    absl::MutexLock lock(&mutex_);
    state_.last_error = std::string(status.message());
    return;
  }
  const std::string digest = next->digest();
  policy_.Set(std::make_shared<const PolicySet>(*std::move(next)));
  {
    absl::MutexLock lock(&mutex_);
    state_.loaded = os::WallNow();
    ++state_.reloads;
    state_.last_error.clear();
  }
  Log(LogLevel::kInfo, "policy_reloaded",
      {{"added", absl::StrJoin(changes.added, " ")},
       {"changed", absl::StrJoin(changes.changed, " ")},
       {"removed", absl::StrJoin(changes.removed, " ")},
       {"same", !changes.any},
       {"digest", digest},
       {"ms", absl::ToInt64Milliseconds(Since(began))}});
  hooks_.FollowPolicy(changes.any);
}

}  // namespace sandglass::server
