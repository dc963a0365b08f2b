#include "sandbox/yard/yard_group.h"

#include <utility>

namespace sandglass::sandbox {

void YardGroup::Add(std::unique_ptr<YardPort> port) {
  ports_.push_back(std::move(port));
  const absl::MutexLock lock(&mutex_);
  asked_.push_back(0);
}

size_t YardGroup::Choose() const {
  // Where none serves, the first one says so, or makes the callers wait until
  // its zygote does.
  size_t best = 0;
  for (size_t i = 1; i < ports_.size(); ++i) {
    if (!ports_[i]->Serves()) continue;
    if (!ports_[best]->Serves() || asked_[i] < asked_[best]) best = i;
  }
  return best;
}

absl::StatusOr<std::unique_ptr<Jail>> YardGroup::CreateJail(
    const std::string& template_name, const policy::Limits& limits,
    absl::Duration timeout, FillFor fill_for, const std::string& layer) {
  size_t chosen = 0;
  {
    const absl::MutexLock lock(&mutex_);
    chosen = Choose();
    ++asked_[chosen];
  }
  absl::StatusOr<std::unique_ptr<Jail>> jail = ports_[chosen]->CreateJail(
      template_name, limits, timeout, fill_for, layer);
  const absl::MutexLock lock(&mutex_);
  --asked_[chosen];
  return jail;
}

}  // namespace sandglass::sandbox
