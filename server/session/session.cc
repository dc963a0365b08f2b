#include "server/session/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/os/clocks.h"
#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/base/limits_proto.h"
#include "server/base/proto_time.h"
#include "server/base/random_id.h"
#include "server/base/strings.h"
#include "server/session/session_copy.h"
#include "server/session/session_record.h"

namespace sandglass::server {
namespace {

// Bounds for the runs of one context that wait or go on, and for the contexts
// of one session.
constexpr size_t kMaxInLine = 64;
constexpr size_t kMaxContexts = 16;
// The most calls on one session's files at the same time.
constexpr size_t kMaxCalls = 16;
constexpr absl::Duration kRetryAfterCalls = absl::Milliseconds(100);
// Bound for the path of a missing file, so that a list of sessions isn't too
// long.
constexpr size_t kMaxMissingPath = 256;
// How exactly the disk knows the time of the last use.
constexpr absl::Duration kTouchInterval = absl::Seconds(1);

MonotonicTime Ago(absl::Duration time) {
  constexpr absl::Duration kMax = absl::Hours(24 * 365);
  return Now() - absl::ToChronoNanoseconds(std::min(time, kMax));
}

bool IsFirst(const Turn& turn, const auto& line) {
  return !line.empty() && line.front().get() == &turn;
}

// Returns false when it isn't in the line.
bool Erase(const Turn& turn, auto& line) {
  return std::erase_if(line, [&turn](const auto& waiting) {
           return waiting.get() == &turn;
         }) > 0;
}

}  // namespace

Session::Session(std::string id, Identity caller, SessionSpec spec,
                 std::unique_ptr<SessionHost> host,
                 std::shared_ptr<SessionCopy> copy, const SessionPast* past)
    : id_(std::move(id)),
      caller_(std::move(caller)),
      spec_(std::move(spec)),
      host_(std::move(host)),
      copy_(std::move(copy)),
      unusable_(past == nullptr ? "" : past->unusable),
      created_(Ago(past == nullptr ? absl::ZeroDuration() : past->age)),
      create_time_(past == nullptr ? os::WallNow() : past->create_time),
      labels_(spec_.labels),
      idle_timeout_(spec_.idle_timeout),
      max_age_(spec_.max_age),
      used_(Ago(past == nullptr ? absl::ZeroDuration() : past->idle)),
      last_used_time_(past == nullptr ? create_time_ : past->last_used_time),
      touched_(used_) {
  if (past == nullptr) return;
  dormant_ = true;
  contexts_ = past->contexts;
}

size_t Session::UsesOf(UseKind kind) const {
  return static_cast<size_t>(std::ranges::count_if(
      uses_, [kind](const auto& of) { return of.second.kind == kind; }));
}

bool Session::InUse() const {
  return uses_.size() > (paused_ ? UsesOf(UseKind::kBackground) : 0) ||
         std::ranges::any_of(lines_,
                             [](const auto& of) { return !of.second.empty(); });
}

MonotonicTime Session::Expires() const {
  const MonotonicTime used = InUse() ? Now() : used_;
  const MonotonicTime by_age = created_ + absl::ToChronoNanoseconds(max_age_);
  return std::min(by_age, used + absl::ToChronoNanoseconds(idle_timeout_));
}

absl::Time Session::expire_time() const {
  absl::MutexLock lock(&mutex_);
  return os::WallNow() + Until(Expires());
}

v1::Session Session::Describe() const {
  v1::Session proto;
  proto.set_session_id(id_);
  if (spec_.language != nullptr) proto.set_language(spec_.language->id);
  proto.set_profile(spec_.profile->name);
  *proto.mutable_limits() = ToProto(spec_.limits);
  *proto.mutable_create_time() = ToProto(create_time_);
  proto.set_caller(caller_.name);
  for (v1::KernelInfo& kernel : host_->Kernels()) {
    *proto.add_kernels() = std::move(kernel);
  }
  if (spec_.language != nullptr && proto.kernels().empty()) {
    proto.add_kernels()->set_state(v1::KERNEL_STATE_NOT_STARTED);
  }
  proto.set_memory_bytes(host_->MemoryBytes());
  proto.set_forked_from(spec_.forked_from);
  proto.set_evictable(spec_.evictable);
  if (spec_.libraries) {
    for (const std::string& name : spec_.libraries->decided->names) {
      proto.add_libraries(name);
    }
    proto.set_layer_id(host_->LayerId());
  }
  proto.set_durable(copy_ != nullptr);
  if (copy_ != nullptr) {
    proto.set_durable_bytes(copy_->bytes());
    const SessionCopy::Missing missing = copy_->missing();
    proto.set_missing_file_count(missing.count);
    for (const auto& [path, why] : missing.first) {
      v1::MissingFile& file = *proto.add_missing_files();
      file.set_path(AsUtf8(std::string_view(path).substr(0, kMaxMissingPath)));
      file.set_reason(why);
    }
  }
  absl::MutexLock lock(&mutex_);
  proto.mutable_labels()->insert(labels_.begin(), labels_.end());
  proto.set_state(dormant_  ? v1::SESSION_STATE_DORMANT
                  : paused_ ? v1::SESSION_STATE_PAUSED
                            : v1::SESSION_STATE_ACTIVE);
  *proto.mutable_last_used_time() = ToProto(last_used_time_);
  *proto.mutable_expire_time() = ToProto(os::WallNow() + Until(Expires()));
  *proto.mutable_idle_timeout() = ToProto(idle_timeout_);
  *proto.mutable_max_age() = ToProto(max_age_);
  return proto;
}

bool Session::HasLabels(
    const google::protobuf::Map<std::string, std::string>& wanted) const {
  absl::MutexLock lock(&mutex_);
  for (const auto& [key, value] : wanted) {
    const auto it = labels_.find(key);
    if (it == labels_.end() || it->second != value) return false;
  }
  return true;
}

void Session::TouchLocked() {
  used_ = Now();
  last_used_time_ = os::WallNow();
  if (copy_ == nullptr || Since(touched_) < kTouchInterval) return;
  touched_ = used_;
  copy_->Touch(last_used_time_);
}

absl::Status Session::UsableLocked() const {
  if (!over_.reason.empty()) return SessionOver(over_.reason, over_.message);
  if (!unusable_.empty()) return SessionUnusable(id_, unusable_);
  return absl::OkStatus();
}

absl::Status Session::WriteRecord() {
  if (copy_ == nullptr) return absl::OkStatus();
  SessionSpec spec = spec_;
  spec.labels = labels_;
  spec.idle_timeout = idle_timeout_;
  spec.max_age = max_age_;
  const absl::Time now = os::WallNow();
  absl::Status written = copy_->WriteRecord(ToRecord(
      id_, caller_, spec, create_time_, Since(created_), contexts_, now));
  copy_->Touch(now - Since(used_));
  return written;
}

void Session::HandleClockSet() {
  absl::MutexLock lock(&mutex_);
  // If this fails, the next change of the record makes up for it.
  if (over_.reason.empty()) (void)WriteRecord();
}

absl::StatusOr<JobResult> Session::Run(const Job& job, CancelToken& cancel,
                                       RunListener* listener) {
  // It ended while the run waited; its end has cancelled the run.
  if (absl::Status lives = Lives(); !lives.ok()) return lives;
  if (absl::Status thawed = Thaw(); !thawed.ok()) return thawed;
  absl::StatusOr<JobResult> result = host_->RunCell(job, cancel, listener);
  // Whoever has the answer may rely on the files.
  const MonotonicTime began = Now();
  const absl::Status saved = Save();
  if (!result.ok()) return result;
  result->cell->files_not_saved = std::string(saved.message());
  result->timings.stage_out += Between(began, Now());
  return result;
}

absl::Status Session::Save() {
  if (copy_ == nullptr) return absl::OkStatus();
  if (absl::Status saved = host_->Save(); !saved.ok()) {
    if (absl::Status lives = Lives(); !lives.ok()) return lives;
    return FilesNotSaved(absl::StrCat("session ", id_), saved);
  }
  std::vector<std::string> contexts;
  for (const v1::KernelInfo& kernel : host_->Kernels()) {
    contexts.push_back(kernel.context());
  }
  absl::MutexLock lock(&mutex_);
  if (contexts == contexts_ || !over_.reason.empty()) return absl::OkStatus();
  contexts_.swap(contexts);
  absl::Status written = WriteRecord();
  if (written.ok()) return written;
  contexts_.swap(contexts);
  return FilesNotSaved(absl::StrCat("session ", id_), written);
}

void Session::Touch() {
  absl::MutexLock lock(&mutex_);
  TouchLocked();
}

absl::StatusOr<bool> Session::Enter(const std::shared_ptr<Turn>& turn) {
  absl::MutexLock lock(&mutex_);
  if (absl::Status usable = UsableLocked(); !usable.ok()) return usable;
  const std::string& context = turn->context();
  if (lines_.count(context) == 0 && lines_.size() >= kMaxContexts) {
    return TooManyContexts(kMaxContexts);
  }
  auto& line = lines_[context];
  if (line.size() >= kMaxInLine) return SessionLineFull(id_, line.size());
  line.push_back(turn);
  dormant_ = false;
  TouchLocked();
  return line.size() == 1;
}

std::shared_ptr<Turn> Session::Leave(const Turn& turn) {
  absl::MutexLock lock(&mutex_);
  auto& line = lines_[turn.context()];
  const bool was_first = IsFirst(turn, line);
  if (!Erase(turn, line)) return nullptr;
  TouchLocked();
  return was_first && !line.empty() ? line.front() : nullptr;
}

bool Session::RemoveWaiting(const Turn& turn) {
  absl::MutexLock lock(&mutex_);
  auto& line = lines_[turn.context()];
  return !IsFirst(turn, line) && Erase(turn, line);
}

absl::StatusOr<uint64_t> Session::BeginUse(std::function<void()> on_end,
                                           UseKind kind) {
  absl::MutexLock lock(&mutex_);
  if (absl::Status thawed = ThawLocked(); !thawed.ok()) return thawed;
  if (kind == UseKind::kCall && UsesOf(kind) >= kMaxCalls) {
    return TooManyCalls(
        absl::StrCat(UsesOf(kind), " calls go on in session ", id_),
        kRetryAfterCalls);
  }
  dormant_ = false;
  TouchLocked();
  uses_[next_use_] = {kind, std::move(on_end)};
  return next_use_++;
}

void Session::ChangeUse(uint64_t use, UseKind kind) {
  absl::MutexLock lock(&mutex_);
  if (const auto it = uses_.find(use); it != uses_.end()) {
    it->second.kind = kind;
  }
}

absl::Status Session::AtEnd(std::function<void(policy::KillReason)> call) {
  absl::MutexLock lock(&mutex_);
  if (!over_.reason.empty()) return SessionOver(over_.reason, over_.message);
  at_end_.push_back(std::move(call));
  return absl::OkStatus();
}

void Session::EndUse(uint64_t use) {
  absl::MutexLock lock(&mutex_);
  uses_.erase(use);
  TouchLocked();
}

absl::Status Session::Lives() const {
  absl::MutexLock lock(&mutex_);
  if (over_.reason.empty()) return absl::OkStatus();
  return SessionOver(over_.reason, over_.message);
}

absl::Status Session::Thaw() {
  absl::MutexLock lock(&mutex_);
  return ThawLocked();
}

absl::Status Session::ThawLocked() {
  if (absl::Status usable = UsableLocked(); !usable.ok()) return usable;
  if (!paused_) return absl::OkStatus();
  if (absl::Status thawed = host_->Freeze(false); !thawed.ok()) return thawed;
  paused_ = false;
  return absl::OkStatus();
}

absl::Status Session::Pause() {
  absl::MutexLock lock(&mutex_);
  if (absl::Status usable = UsableLocked(); !usable.ok()) return usable;
  if (paused_) return absl::OkStatus();
  for (const auto& [context, line] : lines_) {
    if (!line.empty()) {
      return SessionBusy(id_, absl::StrCat("run ", line.front()->id()));
    }
  }
  if (UsesOf(UseKind::kCall) > 0) {
    return SessionBusy(id_, "a call on its files");
  }
  if (UsesOf(UseKind::kCommand) > 0) {
    return SessionBusy(id_, "a command that a client waits for");
  }
  if (UsesOf(UseKind::kConnection) > 0) {
    return SessionBusy(id_, "a connection to one of its programs");
  }
  if (absl::Status frozen = host_->Freeze(true); !frozen.ok()) return frozen;
  paused_ = true;
  TouchLocked();
  return absl::OkStatus();
}

absl::Status Session::Resume() {
  if (absl::Status thawed = Thaw(); !thawed.ok()) return thawed;
  Touch();
  return absl::OkStatus();
}

absl::Status Session::Update(const std::map<std::string, std::string>* labels,
                             const absl::Duration* idle_timeout,
                             const absl::Duration* max_age) {
  absl::MutexLock lock(&mutex_);
  if (labels != nullptr) labels_ = *labels;
  if (idle_timeout != nullptr) idle_timeout_ = *idle_timeout;
  if (max_age != nullptr) max_age_ = *max_age;
  TouchLocked();
  const absl::Status written = WriteRecord();
  return written.ok() ? written
                      : FilesNotSaved(absl::StrCat("session ", id_), written);
}

Session::Over Session::LooksOver() const {
  if (std::string death = host_->Death(); !death.empty()) {
    return {"SESSION_DIED", std::move(death), policy::KillReason::kSessionDied};
  }
  absl::MutexLock lock(&mutex_);
  if (Since(created_) >= max_age_) {
    return {"SESSION_EXPIRED", absl::StrCat("it reached its maximum age of ",
                                            absl::FormatDuration(max_age_))};
  }
  if (InUse() || Since(used_) < idle_timeout_) return {};
  return {"SESSION_EXPIRED", absl::StrCat("it was not used for ",
                                          absl::FormatDuration(idle_timeout_))};
}

std::optional<absl::Duration> Session::IdleTime() const {
  absl::MutexLock lock(&mutex_);
  if (InUse()) return std::nullopt;
  return Since(used_);
}

Session::Over Session::Over::ServerStopped() {
  return {"SESSION_DIED", "the server was stopped",
          policy::KillReason::kShutdown};
}

bool Session::CloseIfIdle(const Over& why) {
  absl::MutexLock lock(&mutex_);
  if (InUse() || !over_.reason.empty()) return false;
  over_ = why;
  return true;
}

bool Session::GiveUpJail(const std::string& why) {
  uint64_t use = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (InUse() || paused_ || !uses_.empty() || !over_.reason.empty()) {
      return false;
    }
    // Nobody else pauses or evicts it meanwhile.
    use = next_use_++;
    uses_[use] = {UseKind::kCall, [] {}};
  }
  const bool saved = Save().ok();
  absl::MutexLock lock(&mutex_);
  if (uses_.erase(use) == 0) return false;  // it has ended
  if (!saved || InUse() || !host_->GiveUpJail(why)) return false;
  dormant_ = true;
  return true;
}

void Session::End(const Over& why) {
  std::vector<std::shared_ptr<Turn>> turns;
  std::map<uint64_t, Use> uses;
  std::vector<std::function<void(policy::KillReason)>> at_end;
  {
    absl::MutexLock lock(&mutex_);
    if (std::exchange(ended_, true)) return;
    if (over_.reason.empty()) over_ = why;
    for (const auto& [context, line] : lines_) {
      turns.insert(turns.end(), line.begin(), line.end());
    }
    uses.swap(uses_);
    at_end.swap(at_end_);
  }
  for (const auto& call : at_end) call(why.to_runs);
  for (const auto& [number, use] : uses) use.on_end();
  for (const auto& turn : turns) turn->Cancel(why.to_runs);
  host_->End();
}

absl::StatusOr<SessionUse> SessionUse::Begin(SharedSession session,
                                             std::function<void()> on_end,
                                             Session::UseKind kind) {
  absl::StatusOr<uint64_t> number = session->BeginUse(std::move(on_end), kind);
  if (!number.ok()) return number.status();
  return SessionUse(std::move(session), *number);
}

SessionUse::~SessionUse() {
  if (session_ != nullptr) session_->EndUse(number_);
}

std::string NewSessionId() { return NodeId("ses-"); }

}  // namespace sandglass::server
