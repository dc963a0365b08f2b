#include "server/exec/exec_table.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "policy/verdict/verdict.h"
#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/base/log.h"
#include "server/base/random_id.h"

namespace sandglass::server {
namespace {

constexpr uint32_t kMaxRunning = 32;  // of one session
// Ended ones of a session that are still known.
constexpr size_t kMaxEnded = 64;
// Bounds for the output that is kept of one session, and of all.
constexpr uint64_t kSessionBytes = uint64_t{32} << 20;
constexpr uint64_t kAllBytes = uint64_t{512} << 20;
constexpr uint64_t kStdinBytes = uint64_t{64} << 20;  // of all
constexpr absl::Duration kPollInterval = absl::Milliseconds(5);
constexpr absl::Duration kWatchAgain = absl::Milliseconds(10);

// For the caller: why a command of that session could not be started.
absl::Status WhyNotStarted(const Session& session, const absl::Status& asked) {
  if (absl::Status lives = session.Lives(); !lives.ok()) return lives;
  if (absl::IsResourceExhausted(asked)) {
    return TooManyExecs(
        absl::StrCat("the session can't start it now: ", asked.message()),
        kRetryExecAfter);
  }
  if (absl::IsFailedPrecondition(asked)) {
    return TooManyExecs("the session is just being forked", kRetryExecAfter);
  }
  return RunFailed(asked);
}

// Whether it is a command whose end somebody may wait for when the daemon ends.
bool IsFinite(const Exec& exec) {
  return !exec.plan().background && !exec.plan().on_terminal();
}

}  // namespace

// Keeps one command for the table.
class ExecTable::Keeper final : public ExecKeeper {
 public:
  Keeper(ExecTable& table, Commands& commands,
         std::shared_ptr<ExecRecord> record)
      : table_(table), commands_(commands), record_(std::move(record)) {}

  void MakeRoom() override { table_.MakeRoom(commands_); }
  void BeforeEnd(const SharedExec& exec, ExecSavedHandler done) override {
    table_.BeforeEnd(exec, record_, std::move(done));
  }
  void RecordOver(Exec& exec) override { table_.RecordOver(exec); }

 private:
  ExecTable& table_;
  Commands& commands_;
  const std::shared_ptr<ExecRecord> record_;  // null without an audit log
};

ExecTable::ExecTable(const ExecTableParts& parts)
    : parts_(parts),
      kept_(std::make_shared<DiskBudget>(kAllBytes)),
      stdin_waiting_(std::make_shared<DiskBudget>(kStdinBytes)),
      running_shares_(WithReserveWithin(parts.max_running)) {}

ExecTable::~ExecTable() { Shutdown(absl::ZeroDuration()); }

absl::Status ExecTable::Start() {
  if (absl::Status started = uncharged_loop_.Start(); !started.ok()) {
    return started;
  }
  return loop_.Start();
}

absl::StatusOr<SharedSession> ExecTable::Find(const Identity& caller,
                                              const std::string& session_id) {
  return parts_.sessions->Find(caller, session_id);
}

void ExecTable::Prepare(const Identity& caller, const v1::ExecSpec& spec,
                        const std::string& prefix, ReadyHandler then) {
  const auto answer = [&](const absl::Status& status) {
    loop_.Post([then, status] { then(status); });
  };
  if (!accepting_) return answer(ShuttingDown());
  absl::StatusOr<SharedSession> session = Find(caller, spec.session_id());
  if (!session.ok()) return answer(session.status());
  absl::StatusOr<ExecPlan> plan =
      CheckExecSpec(*parts_.policy->Get(), (*session)->spec(), spec, prefix);
  if (!plan.ok()) return answer(plan.status());
  plan->trace_id = caller.trace_id;
  std::shared_ptr<ExecRecord> record;
  if (parts_.audit != nullptr) {
    record = std::make_shared<ExecRecord>(*parts_.audit, caller.name, **session,
                                          spec, *plan);
  }
  if (const absl::Status may = MayStart(**session, record.get()); !may.ok()) {
    return answer(may);
  }
  absl::StatusOr<SessionUse> use = SessionUse::Begin(
      *session, [] {}, Session::UseKind::kCommand);
  if (!use.ok()) return answer(use.status());
  auto ready = std::make_shared<Ready>(
      Ready{*std::move(plan), *std::move(use), std::move(record)});
  if ((*session)->host().processes()->IsAttached()) {
    return loop_.Post([ready, then] { then(std::move(*ready)); });
  }
  // About what the request takes while it waits.
  const uint64_t bytes = spec.stdin().size() + kMaxStartBytes;
  const absl::Status added =
      parts_.threads->Add({caller.name, (*session)->id()}, bytes,
                          [this, ready, then] { GetJail(ready, then); });
  if (!added.ok()) answer(added);
}

absl::Status ExecTable::MayStart(const Session& session,
                                 const ExecRecord* record) const {
  const policy::Profile& profile = *session.spec().profile;
  if (absl::Status may = parts_.gate->MayRunBy(profile); !may.ok()) return may;
  absl::Status denied;
  if (profile.commands == policy::SessionCommands::kDeny) {
    denied = CommandsDenied(profile.name);
  }
  if (record == nullptr) return denied;
  if (denied.ok()) return parts_.audit->Ready();
  const absl::Status recorded =
      record->Write(*parts_.audit, denied, v1::ExecEnd());
  return recorded.ok() ? denied : recorded;
}

void ExecTable::GetJail(const std::shared_ptr<Ready>& ready,
                        const ReadyHandler& then) {
  Session& session = ready->use.session();
  CancelToken cancel;
  absl::Status attached = session.host().processes()->Attach(cancel);
  if (attached.ok()) {
    return loop_.Post([ready, then] { then(std::move(*ready)); });
  }
  absl::Status status = session.Lives();
  if (status.ok()) status = RunFailed(attached);
  loop_.Post([ready, then, status] { then(status); });
}

void ExecTable::KillAll() {
  loop_.Post([this] {
    for (const auto& [session_id, commands] : sessions_) {
      KillThose(commands, policy::KillReason::kShutdown);
    }
  });
}

void ExecTable::Shutdown(absl::Duration timeout) {
  accepting_ = false;
  KillAll();
  const MonotonicTime end = After(Now(), timeout);
  while (running_ > 0 && Until(end) > absl::ZeroDuration()) {
    absl::SleepFor(kPollInterval);
  }
}

// ---- on the loop's thread ----

absl::StatusOr<ExecTable::Commands*> ExecTable::CommandsOf(
    const SharedSession& session) {
  const auto found = sessions_.find(session->id());
  if (found != sessions_.end()) return &found->second;
  const absl::Status noted = session->AtEnd(
      [this, session_id = session->id()](policy::KillReason reason) {
        loop_.Post([this, session_id, reason] {
          RecordSessionEnd(session_id, reason);
        });
      });
  if (!noted.ok()) return noted;
  const std::string& owner = session->caller().name;
  Commands& commands = sessions_[session->id()];
  commands.kept_of_owner = kept_->ShareOf(owner);
  commands.stdin_of_owner = stdin_waiting_->ShareOf(owner);
  commands.kept =
      std::make_shared<KeptBytes>(kSessionBytes, commands.kept_of_owner);
  commands.host = session->host().processes();
  return &commands;
}

absl::StatusOr<ExecTable::Begun> ExecTable::Begin(Ready ready) {
  const SharedSession session = ready.use.shared_session();
  absl::StatusOr<Commands*> of_session = CommandsOf(session);
  if (!of_session.ok()) return of_session.status();
  Commands& commands = **of_session;
  if (const auto found = commands.by_id.find(ready.plan.exec_id);
      found != commands.by_id.end()) {
    if (found->second->plan().fingerprint != ready.plan.fingerprint) {
      return ExecIdReused(ready.plan.exec_id);
    }
    return Begun{found->second, true};
  }
  if (absl::Status room = CheckRoom(session->caller(), commands, ready.plan);
      !room.ok()) {
    return room;
  }
  if (!ready.plan.named) {
    do {
      ready.plan.exec_id = RandomId("exec-", 4);
    } while (commands.by_id.count(ready.plan.exec_id) != 0);
  }
  if (ready.record != nullptr) ready.record->SetExecId(ready.plan.exec_id);
  auto exec = std::make_shared<Exec>(next_number_++, std::move(ready.plan),
                                     std::move(ready.use),
                                     SurroundingsOf(commands, ready.record));
  const auto take = [this, session_id = session->id(),
                     number = exec->number()](ProcessNews news) {
    loop_.Post([this, session_id, number, news = std::move(news)]() mutable {
      HandleNews(session_id, number, news);
    });
  };
  if (absl::Status asked = exec->Start(take); !asked.ok()) {
    return WhyNotStarted(*session, asked);
  }
  Enter(commands, exec);
  return Begun{exec, false};
}

absl::Status ExecTable::CheckRoom(const Identity& owner,
                                  const Commands& commands,
                                  const ExecPlan& plan) {
  if (commands.running >= kMaxRunning) {
    return TooManyExecs(
        absl::StrCat(commands.running, " commands run in the session"),
        kRetryExecAfter);
  }
  if (absl::Status room = CheckTenantRoom(owner); !room.ok()) return room;
  const std::string& caller = owner.name;
  switch (running_shares_.RoomFor(caller)) {
    case Shares::Room::kYes:
      break;
    case Shares::Room::kCallerHasItsShare:
      return TooManyExecs(
          absl::StrCat(running_shares_.held_by(caller), " of the ",
                       running_shares_.held(),
                       " commands that run on the server are of ", caller,
                       ", which is its share"),
          kRetryExecAfter);
    case Shares::Room::kNone:
      return TooManyExecs(
          absl::StrCat(running_.load(), " commands run on the server"),
          kRetryExecAfter);
  }
  return CheckStdinRoom(owner, plan.stdin_data.size());
}

void ExecTable::Enter(Commands& commands, const SharedExec& exec) {
  for (const auto& [other_number, other] : commands.by_number) {
    if (other->over()) continue;
    other->RecordCompany();
    exec->RecordCompany();
  }
  commands.by_number[exec->number()] = exec;
  commands.by_id[exec->plan().exec_id] = exec;
  ++running_;
  const Session& session = exec->session();
  running_shares_.Acquire(session.caller().name);
  ++running_of_tenant_[session.caller().tenant];
  if (IsFinite(*exec)) ++finite_;
  // This is done each time, since it may be another jail than the last
  // command's.
  WatchJail(session.id(), commands);
  if (commands.running++ == 0) {
    CheckUnchargedIn(absl::ZeroDuration(), session.id(), commands);
  }
}

ExecSurroundings ExecTable::SurroundingsOf(
    Commands& commands, const std::shared_ptr<ExecRecord>& record) {
  ExecSurroundings around;
  around.loop = &loop_;
  around.kept = commands.kept;
  around.stdin_waiting = commands.stdin_of_owner;
  around.keeper = std::make_shared<Keeper>(*this, commands, record);
  return around;
}

void ExecTable::WatchJail(const std::string& session_id, Commands& commands) {
  ForgetJail(commands);
  commands.news = commands.host->NewsFd();
  if (!commands.news.valid()) {
    // There is no room for the descriptor just now, or the jail has died, which
    // is reported in another way.
    loop_.CallAt(After(Now(), kWatchAgain), [this, session_id] {
      const auto found = sessions_.find(session_id);
      if (found == sessions_.end() || found->second.running == 0 ||
          found->second.news.valid()) {
        return;
      }
      found->second.host->DeliverNews();
      WatchJail(session_id, found->second);
    });
    return;
  }
  commands.watch = loop_.Watch(commands.news.get(), EPOLLIN,
                               [this, session_id](uint32_t events) {
                                 const auto found = sessions_.find(session_id);
                                 if (found == sessions_.end()) return;
                                 found->second.host->DeliverNews();
                                 // The jail is dead; everything it had to
                                 // report has been reported.
                                 if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
                                   ForgetJail(found->second);
                                 }
                               });
}

void ExecTable::ForgetJail(Commands& commands) {
  loop_.Forget(std::exchange(commands.watch, 0));
  commands.news.reset();
}

void ExecTable::HandleNews(const std::string& session_id, uint64_t number,
                           ProcessNews& news) {
  const auto found = sessions_.find(session_id);
  if (found != sessions_.end()) {
    const auto exec = found->second.by_number.find(number);
    if (exec != found->second.by_number.end()) {
      const SharedExec taker = exec->second;
      return taker->Handle(news);
    }
  }
  // The news came too late.
  if (auto* spawned = std::get_if<sandbox::SpawnedEvent>(&news)) {
    (void)sandbox::KillGroup(spawned->fds.kill);
    if (found != sessions_.end()) found->second.host->KillProcess(spawned->id);
  }
}

void ExecTable::BeforeEnd(const SharedExec& exec,
                          const std::shared_ptr<ExecRecord>& record,
                          ExecSavedHandler done) {
  const Session& session = exec->session();
  const bool save = session.durable() && exec->status().ok();
  if (!save && record == nullptr) return done({});
  // A line alone has a key of its own, so that calls that wait on the session's
  // jail don't hold up its writing, which doesn't need the jail.
  parts_.threads->Continue(
      {session.caller().name,
       save ? session.id() : absl::StrCat(session.id(), "/record")},
      [this, exec, record, save, end = exec->end(), failure = exec->status(),
       done = std::move(done)] {
        ExecSaved saved;
        if (save) {
          saved.files_not_saved = std::string(exec->session().Save().message());
        }
        if (record != nullptr) {
          saved.recorded = record->Write(*parts_.audit, failure, end);
        }
        loop_.Post([done, saved] { done(saved); });
      });
}

void ExecTable::RecordOver(Exec& exec) {
  const Session& session = exec.session();
  --running_;
  running_shares_.Release(session.caller().name);
  const auto of_tenant = running_of_tenant_.find(session.caller().tenant);
  if (--of_tenant->second == 0) running_of_tenant_.erase(of_tenant);
  if (IsFinite(exec)) --finite_;
  Commands& commands = sessions_.at(session.id());
  if (exec.state() == Exec::State::kFailed) {
    commands.by_id.erase(exec.plan().exec_id);
    commands.by_number.erase(exec.number());
  } else {
    commands.ended.push_back(exec.number());
    if (parts_.runs != nullptr) {
      parts_.runs->ChargeCommand(session.caller().tenant, exec.end());
    }
    if (parts_.watcher != nullptr) {
      const policy::Language* language = session.spec().language;
      parts_.watcher->RecordCommand(session.caller(),
                                    language != nullptr ? language->id : "",
                                    exec.end());
    }
  }
  if (commands.ended.size() > kMaxEnded) DropOldestEnded(commands);
  if (--commands.running > 0) return;
  ForgetJail(commands);
  loop_.Cancel(std::exchange(commands.uncharged_timer, 0));
  // The session ended before its last command did.
  if (commands.session_over) sessions_.erase(session.id());
}

void ExecTable::RecordSessionEnd(const std::string& session_id,
                                 policy::KillReason reason) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end()) return;
  KillThose(found->second, reason);
  if (found->second.running == 0) {
    sessions_.erase(found);
  } else {
    found->second.session_over = true;
  }
}

absl::StatusOr<SharedExec> ExecTable::Find(const std::string& session_id,
                                           const std::string& exec_id) {
  if (const auto of_session = sessions_.find(session_id);
      of_session != sessions_.end()) {
    const auto& by_id = of_session->second.by_id;
    if (const auto found = by_id.find(exec_id); found != by_id.end()) {
      return found->second;
    }
  }
  return ExecNotFound(session_id, exec_id);
}

std::vector<SharedExec> ExecTable::List(const std::string& session_id) {
  std::vector<SharedExec> execs;
  const auto commands = sessions_.find(session_id);
  if (commands == sessions_.end()) return execs;
  for (const auto& [number, exec] : commands->second.by_number) {
    if (!exec->starting()) execs.push_back(exec);
  }
  std::reverse(execs.begin(), execs.end());
  return execs;
}

void ExecTable::KillThose(const Commands& commands, policy::KillReason reason,
                          uint64_t measured) {
  const auto execs = commands.by_number;
  for (const auto& [number, exec] : execs) {
    if (exec->runs()) exec->Kill(reason, measured);
  }
}

}  // namespace sandglass::server
