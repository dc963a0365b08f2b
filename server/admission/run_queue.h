#ifndef SANDGLASS_SERVER_ADMISSION_RUN_QUEUE_H_
#define SANDGLASS_SERVER_ADMISSION_RUN_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/tenant/tenant.h"
#include "server/admission/fair_order.h"
#include "server/admission/queued_run.h"
#include "server/admission/tenant_use.h"
#include "server/base/clock.h"
#include "server/base/shares.h"

namespace sandglass::server {

struct RunQueueOptions {
  // Run slots: `max` are for everybody, `reserve` come on top of that, see
  // Shares.
  SharesOptions slots;
  uint64_t memory_bytes = 0;
  // Memory beyond memory_bytes, for callers that have no run going on.
  uint64_t memory_reserve_bytes = 0;
  // How many runs may wait, and how many bytes their requests may hold.
  SharesOptions waiting;
  SharesOptions waiting_bytes;
};

// Decides which run is next, and keeps account of what running runs hold. It
// knows neither threads nor a clock: Admission has these, and says what time it
// is. docs/decisions/0061-fair-queueing.md has the reasons for these rules.
//
// 1. Turns go by what was had: FairOrder says whose it is, by what runs cost,
//    which is their memory times the time that they take. That is an
//    expectation until a run has taken longer, or has ended; then what it was
//    charged is put right. Runs of one caller start in the order in which they
//    came.
// 2. The run whose turn it is starts as soon as there is a slot and memory for
//    it. While all slots are taken, callers with few runs going on may have one
//    of the reserve, as Shares says, those with the fewest first. So nobody
//    without a run waits for the end of another's long runs.
// 3. A run that is too large for the memory that is free now keeps its turn.
//    Whatever becomes free of memory_bytes is saved up for it, so that small
//    runs don't keep it waiting for ever. Meanwhile callers that have no run
//    going on may start one each, in their order, from memory_reserve_bytes.
//    The reserve is accounted for separately, so the large run doesn't wait
//    for theirs.
// 4. Where there are several tenants, the reserves are for those that have no
//    run going on; one that has some may use half of them, when it is its turn.
//    Of the reserve of those that wait, half is shared between tenants as
//    Shares says, whatever number of callers they have.
// 5. Batch runs, which are those of a batch tenant and those whose request says
//    so, have nothing of the reserves.
// 6. A tenant at one of its ceilings is passed over, and what others may have
//    isn't kept for it.
class RunQueue {
 public:
  struct Waiting {
    std::shared_ptr<QueuedRun> run;
    std::string tenant;
    std::string caller;
    bool is_batch = false;  // or its tenant is
    RunSize size;
    uint64_t request_bytes = 0;
    MonotonicTime until;  // its deadline; a run that came later has a later one
    double seconds = 1;   // that it is expected to take
    bool sure = false;    // whether that is known well
    std::string kind;     // handed on to Held
  };
  // What a running run holds.
  struct Held {
    uint64_t number = 0;
    std::string tenant;
    std::string caller;
    std::string kind;
    uint64_t memory_bytes = 0;
    bool memory_of_reserve = false;
    bool is_first = true;  // none of its tenant's runs was going on
  };
  struct Started {
    std::shared_ptr<QueuedRun> run;
    Held held;
  };

  explicit RunQueue(const RunQueueOptions& options);

  // What tenants may have; in force from now on.
  void SetTenants(std::shared_ptr<const policy::TenantTable> tenants);
  const policy::Tenant& TenantOf(const std::string& name) const;
  policy::Priority PriorityOf(const Waiting& waiting) const;

  void Add(Waiting waiting, MonotonicTime now);
  // Returns false when the run doesn't wait, or doesn't wait any more.
  bool Remove(const QueuedRun* run);
  // Takes out all runs that wait.
  std::vector<std::shared_ptr<QueuedRun>> Clear();
  // Takes out the runs whose time to wait is over.
  std::vector<std::shared_ptr<QueuedRun>> PopOverdue(MonotonicTime now);
  // The time at which the next run becomes overdue; absent when none waits.
  std::optional<MonotonicTime> next_overdue() const;

  bool CanStart() const { return next_.has_value(); }
  // Takes the next run out of the queue and counts what it holds. Precondition:
  // CanStart().
  Started Start(MonotonicTime now);
  // Gives back what a run held that has ended.
  void End(const Held& held, MonotonicTime now);

  // How long one more such run of its caller would wait for those that the
  // caller has waiting already, at its present share of what is used. Absent:
  // that is not known well.
  std::optional<absl::Duration> ExpectedWait(const Waiting& more) const;

  size_t waiting() const { return waiting_.size(); }
  const Shares& slots() const { return slots_; }
  // Whether one more run of a caller may wait, and so many bytes.
  Shares::Room RoomFor(const std::string& tenant,
                       const std::string& caller) const;
  Shares::Room RoomForBytes(const std::string& tenant,
                            const std::string& caller, uint64_t bytes) const;
  const Shares& waiting_shares() const { return waiting_shares_; }
  const Shares& waiting_bytes() const { return waiting_bytes_; }
  uint64_t memory_bytes() const { return memory_bytes_ + memory_of_reserve_; }
  const TenantUse& tenant_use() const { return use_; }
  const FairOrder& order() const { return order_; }

 private:
  using Number = FairOrder::Number;
  struct Entry {
    Waiting waiting;
    FairOrder::Owner owner;
  };
  struct Running {
    FairOrder::Owner owner;
    RunSize size;
    bool memory_of_reserve;
    MonotonicTime started;
    double charged_seconds;
  };
  struct Next {
    Number number;
    bool memory_of_reserve;
  };
  // What is left for those that come after the run whose turn it is.
  struct Left {
    bool slots;   // beside the reserve's
    bool memory;  // beside the reserve's
  };

  // Takes a run out of the queue that isn't started.
  std::shared_ptr<QueuedRun> TakeOut(std::map<Number, Entry>::iterator entry);
  void Leave(const Waiting& waiting);
  // Charges those runs more that have taken longer than they were expected to.
  void ChargeOverdue(MonotonicTime now);
  void ChargeSeconds(Running& running, double seconds);
  // Finds next_ again. Called after each change.
  void Choose();
  bool FitsMemory(const Waiting& waiting) const;
  bool MayStart(const Waiting& waiting) const;
  // The next run of a tenant where it can't be that whose turn it is. With
  // `halved` it has half of the reserves.
  std::optional<Next> FromReserve(const FairOrder::Tenant& tenant,
                                  const Left& left, bool halved) const;
  // More than one tenant is known.
  bool several() const { return !tenants_->empty() || use_.several(); }
  bool SlotOfReserve(bool halved) const;

  const RunQueueOptions options_;
  std::shared_ptr<const policy::TenantTable> tenants_;
  const policy::Tenant without_file_;
  std::map<Number, Entry> waiting_;  // in order of arrival
  std::map<Number, Running> running_;
  // By when each has taken as long as it was charged for.
  std::set<std::pair<MonotonicTime, Number>> charged_until_;
  FairOrder order_;
  TenantUse use_;
  Shares waiting_shares_;
  Shares waiting_bytes_;
  Shares tenants_waiting_;
  Shares tenants_waiting_bytes_;
  Shares slots_;
  uint64_t memory_bytes_ = 0;
  uint64_t memory_of_reserve_ = 0;
  Number next_number_ = 1;
  std::optional<Next> next_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ADMISSION_RUN_QUEUE_H_
