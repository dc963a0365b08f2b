#include "sandbox/egress/lease.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "sandbox/os/io.h"
#include "sandbox/os/status.h"

namespace sandglass::egress {
namespace {

constexpr size_t kMaxRefusals = 32;
constexpr size_t kMaxTargetBytes = 300;
constexpr size_t kMaxWordsBytes = 500;

}  // namespace

absl::StatusOr<std::shared_ptr<Lease>> Lease::Create(
    std::shared_ptr<const policy::NetworkPolicy> policy,
    const LeaseLimits& limits) {
  os::Fd ended(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ended.valid()) return os::ErrnoStatus("eventfd");
  return std::shared_ptr<Lease>(
      new Lease(std::move(policy), limits, std::move(ended)));
}

bool Lease::Begin() {
  absl::MutexLock lock(&mutex_);
  if (over_ || at_once_ >= limits_.connections_at_once ||
      usage_.connections >= limits_.connections) {
    return false;
  }
  ++at_once_;
  ++usage_.connections;
  return true;
}

void Lease::EndOne() {
  absl::MutexLock lock(&mutex_);
  --at_once_;
}

bool Lease::SpendUp(uint64_t bytes) {
  return Spend(bytes, &LeaseUsage::bytes_up);
}

bool Lease::SpendDown(uint64_t bytes) {
  return Spend(bytes, &LeaseUsage::bytes_down);
}

bool Lease::Spend(uint64_t bytes, uint64_t LeaseUsage::*direction) {
  absl::MutexLock lock(&mutex_);
  const uint64_t spent = usage_.bytes_up + usage_.bytes_down;
  if (bytes > limits_.bytes - spent) return false;
  usage_.*direction += bytes;
  return true;
}

void Lease::RecordRefusal(std::string_view target, std::string_view words) {
  target = target.substr(0, kMaxTargetBytes);
  words = words.substr(0, kMaxWordsBytes);
  absl::MutexLock lock(&mutex_);
  ++usage_.refused;
  const auto known = std::find_if(
      usage_.refusals.begin(), usage_.refusals.end(), [&](const Refusal& each) {
        return each.target == target && each.words == words;
      });
  if (known != usage_.refusals.end()) {
    ++known->count;
  } else if (usage_.refusals.size() < kMaxRefusals) {
    usage_.refusals.push_back({std::string(target), std::string(words), 1});
  }
}

void Lease::End() {
  const uint64_t one = 1;
  absl::MutexLock lock(&mutex_);
  over_ = true;
  (void)os::WriteAll(ended_.get(),
                     {reinterpret_cast<const char*>(&one), sizeof(one)});
  mutex_.Await(absl::Condition(this, &Lease::NoneGoesOn));
}

LeaseUsage Lease::usage() const {
  absl::MutexLock lock(&mutex_);
  return usage_;
}

}  // namespace sandglass::egress
