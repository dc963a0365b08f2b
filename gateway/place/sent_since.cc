#include "gateway/place/sent_since.h"

#include <algorithm>

namespace sandglass::gateway {
namespace {

// Sums stay so far from the ends of their type that any two can be added.
constexpr int64_t kFar = int64_t{1} << 60;

int64_t Sum(int64_t one, int64_t other) {
  return std::clamp(one + other, -kFar, kFar);
}

int64_t Bounded(uint64_t amount) {
  return static_cast<int64_t>(std::min(amount, static_cast<uint64_t>(kFar)));
}

Change ChangeBy(const Taken& taken, int64_t sign) {
  const int64_t memory = sign * Bounded(taken.memory_bytes);
  return taken.session ? Change{.sessions = sign, .session_memory = memory}
                       : Change{.runs = sign, .run_memory = memory};
}

}  // namespace

Change& Change::operator+=(const Change& other) {
  runs = Sum(runs, other.runs);
  run_memory = Sum(run_memory, other.run_memory);
  sessions = Sum(sessions, other.sessions);
  session_memory = Sum(session_memory, other.session_memory);
  return *this;
}

void SentSince::Sent(const Taken& taken, server::MonotonicTime now) {
  Add(ChangeBy(taken, 1), now);
}

void SentSince::Ended(const Taken& taken, server::MonotonicTime now) {
  Add(ChangeBy(taken, -1), now);
}

void SentSince::Add(const Change& change, server::MonotonicTime now) {
  const bool joins = !steps_.empty() && (now - steps_.back().begin < kStep ||
                                         steps_.size() >= kMaxSteps);
  if (!joins) steps_.push_back({.begin = now});
  steps_.back().change += change;
  sum_ += change;
}

void SentSince::Reported(server::MonotonicTime as_of) {
  if (steps_.empty()) return;
  while (!steps_.empty() && as_of - steps_.front().begin >= kStep) {
    steps_.pop_front();
  }
  sum_ = {};
  for (const Step& step : steps_) sum_ += step.change;
}

}  // namespace sandglass::gateway
