#include "server/admission/run_queue.h"

#include <algorithm>
#include <utility>

namespace sandglass::server {

RunQueue::RunQueue(const RunQueueOptions& options)
    : options_(options),
      waiting_shares_(options.waiting),
      waiting_bytes_(options.waiting_bytes),
      slots_(options.slots) {}

void RunQueue::Add(Waiting waiting) {
  const Number number = next_number_++;
  waiting_shares_.Acquire(waiting.caller);
  waiting_bytes_.Acquire(waiting.caller, waiting.request_bytes);
  const auto [line, is_new] = lines_.try_emplace(waiting.caller);
  line->second.runs.insert(number);
  if (is_new) {
    line->second.last_turn = next_turn_++;
    order_.insert(PlaceOf(waiting.caller, line->second));
  }
  waiting_.emplace(number, std::move(waiting));
  Choose();
}

RunQueue::Waiting RunQueue::Extract(std::map<Number, Waiting>::iterator waiting,
                                    bool had_turn) {
  Waiting taken = std::move(waiting->second);
  const auto line = lines_.find(taken.caller);
  order_.erase(PlaceOf(taken.caller, line->second));
  line->second.runs.erase(waiting->first);
  waiting_.erase(waiting);
  waiting_shares_.Release(taken.caller);
  waiting_bytes_.Release(taken.caller, taken.request_bytes);
  if (had_turn) {
    line->second.last_turn = next_turn_++;
    slots_.Acquire(taken.caller);
  }
  if (line->second.runs.empty()) {
    lines_.erase(line);
  } else {
    order_.insert(PlaceOf(taken.caller, line->second));
  }
  return taken;
}

bool RunQueue::Remove(const QueuedRun* run) {
  const auto found = std::find_if(
      waiting_.begin(), waiting_.end(),
      [&](const auto& waiting) { return waiting.second.run.get() == run; });
  if (found == waiting_.end()) return false;
  Extract(found, /*had_turn=*/false);
  Choose();
  return true;
}

std::vector<std::shared_ptr<QueuedRun>> RunQueue::Clear() {
  std::vector<std::shared_ptr<QueuedRun>> all;
  while (!waiting_.empty()) {
    all.push_back(Extract(waiting_.begin(), /*had_turn=*/false).run);
  }
  Choose();
  return all;
}

std::vector<std::shared_ptr<QueuedRun>> RunQueue::PopOverdue(
    MonotonicTime now) {
  std::vector<std::shared_ptr<QueuedRun>> overdue;
  while (!waiting_.empty() && waiting_.begin()->second.until <= now) {
    overdue.push_back(Extract(waiting_.begin(), /*had_turn=*/false).run);
  }
  if (!overdue.empty()) Choose();
  return overdue;
}

std::optional<MonotonicTime> RunQueue::next_overdue() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->second.until;
}

void RunQueue::Choose() {
  next_.reset();
  bool first = true;
  for (const auto& [going_on, last_turn, caller] : order_) {
    // The callers after this one have at least as many runs going on, so they
    // get no slot either.
    if (slots_.RoomFor(caller) != Shares::Room::kYes) return;
    const Number number = *lines_.at(caller).runs.begin();
    const uint64_t wanted = waiting_.at(number).memory_bytes;
    if (first && memory_bytes_ + wanted <= options_.memory_bytes) {
      next_ = Next{number, /*memory_of_reserve=*/false};
      return;
    }
    first = false;
    if (going_on > 0) return;
    if (memory_of_reserve_ + wanted <= options_.memory_reserve_bytes) {
      next_ = Next{number, /*memory_of_reserve=*/true};
      return;
    }
  }
}

RunQueue::Started RunQueue::Start() {
  const Next next = *next_;
  Waiting taken = Extract(waiting_.find(next.number), /*had_turn=*/true);
  (next.memory_of_reserve ? memory_of_reserve_ : memory_bytes_) +=
      taken.memory_bytes;
  Choose();
  return {
      std::move(taken.run),
      {std::move(taken.caller), taken.memory_bytes, next.memory_of_reserve}};
}

void RunQueue::End(const Held& held) {
  const auto line = lines_.find(held.caller);
  if (line != lines_.end()) order_.erase(PlaceOf(held.caller, line->second));
  slots_.Release(held.caller);
  if (line != lines_.end()) order_.insert(PlaceOf(held.caller, line->second));
  (held.memory_of_reserve ? memory_of_reserve_ : memory_bytes_) -=
      held.memory_bytes;
  Choose();
}

}  // namespace sandglass::server
