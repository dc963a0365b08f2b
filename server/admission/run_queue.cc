#include "server/admission/run_queue.h"

#include <algorithm>
#include <utility>

namespace sandglass::server {
namespace {

// No run costs nothing.
constexpr double kLeastSeconds = 1e-3;
// By how much more a run is charged that takes longer than was thought.
constexpr double kMore = 0.5;

double Mib(uint64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(1 << 20);
}

// All of it, with half of the callers' reserve as the tenants'.
SharesOptions OfTenants(const SharesOptions& callers) {
  const uint64_t reserve = (callers.reserve + 1) / 2;
  return {.max = callers.max + callers.reserve - reserve, .reserve = reserve};
}

MonotonicTime Later(MonotonicTime from, double seconds) {
  return After(from, absl::Seconds(seconds));
}

}  // namespace

RunQueue::RunQueue(const RunQueueOptions& options)
    : options_(options),
      tenants_(std::make_shared<const policy::TenantTable>()),
      waiting_shares_(options.waiting),
      waiting_bytes_(options.waiting_bytes),
      tenants_waiting_(OfTenants(options.waiting)),
      tenants_waiting_bytes_(OfTenants(options.waiting_bytes)),
      slots_(options.slots) {}

void RunQueue::SetTenants(std::shared_ptr<const policy::TenantTable> tenants) {
  tenants_ = std::move(tenants);
  Choose();
}

const policy::Tenant& RunQueue::TenantOf(const std::string& name) const {
  const policy::Tenant* found = tenants_->Find(name);
  return found != nullptr ? *found : without_file_;
}

policy::Priority RunQueue::PriorityOf(const Waiting& waiting) const {
  return waiting.is_batch ? policy::Priority::kBatch
                          : TenantOf(waiting.tenant).priority;
}

Shares::Room RunQueue::RoomFor(const std::string& tenant,
                               const std::string& caller) const {
  const Shares::Room room = waiting_shares_.RoomFor(caller);
  return room == Shares::Room::kYes && several()
             ? tenants_waiting_.RoomFor(tenant)
             : room;
}

Shares::Room RunQueue::RoomForBytes(const std::string& tenant,
                                    const std::string& caller,
                                    uint64_t bytes) const {
  const Shares::Room room = waiting_bytes_.RoomFor(caller, bytes);
  return room == Shares::Room::kYes && several()
             ? tenants_waiting_bytes_.RoomFor(tenant, bytes)
             : room;
}

void RunQueue::Add(Waiting waiting, MonotonicTime now) {
  ChargeOverdue(now);
  const Number number = next_number_++;
  waiting.seconds = std::max(waiting.seconds, kLeastSeconds);
  waiting_shares_.Acquire(waiting.caller);
  waiting_bytes_.Acquire(waiting.caller, waiting.request_bytes);
  tenants_waiting_.Acquire(waiting.tenant);
  tenants_waiting_bytes_.Acquire(waiting.tenant, waiting.request_bytes);
  use_.Wait(waiting.tenant);
  FairOrder::Owner owner{PriorityOf(waiting), waiting.tenant, waiting.caller};
  order_.Add(owner, number);
  waiting_.emplace(number, Entry{std::move(waiting), std::move(owner)});
  Choose();
}

void RunQueue::Leave(const Waiting& waiting) {
  waiting_shares_.Release(waiting.caller);
  waiting_bytes_.Release(waiting.caller, waiting.request_bytes);
  tenants_waiting_.Release(waiting.tenant);
  tenants_waiting_bytes_.Release(waiting.tenant, waiting.request_bytes);
  use_.StopWaiting(waiting.tenant);
}

std::shared_ptr<QueuedRun> RunQueue::TakeOut(
    std::map<Number, Entry>::iterator entry) {
  Entry taken = std::move(entry->second);
  order_.Remove(taken.owner, entry->first);
  waiting_.erase(entry);
  Leave(taken.waiting);
  return std::move(taken.waiting.run);
}

bool RunQueue::Remove(const QueuedRun* run) {
  const auto found = std::find_if(
      waiting_.begin(), waiting_.end(),
      [&](const auto& entry) { return entry.second.waiting.run.get() == run; });
  if (found == waiting_.end()) return false;
  TakeOut(found);
  Choose();
  return true;
}

std::vector<std::shared_ptr<QueuedRun>> RunQueue::Clear() {
  std::vector<std::shared_ptr<QueuedRun>> all;
  while (!waiting_.empty()) all.push_back(TakeOut(waiting_.begin()));
  Choose();
  return all;
}

std::vector<std::shared_ptr<QueuedRun>> RunQueue::PopOverdue(
    MonotonicTime now) {
  std::vector<std::shared_ptr<QueuedRun>> overdue;
  while (!waiting_.empty() && waiting_.begin()->second.waiting.until <= now) {
    overdue.push_back(TakeOut(waiting_.begin()));
  }
  if (!overdue.empty()) Choose();
  return overdue;
}

std::optional<MonotonicTime> RunQueue::next_overdue() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->second.waiting.until;
}

void RunQueue::ChargeSeconds(Running& running, double seconds) {
  order_.Charge(running.owner, Mib(running.size.memory_bytes) * seconds,
                TenantOf(running.owner.tenant).weight);
  running.charged_seconds += seconds;
}

void RunQueue::ChargeOverdue(MonotonicTime now) {
  while (!charged_until_.empty() && charged_until_.begin()->first <= now) {
    const Number number = charged_until_.begin()->second;
    charged_until_.erase(charged_until_.begin());
    Running& running = running_.at(number);
    ChargeSeconds(running, running.charged_seconds * kMore);
    charged_until_.emplace(Later(running.started, running.charged_seconds),
                           number);
  }
}

bool RunQueue::FitsMemory(const Waiting& waiting) const {
  return memory_bytes_ + waiting.size.memory_bytes <= options_.memory_bytes;
}

bool RunQueue::MayStart(const Waiting& waiting) const {
  const policy::Tenant* tenant = tenants_->Find(waiting.tenant);
  return tenant == nullptr || use_.MayStart(*tenant, waiting.size);
}

bool RunQueue::SlotOfReserve(bool halved) const {
  const uint64_t all = options_.slots.max + options_.slots.reserve;
  const uint64_t left = all > slots_.held() ? all - slots_.held() : 0;
  return left > (halved ? (options_.slots.reserve + 1) / 2 : 0);
}

std::optional<RunQueue::Next> RunQueue::FromReserve(
    const FairOrder::Tenant& tenant, const Left& left, bool halved) const {
  if (!left.slots && !SlotOfReserve(halved)) return std::nullopt;
  const uint64_t memory = options_.memory_reserve_bytes / (halved ? 2 : 1);
  for (const auto& [going_on, place] : tenant.fewest_first) {
    const std::string& caller = std::get<std::string>(place);
    // Those after this one have at least as many runs going on.
    if (slots_.RoomFor(caller) != Shares::Room::kYes) break;
    const Number number = *tenant.line(place).waiting.begin();
    const Waiting& waiting = waiting_.at(number).waiting;
    if (!MayStart(waiting)) continue;
    if (left.memory && FitsMemory(waiting)) {
      return Next{number, /*memory_of_reserve=*/false};
    }
    if (going_on > 0) break;
    if (memory_of_reserve_ + waiting.size.memory_bytes <= memory) {
      return Next{number, /*memory_of_reserve=*/true};
    }
  }
  return std::nullopt;
}

void RunQueue::Choose() {
  next_.reset();
  Left left{.slots = slots_.held() < options_.slots.max, .memory = true};
  bool first = true;
  bool first_interactive = true;
  order_.FindTenant([&](policy::Priority priority, FairOrder::Tenant& tenant) {
    const Number number = *tenant.line(*tenant.order.begin()).waiting.begin();
    const Waiting& waiting = waiting_.at(number).waiting;
    if (!MayStart(waiting)) {
      tenant.held_back = true;
      return false;
    }
    if (first) left.memory = FitsMemory(waiting);
    first = false;
    if (left.slots && left.memory && FitsMemory(waiting)) {
      next_ = Next{number, /*memory_of_reserve=*/false};
    } else if (priority != policy::Priority::kBatch) {
      const bool halved = several() && tenant.going_on > 0;
      if (!halved || first_interactive) {
        next_ = FromReserve(tenant, left, halved);
      }
      first_interactive = false;
    }
    return next_.has_value();
  });
}

RunQueue::Started RunQueue::Start(MonotonicTime now) {
  ChargeOverdue(now);
  const Next next = *next_;
  const auto found = waiting_.find(next.number);
  Entry taken = std::move(found->second);
  waiting_.erase(found);
  Waiting& waiting = taken.waiting;
  Leave(waiting);
  const uint64_t memory = waiting.size.memory_bytes;
  order_.Start(taken.owner, next.number, Mib(memory) * waiting.seconds,
               TenantOf(waiting.tenant).weight);
  slots_.Acquire(waiting.caller);
  const bool is_first = use_.Get(waiting.tenant).running == 0;
  use_.Start(waiting.tenant, waiting.size);
  (next.memory_of_reserve ? memory_of_reserve_ : memory_bytes_) += memory;
  charged_until_.emplace(Later(now, waiting.seconds), next.number);
  running_.emplace(next.number,
                   Running{std::move(taken.owner), waiting.size,
                           next.memory_of_reserve, now, waiting.seconds});
  Choose();
  return {std::move(waiting.run),
          {next.number, std::move(waiting.tenant), std::move(waiting.caller),
           std::move(waiting.kind), memory, next.memory_of_reserve, is_first}};
}

void RunQueue::End(const Held& held, MonotonicTime now) {
  ChargeOverdue(now);
  const auto found = running_.find(held.number);
  Running& running = found->second;
  charged_until_.erase(
      {Later(running.started, running.charged_seconds), held.number});
  const double took = std::max(
      absl::ToDoubleSeconds(Between(running.started, now)), kLeastSeconds);
  ChargeSeconds(running, took - running.charged_seconds);
  order_.End(running.owner);
  slots_.Release(running.owner.caller);
  use_.End(running.owner.tenant, running.size);
  (running.memory_of_reserve ? memory_of_reserve_ : memory_bytes_) -=
      running.size.memory_bytes;
  running_.erase(found);
  Choose();
}

std::optional<absl::Duration> RunQueue::ExpectedWait(
    const Waiting& more) const {
  const policy::Priority priority = PriorityOf(more);
  const FairOrder::Tenant* group = order_.Find(priority, more.tenant);
  if (group == nullptr || running_.empty()) return std::nullopt;
  const auto line = group->lines.find(more.caller);
  if (line == group->lines.end() || line->second.waiting.empty()) {
    return std::nullopt;
  }
  double ahead = 0;
  for (const Number number : line->second.waiting) {
    const Waiting& waiting = waiting_.at(number).waiting;
    if (!waiting.sure) return std::nullopt;
    ahead += Mib(waiting.size.memory_bytes) * waiting.seconds;
  }
  const auto weight_of = [this](const std::string& name) {
    return static_cast<double>(TenantOf(name).weight);
  };
  double share = weight_of(more.tenant) /
                 order_.WaitingWeight(priority, weight_of) /
                 static_cast<double>(group->order.size());
  using policy::Priority;
  if (order_.Waits(Priority::kBatch) && order_.Waits(Priority::kInteractive)) {
    constexpr double kAll =
        FairOrder::kInteractiveWeight + FairOrder::kBatchWeight;
    share *= (priority == Priority::kBatch ? FairOrder::kBatchWeight
                                           : FairOrder::kInteractiveWeight) /
             kAll;
  }
  // What is done in a second is what is held.
  return absl::Seconds(ahead / (Mib(memory_bytes()) * share));
}

}  // namespace sandglass::server
