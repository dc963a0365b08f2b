#include "server/admission/admission.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"

namespace sandglass::server {
namespace {

// Waits on an absl::Mutex follow the wall clock; waking at least this often
// bounds what a jump of it can do to the monotonic queue deadlines.
constexpr absl::Duration kLongestNap = absl::Seconds(1);

RunQueueOptions QueueOptions(const AdmissionOptions& options) {
  SharesOptions bytes = WithReserveWithin(options.max_queued_bytes);
  bytes.max_per_caller = options.max_queued_bytes / 2;
  return {
      .slots = {.max = options.max_running, .reserve = options.reserve},
      .memory_bytes = options.memory_budget_bytes,
      .memory_reserve_bytes = options.memory_reserve_bytes,
      .waiting = {.max = options.max_queued,
                  .reserve = options.queued_reserve,
                  .max_per_caller = options.max_queued_per_caller != 0
                                        ? options.max_queued_per_caller
                                        : std::max(1u, options.max_queued / 2)},
      .waiting_bytes = bytes};
}

constexpr double kGb = 1 << 30;

// What is told of when to try again.
absl::Duration Bounded(absl::Duration guess) {
  return std::clamp(guess, absl::Milliseconds(100), absl::Seconds(30));
}

// Budgets are counted by a clock that nobody sets.
absl::Time BudgetClock() {
  return absl::UnixEpoch() + absl::FromChrono(Now().time_since_epoch());
}

bool HasBudgets(const policy::Tenant& tenant) {
  return !(tenant.budgets == policy::Budgets());
}

}  // namespace

Admission::Admission(const AdmissionOptions& options)
    : options_(options), queue_(QueueOptions(options)) {}

Admission::Reservation::~Reservation() {
  if (admission_ != nullptr) admission_->Release(held_, Since(since_));
}

absl::Status Admission::Room(const RunQueue::Waiting& waiting) const {
  const std::string& caller = waiting.caller;
  const std::string tenant = absl::StrCat("tenant ", waiting.tenant);
  const Shares& runs = queue_.waiting_shares();
  switch (queue_.RoomFor(waiting.tenant, caller)) {
    case Shares::Room::kYes:
      break;
    case Shares::Room::kCallerHasItsShare:
      if (runs.RoomFor(caller) == Shares::Room::kYes) {
        return QueueShareFull(tenant,
                              queue_.tenant_use().Get(waiting.tenant).waiting,
                              runs.held(), RetryDelayLocked());
      }
      return QueueShareFull(caller, runs.held_by(caller), runs.held(),
                            RetryDelayLocked());
    case Shares::Room::kNone:
      return QueueFull(runs.held(), RetryDelayLocked());
  }
  const Shares& held = queue_.waiting_bytes();
  switch (queue_.RoomForBytes(waiting.tenant, caller, waiting.request_bytes)) {
    case Shares::Room::kYes:
      break;
    case Shares::Room::kCallerHasItsShare:
      return QueueBytesShareFull(caller, held.held_by(caller),
                                 options_.max_queued_bytes, RetryDelayLocked());
    case Shares::Room::kNone:
      return QueueBytesFull(options_.max_queued_bytes, RetryDelayLocked());
  }
  return absl::OkStatus();
}

void Admission::SetTenants(std::shared_ptr<const policy::TenantTable> tenants) {
  absl::MutexLock lock(&mutex_);
  queue_.SetTenants(std::move(tenants));
}

absl::Status Admission::TenantRoom(const RunQueue::Waiting& waiting) {
  const policy::Tenant& tenant = queue_.TenantOf(waiting.tenant);
  bool never = false;
  const TenantUse& use = queue_.tenant_use();
  if (const std::optional<CeilingReached> reached =
          use.WhyNotWait(tenant, waiting.size, never)) {
    if (never) {
      return TenantCeilingTooLow(waiting.tenant, reached->ceiling,
                                 reached->wanted, reached->most);
    }
    // Another run may wait when one of those that run has ended.
    const double running = static_cast<double>(
        std::max<uint64_t>(1, use.Get(waiting.tenant).running));
    return TenantCeiling(waiting.tenant, reached->ceiling, reached->has,
                         reached->most, Bounded(UsualRun() / running));
  }
  return BudgetLeftLocked(waiting.tenant);
}

absl::Status Admission::BudgetLeftLocked(const std::string& tenant) {
  const policy::Budgets& budgets = queue_.TenantOf(tenant).budgets;
  if (budgets == policy::Budgets()) return absl::OkStatus();
  const std::optional<policy::BudgetSpent> spent =
      budgets_[tenant].FindSpent(budgets, BudgetClock());
  return spent ? TenantBudgetSpent(tenant, *spent) : absl::OkStatus();
}

absl::Status Admission::BudgetLeft(const std::string& tenant) {
  absl::MutexLock lock(&mutex_);
  return BudgetLeftLocked(tenant);
}

absl::Status Admission::InTime(const RunQueue::Waiting& waiting) const {
  const std::optional<MonotonicTime> deadline = waiting.run->deadline();
  if (!deadline) return absl::OkStatus();
  const std::optional<absl::Duration> wait = queue_.ExpectedWait(waiting);
  const absl::Duration left = Until(*deadline);
  if (!wait || *wait / 2 <= left) return absl::OkStatus();
  const absl::Duration needed = *wait + absl::Seconds(waiting.seconds);
  return DeadlineUnreachable(left, needed, Bounded(needed - left));
}

absl::Status Admission::Enqueue(std::shared_ptr<QueuedRun> run) {
  const uint64_t memory = run->highest_memory_bytes() + options_.overhead_bytes;
  if (memory > options_.memory_budget_bytes) {
    return NeverFits(memory, options_.memory_budget_bytes);
  }
  RunQueue::Waiting waiting{
      .tenant = run->tenant_name(),
      .caller = run->caller_name(),
      .is_batch = run->is_batch(),
      .size = {.memory_bytes = memory, .cpu_millis = run->highest_cpu_millis()},
      .request_bytes = run->request_bytes(),
      .kind = run->kind()};
  waiting.run = std::move(run);
  absl::MutexLock lock(&mutex_);
  if (stopped_) return ShuttingDown();
  const RunTimes::Expected expected = times_.Get(waiting.tenant, waiting.kind);
  waiting.seconds = expected.seconds;
  waiting.sure = expected.sure;
  if (absl::Status good = TenantRoom(waiting); !good.ok()) return good;
  if (absl::Status good = Room(waiting); !good.ok()) return good;
  if (absl::Status good = InTime(waiting); !good.ok()) return good;
  if (HasBudgets(queue_.TenantOf(waiting.tenant))) {
    policy::Amounts one;
    one[policy::Resource::kRuns] = 1;
    budgets_[waiting.tenant].Add(one, BudgetClock());
  }
  const MonotonicTime now = Now();
  waiting.until = After(now, options_.queue_timeout);
  queue_.Add(std::move(waiting), now);
  return absl::OkStatus();
}

void Admission::Charge(const std::string& tenant, const policy::Amounts& used) {
  absl::MutexLock lock(&mutex_);
  if (!HasBudgets(queue_.TenantOf(tenant))) return;
  budgets_[tenant].Add(used, BudgetClock());
}

std::map<std::string, policy::BudgetUse::Kept> Admission::KeepBudgets() {
  absl::MutexLock lock(&mutex_);
  std::map<std::string, policy::BudgetUse::Kept> kept;
  for (auto& [tenant, use] : budgets_) kept[tenant] = use.Keep(BudgetClock());
  return kept;
}

void Admission::RestoreBudgets(
    const std::map<std::string, policy::BudgetUse::Kept>& budgets,
    absl::Duration since) {
  absl::MutexLock lock(&mutex_);
  for (const auto& [tenant, kept] : budgets) {
    budgets_[tenant] = policy::BudgetUse(kept, BudgetClock() - since);
  }
}

bool Admission::Remove(const QueuedRun* run) {
  absl::MutexLock lock(&mutex_);
  return queue_.Remove(run);
}

bool Admission::CanStartOrStopped() const {
  return stopped_ || queue_.CanStart();
}
bool Admission::WaitingOrStopped() const {
  return stopped_ || queue_.waiting() > 0;
}

std::optional<Admission::Admitted> Admission::Pop() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &Admission::CanStartOrStopped));
  if (stopped_) return std::nullopt;
  RunQueue::Started started = queue_.Start(Now());
  return Admitted{std::move(started.run),
                  Reservation(this, std::move(started.held))};
}

std::vector<std::shared_ptr<QueuedRun>> Admission::PopOverdue() {
  std::vector<std::shared_ptr<QueuedRun>> overdue;
  absl::MutexLock lock(&mutex_);
  while (overdue.empty()) {
    mutex_.Await(absl::Condition(this, &Admission::WaitingOrStopped));
    if (stopped_) break;
    overdue = queue_.PopOverdue(Now());
    const std::optional<MonotonicTime> next = queue_.next_overdue();
    if (!overdue.empty() || !next.has_value()) continue;
    look_again_ = false;
    mutex_.AwaitWithTimeout(
        absl::Condition(this, &Admission::StoppedOrLooksAgain),
        std::min(kLongestNap, Until(*next)));
  }
  return overdue;
}

bool Admission::StoppedOrLooksAgain() const { return stopped_ || look_again_; }

void Admission::Recheck() {
  absl::MutexLock lock(&mutex_);
  look_again_ = true;
}

std::vector<std::shared_ptr<QueuedRun>> Admission::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  return queue_.Clear();
}

void Admission::Release(const RunQueue::Held& held, absl::Duration time) {
  absl::MutexLock lock(&mutex_);
  queue_.End(held, Now());
  if (HasBudgets(queue_.TenantOf(held.tenant))) {
    policy::Amounts memory;
    memory[policy::Resource::kGbSeconds] =
        static_cast<double>(held.memory_bytes) / kGb *
        absl::ToDoubleSeconds(time);
    budgets_[held.tenant].Add(memory, BudgetClock());
  }
  times_.Learn(held.tenant, held.kind, absl::ToDoubleSeconds(time));
}

absl::Duration Admission::RetryDelayLocked() const {
  return Bounded(UsualRun() * static_cast<double>(queue_.waiting() + 1) /
                 static_cast<double>(options_.max_running));
}

absl::Duration Admission::RetryDelay() const {
  absl::MutexLock lock(&mutex_);
  return RetryDelayLocked();
}

Admission::Snapshot Admission::snapshot() const {
  absl::MutexLock lock(&mutex_);
  return {static_cast<uint32_t>(queue_.slots().held()),
          static_cast<uint32_t>(queue_.waiting()), queue_.memory_bytes()};
}

}  // namespace sandglass::server
