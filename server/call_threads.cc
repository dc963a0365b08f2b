#include "server/call_threads.h"

#include <algorithm>
#include <utility>

#include "server/errors.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kRetryAfter = absl::Milliseconds(200);

}  // namespace

CallThreads::CallThreads(const CallThreadsOptions& options)
    : options_(options) {
  for (int i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

CallThreads::~CallThreads() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::Status CallThreads::Add(const std::string& key, uint64_t bytes,
                              Task task) {
  absl::MutexLock lock(&mutex_);
  const auto load = loads_.find(key);
  const size_t of_key = load == loads_.end() ? 0 : load->second.waiting;
  // One that is larger than the bound is let in where none waits.
  if (waiting_.size() >= options_.max_waiting ||
      of_key >= options_.max_waiting_per_key ||
      (waiting_bytes_ > 0 &&
       waiting_bytes_ + bytes > options_.max_waiting_bytes)) {
    return TooManyCalls(kRetryAfter);
  }
  Put(key, bytes, std::move(task));
  return absl::OkStatus();
}

void CallThreads::Continue(const std::string& key, Task task) {
  absl::MutexLock lock(&mutex_);
  Put(key, 0, std::move(task));
}

void CallThreads::Put(const std::string& key, uint64_t bytes, Task task) {
  ++loads_[key].waiting;
  waiting_bytes_ += bytes;
  waiting_.push_back({key, bytes, std::move(task)});
}

bool CallThreads::MayRun(const Waiting& waiting) const {
  return loads_.at(waiting.key).running < options_.per_key;
}

bool CallThreads::HasWork() const {
  if (stopping_ && waiting_.empty()) return true;
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [this](const Waiting& waiting) {
                       mutex_.AssertReaderHeld();
                       return MayRun(waiting);
                     });
}

void CallThreads::Work() {
  absl::MutexLock lock(&mutex_);
  while (true) {
    mutex_.Await(absl::Condition(this, &CallThreads::HasWork));
    const auto next = std::find_if(waiting_.begin(), waiting_.end(),
                                   [this](const Waiting& waiting) {
                                     mutex_.AssertReaderHeld();
                                     return MayRun(waiting);
                                   });
    if (next == waiting_.end()) return;
    Waiting taken = std::move(*next);
    waiting_.erase(next);
    waiting_bytes_ -= taken.bytes;
    Load& load = loads_[taken.key];
    --load.waiting;
    ++load.running;
    mutex_.Unlock();
    taken.task();
    // What it holds goes here, too.
    taken.task = nullptr;
    mutex_.Lock();
    if (--load.running == 0 && load.waiting == 0) loads_.erase(taken.key);
  }
}

}  // namespace sandglass::server
