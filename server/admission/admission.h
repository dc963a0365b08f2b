#ifndef SANDGLASS_SERVER_ADMISSION_ADMISSION_H_
#define SANDGLASS_SERVER_ADMISSION_ADMISSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "policy/tenant/budget.h"
#include "policy/tenant/tenant.h"
#include "server/admission/queued_run.h"
#include "server/admission/run_queue.h"
#include "server/admission/run_times.h"
#include "server/base/clock.h"

namespace sandglass::server {

struct AdmissionOptions {
  uint32_t max_running = 4;  // 1 or more
  // So many more may run beyond max_running, for callers that have few runs
  // going on: see Shares.
  uint32_t reserve = 0;
  uint32_t max_queued = 256;  // 1 or more
  // So many more may wait beyond max_queued, for callers of which few runs
  // wait.
  uint32_t queued_reserve = 0;
  // Runs of one caller that may wait at once; 0 means half of max_queued.
  uint32_t max_queued_per_caller = 0;
  absl::Duration queue_timeout = absl::Seconds(10);
  uint64_t memory_budget_bytes = uint64_t{1} << 30;
  // So much more memory beyond memory_budget_bytes, for callers that have no
  // run going on.
  uint64_t memory_reserve_bytes = 0;
  // Memory that is counted for every run in addition to its limits: for its
  // init, page tables and kernel objects.
  uint64_t overhead_bytes = uint64_t{16} << 20;
  // Bytes of requests that may wait at once. One caller may have at most half
  // of them, and the last quarter is for callers that hold few.
  uint64_t max_queued_bytes = uint64_t{256} << 20;

  // The most runs that may go on at once; there are as many workers.
  uint32_t max_running_with_reserve() const { return max_running + reserve; }
};

// Decides when a run may go to a worker. It has a queue of bounded length and
// time, in which callers take turns, and a ledger of run slots and memory.
// RunQueue says which run is next: however much one tenant or caller runs,
// holds and has waiting, another's run starts as soon as it has its turn, and a
// large run doesn't starve. Tenants have ceilings and budgets. Thread-safe.
class Admission {
 public:
  explicit Admission(const AdmissionOptions& options);

  // A run's slot and memory; both become free when this object is destroyed.
  // Must not outlive its Admission.
  class Reservation {
   public:
    Reservation(Reservation&& other) noexcept
        : admission_(std::exchange(other.admission_, nullptr)),
          held_(std::move(other.held_)),
          since_(other.since_) {}
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation();

    // Whether none of its tenant's runs was going on when it was made.
    bool is_first() const { return held_.is_first; }

   private:
    friend class Admission;
    Reservation(Admission* admission, RunQueue::Held held)
        : admission_(admission), held_(std::move(held)) {}
    Admission* admission_;
    RunQueue::Held held_;
    MonotonicTime since_ = Now();
  };
  struct Admitted {
    std::shared_ptr<QueuedRun> run;
    Reservation reservation;
  };

  // What tenants may have; in force from now on. Until then none has limits.
  void SetTenants(std::shared_ptr<const policy::TenantTable> tenants)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Puts a run at the end of its caller's line. FAILED_PRECONDITION when it
  // could never fit, RESOURCE_EXHAUSTED with RetryInfo when the queue or the
  // caller's share of it is full, UNAVAILABLE after Stop(). RESOURCE_EXHAUSTED,
  // too, with QuotaFailure when its tenant has reached a ceiling or used up a
  // budget, and when its deadline can't be met: of the runs that its caller has
  // waiting it is known well how long they take, and half of the time that they
  // need at the caller's present share of the machine is more than is left.
  absl::Status Enqueue(std::shared_ptr<QueuedRun> run)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // RESOURCE_EXHAUSTED with QuotaFailure and RetryInfo: a budget of the tenant
  // is used up.
  absl::Status BudgetLeft(const std::string& tenant)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Counts what a run has used towards its tenant's budgets, except its memory,
  // which its reservation counts, and that it is one, which Enqueue does.
  void Charge(const std::string& tenant, const policy::Amounts& used)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // What tenants have used of their budgets, for the next daemon, and what the
  // last one has kept, `since` that: call it before anything is used.
  std::map<std::string, policy::BudgetUse::Kept> KeepBudgets()
      ABSL_LOCKS_EXCLUDED(mutex_);
  void RestoreBudgets(
      const std::map<std::string, policy::BudgetUse::Kept>& budgets,
      absl::Duration since) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes a run out of the queue. Returns false when it isn't there, or isn't
  // there any more.
  bool Remove(const QueuedRun* run) ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until the next run fits, and reserves a slot and memory for it.
  // Returns nullopt after Stop().
  std::optional<Admitted> Pop() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until some runs have been in the queue for queue_timeout, and takes
  // those out of it. Returns an empty list after Stop().
  std::vector<std::shared_ptr<QueuedRun>> PopOverdue()
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the waits above and returns the runs that are still in the queue.
  std::vector<std::shared_ptr<QueuedRun>> Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Call this when the wall clock was set, since absl::Mutex counts its
  // timeouts by that clock: PopOverdue then checks at once what is overdue.
  void Recheck() ABSL_LOCKS_EXCLUDED(mutex_);

  // Guesses when there will be room: the time that the queue needs at its
  // recent pace, at least 100 ms and at most 30 s.
  absl::Duration RetryDelay() const ABSL_LOCKS_EXCLUDED(mutex_);

  struct Snapshot {
    uint32_t running;
    uint32_t queued;
    uint64_t memory_reserved_bytes;
  };
  Snapshot snapshot() const ABSL_LOCKS_EXCLUDED(mutex_);
  const AdmissionOptions& options() const { return options_; }

 private:
  bool CanStartOrStopped() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool WaitingOrStopped() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool StoppedOrLooksAgain() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Whether one more run may wait.
  absl::Status Room(const RunQueue::Waiting& waiting) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Whether its tenant lets it in.
  absl::Status TenantRoom(const RunQueue::Waiting& waiting)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status BudgetLeftLocked(const std::string& tenant)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status InTime(const RunQueue::Waiting& waiting) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::Duration UsualRun() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return absl::Seconds(times_.usual());
  }
  absl::Duration RetryDelayLocked() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void Release(const RunQueue::Held& held, absl::Duration time)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const AdmissionOptions options_;

  mutable absl::Mutex mutex_;
  RunQueue queue_ ABSL_GUARDED_BY(mutex_);
  // Of how long reservations are held.
  RunTimes times_ ABSL_GUARDED_BY(mutex_);
  // By tenant: those that have budgets, or had them.
  std::map<std::string, policy::BudgetUse> budgets_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool look_again_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ADMISSION_ADMISSION_H_
