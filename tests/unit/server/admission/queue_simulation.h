// A daemon's queue without the daemon, by a clock that the test sets: minutes
// of a busy daemon take milliseconds here.
#ifndef SANDGLASS_TESTS_UNIT_SERVER_ADMISSION_QUEUE_SIMULATION_H_
#define SANDGLASS_TESTS_UNIT_SERVER_ADMISSION_QUEUE_SIMULATION_H_

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/admission/run_queue.h"
#include "server/identity/identity.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {

// A daemon's runs, without the daemon: each goes on for as long as it is said,
// and all that happens happens at a time of the simulation's clock.
class Simulation {
 public:
  explicit Simulation(const RunQueueOptions& options,
                      std::vector<policy::Tenant> tenants = {},
                      double queue_timeout = 10)
      : queue_(options), queue_timeout_(queue_timeout) {
    queue_.SetTenants(std::make_shared<const policy::TenantTable>(
        policy::TenantTable(std::move(tenants))));
  }

  struct Wanted {
    double seconds = 1;
    uint64_t memory_bytes = uint64_t{1} << 20;
    // That it is expected to take; absent: as long as it does take.
    std::optional<double> expected_seconds = std::nullopt;
    // Called when it has started, or when its time in the queue is over.
    std::function<void()> then;
  };
  // False when the caller has no room in the queue.
  bool Add(const std::string& caller, const Wanted& wanted) {
    const std::string tenant(TenantOf(caller));
    if (queue_.RoomFor(tenant, caller) != Shares::Room::kYes) return false;
    const auto run = MakeRun(User(1));
    wanted_[run.get()] = {caller, now_, wanted};
    queue_.Add({.run = run,
                .tenant = tenant,
                .caller = caller,
                .size = {.memory_bytes = wanted.memory_bytes},
                .request_bytes = 1,
                .until = At(now_ + queue_timeout_),
                .seconds = wanted.expected_seconds.value_or(wanted.seconds),
                .sure = true},
               At(now_));
    runs_.push_back(run);
    StartAll();
    return true;
  }
  // At a time from now on.
  void At(double time, std::function<void()> what) {
    events_.emplace(time, std::move(what));
  }
  void RunUntil(double end) {
    while (!events_.empty() && events_.begin()->first <= end) {
      now_ = std::max(now_, events_.begin()->first);
      const std::function<void()> what = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      PopOverdue();
      what();
      StartAll();
    }
    now_ = end;
    PopOverdue();
  }

  double now() const { return now_; }
  RunQueue& queue() { return queue_; }
  // How long those of a caller waited that started.
  std::vector<double> waits(const std::string& caller) {
    return waits_[caller];
  }
  // What has ended of a caller, in MiB × s.
  double served(const std::string& caller) { return served_[caller]; }
  int timeouts(const std::string& caller) { return timeouts_[caller]; }
  const std::vector<std::string>& starts() const { return starts_; }

 private:
  struct Going {
    std::string caller;
    double since = 0;
    Wanted wanted;
  };
  static MonotonicTime At(double time) {
    return MonotonicTime() +
           std::chrono::nanoseconds(static_cast<int64_t>(time * 1e9));
  }
  void StartAll() {
    while (queue_.CanStart()) {
      const RunQueue::Started started = queue_.Start(At(now_));
      const Going& run = wanted_.at(started.run.get());
      EXPECT_EQ(run.caller, started.held.caller);
      waits_[run.caller].push_back(now_ - run.since);
      starts_.push_back(run.caller);
      At(now_ + run.wanted.seconds,
         [this, held = started.held, ended = started.run.get(),
          then = run.wanted.then] {
           queue_.End(held, At(now_));
           const Going& run = wanted_.at(ended);
           served_[run.caller] += run.wanted.seconds *
                                  static_cast<double>(held.memory_bytes) /
                                  (1 << 20);
           if (then) then();
         });
    }
  }
  void PopOverdue() {
    for (const auto& run : queue_.PopOverdue(At(now_))) {
      const Going& late = wanted_.at(run.get());
      ++timeouts_[late.caller];
      if (late.wanted.then) late.wanted.then();
    }
  }

  RunQueue queue_;
  const double queue_timeout_;
  double now_ = 0;
  std::multimap<double, std::function<void()>> events_;
  std::map<const QueuedRun*, Going> wanted_;
  std::vector<RunPtr> runs_;  // so that no two have one address
  std::map<std::string, std::vector<double>> waits_;
  std::map<std::string, double> served_;
  std::map<std::string, int> timeouts_;
  std::vector<std::string> starts_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_TESTS_UNIT_SERVER_ADMISSION_QUEUE_SIMULATION_H_
