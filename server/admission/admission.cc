#include "server/admission/admission.h"

#include <algorithm>
#include <utility>

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

}  // namespace

Admission::Admission(const AdmissionOptions& options)
    : options_(options), queue_(QueueOptions(options)) {}

Admission::Reservation::~Reservation() {
  if (admission_ != nullptr) admission_->Release(held_, Since(since_));
}

absl::Status Admission::Room(const std::string& caller, uint64_t bytes) const {
  const Shares& runs = queue_.waiting_shares();
  switch (runs.RoomFor(caller)) {
    case Shares::Room::kYes:
      break;
    case Shares::Room::kCallerHasItsShare:
      return QueueShareFull(caller, runs.held_by(caller), runs.held(),
                            RetryDelayLocked());
    case Shares::Room::kNone:
      return QueueFull(runs.held(), RetryDelayLocked());
  }
  const Shares& held = queue_.waiting_bytes();
  switch (held.RoomFor(caller, bytes)) {
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

absl::Status Admission::Enqueue(std::shared_ptr<QueuedRun> run) {
  const uint64_t memory = run->highest_memory_bytes() + options_.overhead_bytes;
  if (memory > options_.memory_budget_bytes) {
    return NeverFits(memory, options_.memory_budget_bytes);
  }
  const std::string caller = run->caller_name();
  const uint64_t bytes = run->request_bytes();
  absl::MutexLock lock(&mutex_);
  if (stopped_) return ShuttingDown();
  if (absl::Status room = Room(caller, bytes); !room.ok()) return room;
  queue_.Add({std::move(run), caller, memory, bytes,
              After(Now(), options_.queue_timeout)});
  return absl::OkStatus();
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
  RunQueue::Started started = queue_.Start();
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
  queue_.End(held);
  usual_run_ = usual_run_ * 0.8 + time * 0.2;
}

absl::Duration Admission::RetryDelayLocked() const {
  const absl::Duration guess = usual_run_ *
                               static_cast<double>(queue_.waiting() + 1) /
                               static_cast<double>(options_.max_running);
  return std::clamp(guess, absl::Milliseconds(100), absl::Seconds(30));
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
