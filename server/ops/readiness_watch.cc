#include "server/ops/readiness_watch.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sandbox/yard/sandbox.h"
#include "server/base/log.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kLookEvery = absl::Seconds(1);
// Asking the yards for their stock wakes every spawner, so it is done less
// often.
constexpr int kLooksPerStock = 5;
// What can't be tried is tried at ever longer intervals.
constexpr absl::Duration kTryAgain = absl::Seconds(5);
constexpr uint64_t kSmallPart = 20;

}  // namespace

PoolWatch::Found PoolWatch::Check(const std::vector<PoolKeyState>& states) {
  std::vector<std::string> failing;
  std::vector<std::string> cold;
  std::map<JailKey, Seen> seen;
  for (const PoolKeyState& state : states) {
    const Seen was = seen_[state.key];
    // A state without new fills is no failure: nobody has tried since.
    const bool fails = (was.fails || state.fill_failures > was.failures) &&
                       state.idle == 0 && state.filled <= was.filled &&
                       state.target > 0;
    seen[state.key] = {state.filled, state.fill_failures, fails};
    if (!fails) continue;
    const std::string profile =
        state.key.profile.substr(0, state.key.profile.find('@'));
    if (state.key.kind == sandbox::kExecKind) {
      failing.push_back(absl::StrCat("for profile ", profile));
    } else {
      cold.push_back(absl::StrCat(state.key.kind, " for profile ", profile,
                                  " (", state.fill_failures, " failures)"));
    }
  }
  seen_ = std::move(seen);
  Found found;
  if (!failing.empty()) {
    found.jails = absl::UnavailableError(
        absl::StrCat("no jails can be made: ", absl::StrJoin(failing, ", "),
                     "; the log's pool_fill_failed says why"));
  }
  if (!cold.empty()) {
    found.warm = absl::UnavailableError(absl::StrCat(
        "no interpreter can be started ahead, so runs take longer: ",
        absl::StrJoin(cold, ", "),
        "; the log's pool_fill_failed and helper_output say why"));
  }
  return found;
}

absl::Status JudgeYards(const std::vector<sandbox::YardStock>& yards) {
  for (const sandbox::YardStock& yard : yards) {
    if (yard.kind != sandbox::kExecKind || yard.failing.empty()) continue;
    return absl::UnavailableError(
        absl::StrCat("no more jails can be made than are left: ", yard.failing,
                     " (", yard.setup_failures, " failures)"));
  }
  return absl::OkStatus();
}

absl::Status JudgeRoom(const std::string& directory, const Room& room) {
  if (room.free_bytes < std::min(kMinFreeBytes, room.bytes / kSmallPart)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(directory, " has only ", room.free_bytes, " bytes left"));
  }
  if (room.files > 0 &&
      room.free_files < std::min(kMinFreeFiles, room.files / kSmallPart)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        directory, " has room for only ", room.free_files, " more files"));
  }
  return absl::OkStatus();
}

absl::Status CheckRoom(const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    struct statvfs found {};
    if (::statvfs(directory.c_str(), &found) != 0) continue;
    const Room room = {.bytes = uint64_t{found.f_blocks} * found.f_frsize,
                       .free_bytes = uint64_t{found.f_bavail} * found.f_frsize,
                       .files = found.f_files,
                       .free_files = found.f_favail};
    if (absl::Status enough = JudgeRoom(directory, room); !enough.ok()) {
      return enough;
    }
  }
  return absl::OkStatus();
}

ReadinessWatch::ReadinessWatch(ReadinessWatchParts parts)
    : parts_(std::move(parts)) {}

ReadinessWatch::~ReadinessWatch() { Stop(); }

void ReadinessWatch::Start() {
  threads_.emplace_back([this] { WatchPoolAndDisk(); });
  threads_.emplace_back([this] { WatchIsolation(); });
  threads_.emplace_back([this] { WatchLanguages(); });
  if (parts_.audit != nullptr) threads_.emplace_back([this] { WatchAudit(); });
}

bool ReadinessWatch::WaitForFirst(absl::Duration timeout) const {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&tried_), timeout);
}

void ReadinessWatch::Recheck() {
  absl::MutexLock lock(&mutex_);
  again_ = true;
}

void ReadinessWatch::Stop() {
  cancel_.Cancel(policy::KillReason::kShutdown);
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = again_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool ReadinessWatch::StopsWithin(absl::Duration time) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&stopping_), time);
}

void ReadinessWatch::WatchPoolAndDisk() {
  PoolWatch pool;
  // A problem that was seen only once may be over already.
  absl::Status yards, yards_before;
  int looks = 0;
  do {
    if (looks++ % kLooksPerStock == 0) {
      yards_before =
          std::exchange(yards, JudgeYards(parts_.daemon->YardStocks()));
    }
    PoolWatch::Found pools = pool.Check(parts_.daemon->PoolStates());
    if (pools.jails.ok() && !yards_before.ok()) pools.jails = yards;
    parts_.readiness->Set(ReadyWhen::kPool, pools.jails);
    parts_.readiness->Set(ReadyWhen::kWarm, pools.warm);
    parts_.readiness->Set(ReadyWhen::kDisk, CheckRoom(parts_.directories));
    CheckAuditAnswers();
  } while (!StopsWithin(kLookEvery));
}

void ReadinessWatch::WatchAudit() {
  do {
    {
      absl::MutexLock lock(&mutex_);
      audit_asked_ = Now();
    }
    const absl::Status health = parts_.audit->Healthy();
    absl::MutexLock lock(&mutex_);
    audit_asked_.reset();
    parts_.readiness->Set(ReadyWhen::kAudit, health);
  } while (!StopsWithin(kLookEvery));
}

void ReadinessWatch::CheckAuditAnswers() {
  absl::MutexLock lock(&mutex_);
  if (!audit_asked_ || Since(*audit_asked_) < parts_.audit_patience) return;
  parts_.readiness->Set(
      ReadyWhen::kAudit,
      absl::UnavailableError(absl::StrCat(
          "the disk of the audit log has not answered for more than ",
          absl::FormatDuration(parts_.audit_patience))));
}

void ReadinessWatch::WatchIsolation() {
  absl::Duration retry = kTryAgain;
  absl::MutexLock lock(&mutex_);
  while (!stopping_) {
    again_ = false;
    mutex_.Unlock();
    const bool everywhere = CheckIsolation();
    mutex_.Lock();
    tried_ = true;
    const absl::Duration wait =
        everywhere ? parts_.try_every : std::min(retry, parts_.try_every);
    retry = everywhere ? kTryAgain : retry * 2;
    if (mutex_.AwaitWithTimeout(absl::Condition(&again_), wait)) {
      retry = kTryAgain;
    }
  }
}

void ReadinessWatch::WatchLanguages() {
  while (!StopsWithin(parts_.try_every)) {
    if (!parts_.readiness->Get(ReadyWhen::kLanguages).ok()) {
      parts_.daemon->TryFailedLanguages();
    }
  }
}

bool ReadinessWatch::CheckIsolation() {
  const IsolationCanary::Found found = canary_.Check(
      *parts_.policy->Get(),
      [this](const policy::Language& language) {
        return parts_.daemon->Usable(language);
      },
      *parts_.runner, cancel_,
      [this](const absl::Status& escaped) {
        RecordEscapes();
        parts_.readiness->Set(ReadyWhen::kIsolation, escaped);
      });
  if (cancel_.reason().has_value()) return false;
  RecordEscapes();
  if (found.not_tried > 0) {
    // A language may not be prepared yet, or a profile lets no shell work.
    Log(LogLevel::kInfo, "isolation_not_tried",
        {{"kinds_of_jails", static_cast<int64_t>(found.not_tried)},
         {"error", found.why}});
  }
  // What is known about the isolation stays until more is known.
  if (!absl::IsUnavailable(found.status) ||
      absl::IsUnavailable(parts_.readiness->Get(ReadyWhen::kIsolation))) {
    parts_.readiness->Set(ReadyWhen::kIsolation, found.status,
                          absl::StrCat("a program that tried to get out of ",
                                       found.held, " kinds of jails did not"));
  }
  return found.not_tried == 0;
}

void ReadinessWatch::RecordEscapes() {
  std::set<std::string> templates = canary_.EscapedTemplates();
  absl::MutexLock lock(&mutex_);
  escaped_templates_ = std::move(templates);
}

bool ReadinessWatch::EscapedFrom(const policy::Profile& profile) const {
  absl::MutexLock lock(&mutex_);
  return escaped_templates_.count(profile.jail_template) > 0 ||
         escaped_templates_.count(profile.run_template()) > 0;
}

}  // namespace sandglass::server
