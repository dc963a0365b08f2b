#include "server/admission.h"

#include <algorithm>
#include <utility>

#include "server/errors.h"

namespace sandglass::server {
namespace {

// Phases come one after the other, so the hungrier one counts.
uint64_t HighestMemory(const Job& job) {
  return std::max(job.limits.memory_bytes,
                  job.compile ? job.compile->limits.memory_bytes : 0);
}

// Waits on an absl::Mutex follow the wall clock; waking at least this often
// bounds what a jump of it can do to the monotonic queue deadlines.
constexpr absl::Duration kLongestNap = absl::Seconds(1);

}  // namespace

Admission::Admission(const AdmissionOptions& options)
    : options_(options),
      caller_share_(options.max_queued_per_caller != 0
                        ? options.max_queued_per_caller
                        : std::max(1u, options.max_queued / 2)) {}

Admission::Reservation::~Reservation() {
  if (admission_ != nullptr) admission_->Release(memory_bytes_, Since(since_));
}

absl::Status Admission::Enqueue(std::shared_ptr<Run> run) {
  const uint64_t memory = HighestMemory(run->job()) + options_.overhead_bytes;
  if (memory > options_.memory_budget_bytes) {
    return NeverFits(memory, options_.memory_budget_bytes);
  }
  absl::MutexLock lock(&mutex_);
  if (stopped_) return ShuttingDown();
  if (queue_.size() >= options_.max_queued) {
    return QueueFull(static_cast<uint32_t>(queue_.size()), RetryDelayLocked());
  }
  const uint64_t bytes = run->origin().request_bytes;
  if (queued_bytes_ + bytes > options_.max_queued_bytes && !queue_.empty()) {
    return QueueBytesFull(options_.max_queued_bytes, RetryDelayLocked());
  }
  const std::string& caller = run->origin().caller.name;
  if (const auto it = queued_by_caller_.find(caller);
      it != queued_by_caller_.end() && it->second >= caller_share_) {
    return QueueShareFull(caller, it->second, RetryDelayLocked());
  }
  ++queued_by_caller_[caller];
  queued_bytes_ += bytes;
  queue_.push_back(
      {std::move(run), memory,
       Monotonic::now() + absl::ToChronoNanoseconds(options_.queue_timeout)});
  return absl::OkStatus();
}

void Admission::Forget(const Run& run) {
  queued_bytes_ -= run.origin().request_bytes;
  const auto it = queued_by_caller_.find(run.origin().caller.name);
  if (--it->second == 0) queued_by_caller_.erase(it);
}

bool Admission::Remove(const Run* run) {
  absl::MutexLock lock(&mutex_);
  const auto it =
      std::find_if(queue_.begin(), queue_.end(),
                   [&](const Waiting& w) { return w.run.get() == run; });
  if (it == queue_.end()) return false;
  Forget(*run);
  queue_.erase(it);
  return true;
}

bool Admission::HeadFits() const {
  return !queue_.empty() && running_ < options_.max_running &&
         queue_.front().memory_bytes <=
             options_.memory_budget_bytes - reserved_bytes_;
}

bool Admission::HeadFitsOrStopped() const { return stopped_ || HeadFits(); }
bool Admission::WaitingOrStopped() const { return stopped_ || !queue_.empty(); }

std::optional<Admission::Admitted> Admission::Take() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &Admission::HeadFitsOrStopped));
  if (stopped_) return std::nullopt;
  Waiting head = std::move(queue_.front());
  queue_.pop_front();
  Forget(*head.run);
  ++running_;
  reserved_bytes_ += head.memory_bytes;
  return Admitted{std::move(head.run), Reservation(this, head.memory_bytes)};
}

std::vector<std::shared_ptr<Run>> Admission::TakeOverdue() {
  std::vector<std::shared_ptr<Run>> overdue;
  absl::MutexLock lock(&mutex_);
  while (overdue.empty()) {
    mutex_.Await(absl::Condition(this, &Admission::WaitingOrStopped));
    if (stopped_) break;
    // All wait equally long, so the head is due first.
    while (!queue_.empty() && queue_.front().until <= Monotonic::now()) {
      Forget(*queue_.front().run);
      overdue.push_back(std::move(queue_.front().run));
      queue_.pop_front();
    }
    if (!overdue.empty() || queue_.empty()) continue;
    look_again_ = false;
    mutex_.AwaitWithTimeout(
        absl::Condition(this, &Admission::StoppedOrLooksAgain),
        std::min(kLongestNap, Until(queue_.front().until)));
  }
  return overdue;
}

bool Admission::StoppedOrLooksAgain() const { return stopped_ || look_again_; }

void Admission::LookAgain() {
  absl::MutexLock lock(&mutex_);
  look_again_ = true;
}

std::vector<std::shared_ptr<Run>> Admission::Stop() {
  std::vector<std::shared_ptr<Run>> left;
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  for (Waiting& waiting : queue_) left.push_back(std::move(waiting.run));
  queue_.clear();
  queued_by_caller_.clear();
  queued_bytes_ = 0;
  return left;
}

void Admission::Release(uint64_t memory_bytes, absl::Duration held) {
  absl::MutexLock lock(&mutex_);
  --running_;
  reserved_bytes_ -= memory_bytes;
  usual_run_ = usual_run_ * 0.8 + held * 0.2;
}

absl::Duration Admission::RetryDelayLocked() const {
  const absl::Duration guess = usual_run_ *
                               static_cast<double>(queue_.size() + 1) /
                               static_cast<double>(options_.max_running);
  return std::clamp(guess, absl::Milliseconds(100), absl::Seconds(30));
}

absl::Duration Admission::RetryDelay() const {
  absl::MutexLock lock(&mutex_);
  return RetryDelayLocked();
}

Admission::Snapshot Admission::snapshot() const {
  absl::MutexLock lock(&mutex_);
  return {running_, static_cast<uint32_t>(queue_.size()), reserved_bytes_};
}

}  // namespace sandglass::server
