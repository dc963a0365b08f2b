#include "server/edge/request_room.h"

namespace sandglass::server {

bool RequestRoom::Held::Acquire(const std::string& caller, uint64_t amount) {
  const auto found = callers.find(caller);
  const uint64_t held = found == callers.end() ? 0 : found->second;
  if (amount > max || held + amount > max - used) return false;
  callers[caller] += amount;
  used += amount;
  return true;
}

void RequestRoom::Held::Release(const std::string& caller, uint64_t amount) {
  const auto found = callers.find(caller);
  if (found == callers.end()) return;
  found->second -= amount;
  used -= amount;
  if (found->second == 0) callers.erase(found);
}

bool RequestRoom::Acquire(const std::string& caller, uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (!bytes_.Acquire(caller, bytes)) return false;
  total_ += bytes;
  return true;
}

void RequestRoom::Release(const std::string& caller, uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  bytes_.Release(caller, bytes);
}

bool RequestRoom::AcquireRefused(const std::string& caller) {
  absl::MutexLock lock(&mutex_);
  return refused_.Acquire(caller, 1);
}

void RequestRoom::ReleaseRefused(const std::string& caller) {
  absl::MutexLock lock(&mutex_);
  refused_.Release(caller, 1);
}

uint64_t RequestRoom::used() const {
  absl::MutexLock lock(&mutex_);
  return bytes_.used;
}

uint64_t RequestRoom::total() const {
  absl::MutexLock lock(&mutex_);
  return total_;
}

}  // namespace sandglass::server
