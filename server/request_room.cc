#include "server/request_room.h"

namespace sandglass::server {

bool RequestRoom::Take(const std::string& caller, uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  const auto found = callers_.find(caller);
  const uint64_t held = found == callers_.end() ? 0 : found->second;
  if (bytes > bytes_ || held + bytes > bytes_ - used_) return false;
  callers_[caller] += bytes;
  used_ += bytes;
  total_ += bytes;
  return true;
}

void RequestRoom::Give(const std::string& caller, uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  const auto found = callers_.find(caller);
  if (found == callers_.end()) return;
  found->second -= bytes;
  used_ -= bytes;
  if (found->second == 0) callers_.erase(found);
}

uint64_t RequestRoom::used() const {
  absl::MutexLock lock(&mutex_);
  return used_;
}

uint64_t RequestRoom::total() const {
  absl::MutexLock lock(&mutex_);
  return total_;
}

}  // namespace sandglass::server
