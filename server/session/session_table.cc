#include "server/session/session_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "sandbox/os/clocks.h"
#include "server/base/errors.h"
#include "server/base/log.h"
#include "server/job/library_checks.h"
#include "server/job/request_checks.h"
#include "server/live_policy/tenant_rules.h"
#include "server/session/session_audit.h"
#include "server/session/session_record.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kSweepInterval = absl::Milliseconds(250);
// The time for all durable sessions together when the daemon ends.
constexpr absl::Duration kSuspendTime = absl::Seconds(10);
constexpr size_t kMaxRemembered = 10'000;

}  // namespace

SessionTable::SessionTable(const LivePolicy& policy,
                           const SessionOptions& options,
                           MakeSessionHost make_host, const LanguageGate& gate,
                           SessionStore* store, AuditTrail* audit)
    : policy_(policy),
      options_(options),
      make_host_(std::move(make_host)),
      gate_(gate),
      store_(store),
      audit_(audit),
      shares_({.max = options.max_sessions,
               .reserve = options.reserve,
               .max_per_caller = options.max_per_caller}),
      memory_(WithReserveWithin(options.memory_bytes)) {
  if (store_ == nullptr) return;
  store_->LimitTenants([&policy](const std::string& tenant) {
    return policy.Get()->tenants()->Get(tenant).ceilings.durable_bytes;
  });
}

SessionTable::~SessionTable() { Stop(); }

void SessionTable::Start() {
  BringBack();
  sweeper_ = std::thread([this] { SweepLoop(); });
}

void SessionTable::StopAccepting() {
  absl::MutexLock lock(&mutex_);
  accepting_ = false;
}

void SessionTable::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    accepting_ = false;
    if (std::exchange(stopped_, true)) return;
  }
  if (sweeper_.joinable()) sweeper_.join();
  const MonotonicTime until = After(Now(), kSuspendTime);
  for (const auto& session : All()) {
    if (session->copy() != nullptr) {
      Suspend(session, until);
    } else {
      End(session, Session::Over::ServerStopped());
    }
  }
}

void SessionTable::HandleClockSet() {
  for (const auto& session : All()) session->HandleClockSet();
}

void SessionTable::BringBack() {
  if (store_ == nullptr) return;
  const absl::Time now = os::WallNow();
  for (const internal::StoredEnd& end :
       store_->LoadEnds(now - options_.remember)) {
    const absl::Duration past =
        std::clamp(now - absl::FromUnixNanos(end.time_ns()),
                   absl::ZeroDuration(), options_.remember);
    absl::MutexLock lock(&mutex_);
    ended_.push_back({end.session_id(),
                      end.caller(),
                      {end.reason(), end.message()},
                      Now() - absl::ToChronoNanoseconds(past)});
  }
  for (SessionStore::Found& found : store_->LoadSessions()) {
    FormerSession former = FromRecord(found.record, *policy_.Get(), options_,
                                      found.last_used, now);
    std::unique_ptr<SessionHost> host =
        make_host_(former.spec, {.caller = found.record.caller(),
                                 .copy = found.copy,
                                 .archive = nullptr,
                                 .lost_contexts = former.past.contexts});
    const auto session = std::make_shared<Session>(
        found.record.session_id(), OwnerNamed(found.record.caller()),
        std::move(former.spec), std::move(host), found.copy, &former.past);
    Log(former.past.unusable.empty() ? LogLevel::kInfo : LogLevel::kWarning,
        "session_brought_back",
        {{"session_id", session->id()},
         {"caller", session->caller().name},
         {"unusable", former.past.unusable}});
    absl::MutexLock lock(&mutex_);
    Insert(session);
  }
}

void SessionTable::Suspend(const SharedSession& session, MonotonicTime until) {
  // This saves what its processes wrote since the last reply; nobody was
  // promised that.
  const absl::Status saved = Until(until) > absl::ZeroDuration()
                                 ? session->Save()
                                 : absl::DeadlineExceededError("no time left");
  if (!saved.ok()) {
    Log(LogLevel::kWarning, "session_not_saved",
        {{"session_id", session->id()},
         {"error", std::string(saved.message())}});
  }
  session->copy()->Close();
  session->End(Session::Over::ServerStopped());
}

absl::StatusOr<SessionSpec> SessionTable::Check(
    const Identity& caller, const v1::CreateSessionRequest& request,
    const std::string& prefix) const {
  const std::shared_ptr<const PolicySet> policy = policy_.Get();
  Violations violations;
  SessionSpec spec;
  if (!request.language().empty()) {
    spec.language = CheckLanguage(*policy, request.language(), violations);
  }
  spec.profile =
      CheckProfile(*policy, ProfileFor(*policy, caller, request.profile()),
                   spec.language, violations);
  spec.language = InImageOf(*policy, spec.profile, spec.language);
  const policy::LimitRequest wishes =
      LimitWishes(request.limits(), "limits", violations);
  if (spec.profile != nullptr) {
    const policy::LimitFloors none;
    spec.limits =
        ApplyWishes(*policy, *spec.profile, spec.language,
                    spec.language == nullptr ? none : spec.language->limits,
                    wishes, "limits", violations);
    if (spec.language != nullptr) {
      CheckKernelStarts(*spec.language, spec.limits, "limits.open_files",
                        violations);
    }
  }
  CheckEnv(request.env(), violations);
  CheckLabels(request.labels(), violations);
  spec.idle_timeout =
      SessionTimeWish(request.has_idle_timeout(), request.idle_timeout(),
                      "idle_timeout", options_.idle_timeout, violations);
  spec.max_age = SessionTimeWish(request.has_max_age(), request.max_age(),
                                 "max_age", options_.max_age, violations);
  const LibraryWish wish = LibraryWish::Of(request);
  if (request.language().empty() && !wish.empty()) {
    violations.push_back({"libraries", "are those of a language; name it"});
  }
  absl::StatusOr<std::optional<LibraryRequest>> libraries =
      CheckLibraries(wish, spec.language, spec.profile.get(), violations);
  if (!violations.empty()) {
    return InvalidRequest(WithPrefix(prefix, std::move(violations)));
  }
  if (absl::Status may = MayUseProfile(*policy, caller, spec.profile->name);
      !may.ok()) {
    return may;
  }
  if (!libraries.ok()) return libraries.status();
  spec.libraries = *std::move(libraries);
  if (spec.libraries) spec.libraries->caller = caller.name;
  spec.env.assign(request.env().begin(), request.env().end());
  std::sort(spec.env.begin(), spec.env.end());
  spec.labels = {request.labels().begin(), request.labels().end()};
  spec.evictable = request.evictable();
  if (spec.language != nullptr) {
    if (absl::Status available = gate_.Available(*spec.language, *spec.profile);
        !available.ok()) {
      return available;
    }
  }
  return spec;
}

absl::StatusOr<SharedSession> SessionTable::Make(const Identity& caller,
                                                 SessionSpec spec,
                                                 SessionCopy* parent,
                                                 SharedArchive archive) const {
  const std::string id = NewSessionId();
  SessionOrigin origin{.caller = caller.name, .archive = std::move(archive)};
  if (spec.durable()) {
    const absl::Time now = os::WallNow();
    absl::StatusOr<std::shared_ptr<SessionCopy>> copy = store_->Create(
        ToRecord(id, caller, spec, now, absl::ZeroDuration(), {}, now), parent);
    if (!copy.ok()) return FilesNotSaved("the new session", copy.status());
    origin.copy = *std::move(copy);
  }
  std::unique_ptr<SessionHost> host = make_host_(spec, origin);
  return std::make_shared<Session>(id, caller, std::move(spec), std::move(host),
                                   std::move(origin.copy));
}

void SessionTable::Discard(const Session& session) const {
  if (session.copy() == nullptr) return;
  session.copy()->Close();
  store_->Remove(session.id());
}

void SessionTable::Insert(const SharedSession& session) {
  const uint64_t number = next_number_++;
  shares_.Acquire(session->caller().name);
  memory_.Acquire(session->caller().name, session->spec().limits.memory_bytes);
  by_id_[session->id()] = number;
  sessions_[number] = session;
}

absl::StatusOr<SessionTable::Added> SessionTable::Add(
    const Identity& caller, const v1::CreateSessionRequest& request,
    const std::string& prefix, bool by_labels) {
  absl::StatusOr<SessionSpec> spec = Check(caller, request, prefix);
  if (!spec.ok()) return spec.status();
  SharedSession session;
  absl::Status room;
  std::vector<SharedSession> evicted;
  {
    absl::MutexLock lock(&mutex_);
    if (by_labels) session = Latest(caller, request.labels());
    if (session != nullptr) return Added{session};
    Wanted one;
    one.Add(*spec);
    if (room = RoomAtBest(caller, one); !room.ok()) return room;
    absl::StatusOr<SharedSession> made =
        Make(caller, *std::move(spec), nullptr, nullptr);
    if (!made.ok()) return made.status();
    session = *std::move(made);
    room = MakeRoom(caller, one, evicted);
    if (room.ok()) Insert(session);
  }
  EndEvicted(evicted);
  if (!room.ok()) {
    Discard(*session);
    return room;
  }
  if (absl::Status recorded = Record(caller, session); !recorded.ok()) {
    return recorded;
  }
  return Added{session, true};
}

absl::Status SessionTable::Record(const Identity& caller,
                                  const SharedSession& session) {
  if (audit_ == nullptr) return absl::OkStatus();
  absl::Status recorded = RecordCreation(*audit_, caller.name, *session);
  if (!recorded.ok()) {
    End(session, {"SESSION_DIED", "it could not be put on record"});
  }
  return recorded;
}

absl::StatusOr<v1::CreateSessionResponse> SessionTable::Create(
    const Identity& caller, const v1::CreateSessionRequest& request) {
  const absl::StatusOr<Added> added =
      Add(caller, request, "", /*by_labels=*/false);
  if (!added.ok()) return added.status();
  Log(LogLevel::kInfo, "session_created",
      {{"session_id", added->session->id()}, {"caller", caller.name}});
  v1::CreateSessionResponse response;
  *response.mutable_session() = added->session->Describe();
  return response;
}

absl::StatusOr<v1::GetOrCreateSessionResponse> SessionTable::GetOrCreate(
    const Identity& caller, const v1::GetOrCreateSessionRequest& request) {
  if (request.create().labels().empty()) {
    return InvalidRequest(
        {{"create.labels",
          "is empty; a session is found by its labels, for example "
          "thread_id"}});
  }
  const absl::StatusOr<Added> added =
      Add(caller, request.create(), "create.", /*by_labels=*/true);
  if (!added.ok()) return added.status();
  added->session->Touch();
  v1::GetOrCreateSessionResponse response;
  response.set_created(added->created);
  *response.mutable_session() = added->session->Describe();
  return response;
}

absl::StatusOr<v1::UpdateSessionResponse> SessionTable::Update(
    const Identity& caller, const v1::UpdateSessionRequest& request) {
  absl::StatusOr<SharedSession> session = Find(caller, request.session_id());
  if (!session.ok()) return session.status();
  Violations violations;
  const absl::Duration idle =
      SessionTimeWish(request.has_idle_timeout(), request.idle_timeout(),
                      "idle_timeout", options_.idle_timeout, violations);
  const absl::Duration age =
      SessionTimeWish(request.has_max_age(), request.max_age(), "max_age",
                      options_.max_age, violations);
  CheckLabels(request.labels().labels(), violations);
  if (!violations.empty()) return InvalidRequest(violations);
  const std::map<std::string, std::string> labels(
      request.labels().labels().begin(), request.labels().labels().end());
  if (absl::Status updated =
          (*session)->Update(request.has_labels() ? &labels : nullptr,
                             request.has_idle_timeout() ? &idle : nullptr,
                             request.has_max_age() ? &age : nullptr);
      !updated.ok()) {
    return updated;
  }
  v1::UpdateSessionResponse response;
  *response.mutable_session() = (*session)->Describe();
  return response;
}

absl::Status SessionTable::Delete(const Identity& caller,
                                  const std::string& session_id) {
  absl::StatusOr<SharedSession> session = Find(caller, session_id);
  if (!session.ok()) return session.status();
  End(*session, {"SESSION_DELETED", "it was deleted"}, caller.name);
  return absl::OkStatus();
}

absl::StatusOr<SharedSession> SessionTable::Find(
    const Identity& caller, const std::string& session_id) {
  SharedSession session;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = by_id_.find(session_id);
    if (it == by_id_.end()) {
      for (const Remembered& ended : ended_) {
        if (ended.id == session_id && caller.Sees(ended.caller)) {
          return SessionOver(ended.over.reason, ended.over.message);
        }
      }
      return SessionNotFound(session_id);
    }
    session = sessions_.at(it->second);
  }
  if (!caller.Sees(session->caller().name)) return SessionNotFound(session_id);
  // A token for some profiles alone doesn't get at others by a session of them.
  if (absl::Status may =
          MayUseProfileItself(caller, session->spec().profile->name);
      !may.ok()) {
    return may;
  }
  // The session may be over before the sweeper has seen it.
  if (Session::Over over = session->LooksOver(); !over.reason.empty()) {
    End(session, over);
    return SessionOver(over.reason, over.message);
  }
  return session;
}

bool SessionTable::Forget(const Session& session, const Session::Over& over) {
  const auto by_id = by_id_.find(session.id());
  if (by_id == by_id_.end()) return false;
  sessions_.erase(by_id->second);
  by_id_.erase(by_id);
  shares_.Release(session.caller().name);
  memory_.Release(session.caller().name, session.spec().limits.memory_bytes);
  ended_.push_back({session.id(), session.caller().name, over, Now()});
  while (ended_.size() > kMaxRemembered ||
         (!ended_.empty() && Since(ended_.front().ended) > options_.remember)) {
    ended_.pop_front();
  }
  return true;
}

void SessionTable::End(const SharedSession& session, const Session::Over& over,
                       const std::string& by) {
  {
    absl::MutexLock lock(&mutex_);
    if (!Forget(*session, over)) return;
  }
  FinishEnd(session, over, by);
}

void SessionTable::FinishEnd(const SharedSession& session,
                             const Session::Over& over, const std::string& by) {
  if (audit_ != nullptr) RecordEnd(*audit_, *session, over, by);
  if (store_ != nullptr) {
    internal::StoredEnd end;
    end.set_session_id(session->id());
    end.set_caller(session->caller().name);
    end.set_reason(over.reason);
    end.set_message(over.message);
    end.set_time_ns(absl::ToUnixNanos(os::WallNow()));
    store_->RememberEnd(end);
  }
  session->End(over);
  if (store_ != nullptr && session->copy() != nullptr) {
    session->copy()->Close();
    store_->Remove(session->id());
  }
  Log(LogLevel::kInfo, "session_ended",
      {{"session_id", session->id()},
       {"caller", session->caller().name},
       {"reason", over.reason},
       {"message", over.message}});
}

std::vector<SharedSession> SessionTable::All() const {
  absl::MutexLock lock(&mutex_);
  std::vector<SharedSession> all;
  for (const auto& [number, session] : sessions_) all.push_back(session);
  return all;
}

size_t SessionTable::size() const {
  absl::MutexLock lock(&mutex_);
  return sessions_.size();
}

void SessionTable::SweepLoop() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (stopped_) return;
    }
    for (const auto& session : All()) {
      if (const Session::Over over = session->LooksOver();
          !over.reason.empty()) {
        End(session, over);
      }
    }
    EaseMemory();
    if (store_ != nullptr) store_->RemoveGone();
    absl::SleepFor(kSweepInterval);
  }
}

}  // namespace sandglass::server
