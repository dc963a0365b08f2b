#include "server/session.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/errors.h"
#include "server/proto_time.h"
#include "server/response.h"

namespace sandglass::server {
namespace {

// Runs of one context that wait or go on, and contexts of one session.
constexpr size_t kMostInLine = 64;
constexpr size_t kMostContexts = 16;
// Calls on one session's files at once.
constexpr size_t kMostCalls = 16;
constexpr absl::Duration kRetryAfterCalls = absl::Milliseconds(100);

}  // namespace

Session::Session(std::string id, Caller caller, SessionSpec spec,
                 std::unique_ptr<SessionHost> host)
    : id_(std::move(id)),
      caller_(std::move(caller)),
      spec_(std::move(spec)),
      host_(std::move(host)),
      labels_(spec_.labels),
      idle_timeout_(spec_.idle_timeout),
      max_age_(spec_.max_age) {}

size_t Session::UsesOf(UseKind kind) const {
  return static_cast<size_t>(std::count_if(
      uses_.begin(), uses_.end(),
      [kind](const auto& entry) { return entry.second.kind == kind; }));
}

bool Session::InUse() const {
  return uses_.size() > (paused_ ? UsesOf(UseKind::kBackground) : 0) ||
         std::any_of(lines_.begin(), lines_.end(),
                     [](const auto& entry) { return !entry.second.empty(); });
}

MonotonicTime Session::Expires() const {
  const MonotonicTime used = InUse() ? Monotonic::now() : used_;
  const MonotonicTime by_age = created_ + absl::ToChronoNanoseconds(max_age_);
  return std::min(by_age, used + absl::ToChronoNanoseconds(idle_timeout_));
}

absl::Time Session::expire_time() const {
  absl::MutexLock lock(&mutex_);
  return absl::Now() + Until(Expires());
}

v1::Session Session::Describe() const {
  v1::Session proto;
  proto.set_session_id(id_);
  if (spec_.language != nullptr) proto.set_language(spec_.language->id);
  proto.set_profile(spec_.profile->name);
  *proto.mutable_limits() = ToProto(spec_.limits);
  *proto.mutable_create_time() = ToProto(create_time_);
  proto.set_caller(caller_.name);
  for (const KernelStatus& kernel : host_->Kernels()) {
    v1::KernelInfo& out = *proto.add_kernels();
    out.set_context(kernel.context);
    out.set_state(static_cast<v1::KernelState>(kernel.state));
    out.set_runs(kernel.runs);
    out.set_restarts(kernel.restarts);
    out.set_last_end(kernel.last_end);
  }
  if (spec_.language != nullptr && proto.kernels().empty()) {
    proto.add_kernels()->set_state(v1::KERNEL_STATE_NOT_STARTED);
  }
  proto.set_memory_bytes(host_->MemoryBytes());
  absl::MutexLock lock(&mutex_);
  proto.mutable_labels()->insert(labels_.begin(), labels_.end());
  proto.set_state(paused_ ? v1::SESSION_STATE_PAUSED
                          : v1::SESSION_STATE_ACTIVE);
  *proto.mutable_last_used_time() = ToProto(last_used_time_);
  *proto.mutable_expire_time() = ToProto(absl::Now() + Until(Expires()));
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
  used_ = Monotonic::now();
  last_used_time_ = absl::Now();
}

void Session::Touch() {
  absl::MutexLock lock(&mutex_);
  TouchLocked();
}

absl::StatusOr<bool> Session::Enter(const std::shared_ptr<Run>& run) {
  absl::MutexLock lock(&mutex_);
  if (!over_.reason.empty()) return SessionOver(over_.reason, over_.message);
  const std::string& context = run->job().context;
  if (lines_.count(context) == 0 && lines_.size() >= kMostContexts) {
    return TooManyContexts(kMostContexts);
  }
  auto& line = lines_[context];
  if (line.size() >= kMostInLine) return SessionLineFull(id_, line.size());
  line.push_back(run);
  TouchLocked();
  return line.size() == 1;
}

std::shared_ptr<Run> Session::Leave(const Run& run) {
  absl::MutexLock lock(&mutex_);
  auto& line = lines_[run.job().context];
  const auto it =
      std::find_if(line.begin(), line.end(),
                   [&](const auto& waiting) { return waiting.get() == &run; });
  if (it == line.end()) return nullptr;
  const bool was_first = it == line.begin();
  line.erase(it);
  TouchLocked();
  if (was_first && !line.empty()) return line.front();
  return nullptr;
}

bool Session::RemoveWaiting(const Run& run) {
  absl::MutexLock lock(&mutex_);
  auto& line = lines_[run.job().context];
  const auto it =
      std::find_if(line.begin(), line.end(),
                   [&](const auto& waiting) { return waiting.get() == &run; });
  if (it == line.end() || it == line.begin()) return false;
  line.erase(it);
  return true;
}

absl::StatusOr<uint64_t> Session::BeginUse(std::function<void()> on_end,
                                           UseKind kind) {
  absl::MutexLock lock(&mutex_);
  if (absl::Status thawed = ThawLocked(); !thawed.ok()) return thawed;
  if (kind == UseKind::kCall && UsesOf(kind) >= kMostCalls) {
    return TooManyCalls(kRetryAfterCalls);
  }
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

absl::Status Session::AtEnd(std::function<void()> call) {
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
  if (!over_.reason.empty()) return SessionOver(over_.reason, over_.message);
  if (!paused_) return absl::OkStatus();
  if (absl::Status thawed = host_->Freeze(false); !thawed.ok()) return thawed;
  paused_ = false;
  return absl::OkStatus();
}

absl::Status Session::Pause() {
  absl::MutexLock lock(&mutex_);
  if (!over_.reason.empty()) return SessionOver(over_.reason, over_.message);
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

void Session::Update(const std::map<std::string, std::string>* labels,
                     const absl::Duration* idle_timeout,
                     const absl::Duration* max_age) {
  absl::MutexLock lock(&mutex_);
  if (labels != nullptr) labels_ = *labels;
  if (idle_timeout != nullptr) idle_timeout_ = *idle_timeout;
  if (max_age != nullptr) max_age_ = *max_age;
  TouchLocked();
}

Session::Over Session::LooksOver() const {
  if (std::string death = host_->Death(); !death.empty()) {
    return {"SESSION_DIED", std::move(death)};
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

void Session::End(const Over& why) {
  std::vector<std::shared_ptr<Run>> runs;
  std::map<uint64_t, Use> uses;
  std::vector<std::function<void()>> at_end;
  {
    absl::MutexLock lock(&mutex_);
    if (!over_.reason.empty()) return;
    over_ = why;
    for (const auto& [context, line] : lines_) {
      runs.insert(runs.end(), line.begin(), line.end());
    }
    uses.swap(uses_);
    at_end.swap(at_end_);
  }
  for (const auto& call : at_end) call();
  for (const auto& [number, use] : uses) use.on_end();
  for (const auto& run : runs) {
    run->cancel().Cancel(policy::KillReason::kCancelled);
  }
  host_->End();
}

absl::StatusOr<SessionUse> SessionUse::Begin(std::shared_ptr<Session> session,
                                             std::function<void()> on_end,
                                             Session::UseKind kind) {
  absl::StatusOr<uint64_t> number = session->BeginUse(std::move(on_end), kind);
  if (!number.ok()) return number.status();
  return SessionUse(std::move(session), *number);
}

SessionUse::~SessionUse() {
  if (session_ != nullptr) session_->EndUse(number_);
}

std::string NewSessionId() {
  uint64_t number = 0;
  while (::getrandom(&number, sizeof(number), 0) != sizeof(number)) {
  }
  return absl::StrCat("ses-", absl::Hex(number, absl::kZeroPad16));
}

}  // namespace sandglass::server
