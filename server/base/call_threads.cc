#include "server/base/call_threads.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kRetryAfter = absl::Milliseconds(200);
// How long a thread beyond the first ones waits for work before it ends.
constexpr absl::Duration kPatience = absl::Seconds(10);
// The key of urgent tasks; it belongs to no caller.
const CallKey& Urgently() {
  static const auto& key = *new CallKey{"", "urgent"};
  return key;
}

}  // namespace

CallThreads::CallThreads(const CallThreadsOptions& options)
    : options_(options),
      waiting_shares_(WithReserveWithin(options.max_waiting)),
      waiting_bytes_(WithReserveWithin(options.max_waiting_bytes)),
      running_(WithReserveWithin(static_cast<uint64_t>(options.max_threads))) {}

CallThreads::~CallThreads() {
  Threads ending;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    mutex_.Await(absl::Condition(&threads_, &Threads::empty));
    ending.swap(ended_);
  }
  for (std::thread& thread : ending) thread.join();
}

absl::Status CallThreads::Room(const CallKey& key, uint64_t bytes) const {
  const auto load = loads_.find(key);
  const Load of_key = load == loads_.end() ? Load() : load->second;
  if (of_key.waiting >= options_.max_waiting_per_key ||
      (of_key.waiting_bytes > 0 &&
       of_key.waiting_bytes + bytes > options_.max_waiting_bytes_per_key)) {
    return TooManyCalls(
        absl::StrCat(of_key.waiting, " calls with ", of_key.waiting_bytes,
                     " bytes wait for this session"),
        kRetryAfter);
  }
  for (const auto& [shares, amount] : {std::pair{&waiting_shares_, uint64_t{1}},
                                       std::pair{&waiting_bytes_, bytes}}) {
    switch (shares->RoomFor(key.caller, amount)) {
      case Shares::Room::kYes:
        break;
      case Shares::Room::kCallerHasItsShare:
        return TooManyCalls(absl::StrCat(waiting_shares_.held_by(key.caller),
                                         " calls of ", key.caller, " with ",
                                         waiting_bytes_.held_by(key.caller),
                                         " bytes wait, which is its share"),
                            kRetryAfter);
      case Shares::Room::kNone:
        return TooManyCalls(
            absl::StrCat(waiting_shares_.held(), " calls of all callers with ",
                         waiting_bytes_.held(), " bytes wait"),
            kRetryAfter);
    }
  }
  return absl::OkStatus();
}

absl::Status CallThreads::Add(const CallKey& key, uint64_t bytes, Task task) {
  absl::MutexLock lock(&mutex_);
  if (absl::Status room = Room(key, bytes); !room.ok()) return room;
  Put(key, bytes, std::move(task));
  return absl::OkStatus();
}

void CallThreads::Continue(const CallKey& key, Task task) {
  absl::MutexLock lock(&mutex_);
  Put(key, 0, std::move(task));
}

void CallThreads::Urgent(Task task) {
  absl::MutexLock lock(&mutex_);
  ++loads_[Urgently()].waiting;
  waiting_.push_front({Urgently(), 0, std::move(task)});
  StartThread(options_.max_threads + 1);
}

void CallThreads::Put(const CallKey& key, uint64_t bytes, Task task) {
  Load& load = loads_[key];
  ++load.waiting;
  load.waiting_bytes += bytes;
  waiting_shares_.Acquire(key.caller);
  waiting_bytes_.Acquire(key.caller, bytes);
  waiting_.push_back({key, bytes, std::move(task)});
  StartThread(options_.max_threads);
}

bool CallThreads::MayRun(const Waiting& waiting) const {
  return loads_.at(waiting.key).running < options_.per_key &&
         (waiting.key == Urgently() ||
          running_.RoomFor(waiting.key.caller) == Shares::Room::kYes);
}

std::list<CallThreads::Waiting>::iterator CallThreads::FirstThatMayRun() {
  return std::find_if(waiting_.begin(), waiting_.end(),
                      [this](const Waiting& waiting) {
                        mutex_.AssertReaderHeld();
                        return MayRun(waiting);
                      });
}

bool CallThreads::HasWork() {
  return (stopping_ && waiting_.empty()) || FirstThatMayRun() != waiting_.end();
}

void CallThreads::StartThread(int max) {
  // An idle thread will find the work.
  if (idle_ > 0 || threads_.size() >= static_cast<size_t>(max) ||
      FirstThatMayRun() == waiting_.end()) {
    return;
  }
  for (std::thread& thread : ended_) thread.join();
  ended_.clear();
  const auto self = threads_.emplace(threads_.end());
  try {
    *self = std::thread([this, self] { Work(self); });
  } catch (const std::system_error&) {
    // The threads that exist will do the work later.
    threads_.erase(self);
  }
}

void CallThreads::Work(Threads::iterator self) {
  absl::MutexLock lock(&mutex_);
  while (true) {
    ++idle_;
    mutex_.AwaitWithTimeout(absl::Condition(this, &CallThreads::HasWork),
                            kPatience);
    --idle_;
    const auto next = FirstThatMayRun();
    if (next == waiting_.end()) {
      const bool spare =
          threads_.size() > static_cast<size_t>(options_.threads);
      if (stopping_ ? !waiting_.empty() : !spare) continue;
      ended_.splice(ended_.end(), threads_, self);
      return;
    }
    Waiting taken = std::move(*next);
    waiting_.erase(next);
    const bool urgent = taken.key == Urgently();
    if (!urgent) {
      waiting_shares_.Release(taken.key.caller);
      waiting_bytes_.Release(taken.key.caller, taken.bytes);
      running_.Acquire(taken.key.caller);
    }
    Load& load = loads_[taken.key];
    --load.waiting;
    load.waiting_bytes -= taken.bytes;
    ++load.running;
    StartThread(options_.max_threads);
    mutex_.Unlock();
    taken.task();
    // Frees what the task holds here too, while the mutex isn't held.
    taken.task = nullptr;
    mutex_.Lock();
    if (!urgent) running_.Release(taken.key.caller);
    if (--load.running == 0 && load.waiting == 0) loads_.erase(taken.key);
    // This may be the extra thread that an urgent task got; it ends if no other
    // urgent task waits.
    if (threads_.size() > static_cast<size_t>(options_.max_threads) &&
        (waiting_.empty() || !(waiting_.front().key == Urgently()))) {
      ended_.splice(ended_.end(), threads_, self);
      return;
    }
  }
}

}  // namespace sandglass::server
