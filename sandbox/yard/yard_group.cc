#include "sandbox/yard/yard_group.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sandbox/os/clocks.h"

namespace sandglass::sandbox {

YardGroup::~YardGroup() {
  for (const auto& port : ports_) port->StopReader();
}

void YardGroup::Add(std::unique_ptr<YardPort> port) {
  ports_.push_back(std::move(port));
  const absl::MutexLock lock(&mutex_);
  asked_.push_back(0);
}

size_t YardGroup::Choose() const {
  // Where none serves, the first one says so, or makes the callers wait until
  // its zygote does.
  const auto rank = [this](size_t i) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool serves = ports_[i]->Serves();
    return std::tuple(ports_[i]->IsBroken(), !serves, serves ? asked_[i] : 0);
  };
  size_t best = 0;
  for (size_t i = 1; i < ports_.size(); ++i) {
    if (rank(i) < rank(best)) best = i;
  }
  return best;
}

bool YardGroup::GoesOnWithout(const YardPort& lost) const {
  return std::any_of(ports_.begin(), ports_.end(),
                     [](const auto& port) { return !port->IsBroken(); }) &&
         lost.AwaitEnd();
}

absl::StatusOr<std::unique_ptr<Jail>> YardGroup::CreateJail(
    const std::string& template_name, const policy::Limits& limits,
    absl::Duration timeout, FillFor fill_for, const std::string& layer) {
  const absl::Time end = os::SteadyNow() + timeout;
  const auto choose = [this] {
    const absl::MutexLock lock(&mutex_);
    const size_t chosen = Choose();
    ++asked_[chosen];
    return chosen;
  };
  for (;;) {
    const size_t chosen = choose();
    YardPort& port = *ports_[chosen];
    absl::StatusOr<std::unique_ptr<Jail>> jail = port.CreateJail(
        template_name, limits, end - os::SteadyNow(), fill_for, layer);
    const absl::MutexLock lock(&mutex_);
    --asked_[chosen];
    if (jail.ok() || !port.IsBroken() || ports_[Choose()]->IsBroken()) {
      return jail;
    }
  }
}

}  // namespace sandglass::sandbox
