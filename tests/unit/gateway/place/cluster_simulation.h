// Many nodes and the gateways before them, without any of them: by a clock of
// its own, so that a minute of a thousand nodes takes seconds.
#ifndef SANDGLASS_TESTS_UNIT_GATEWAY_PLACE_CLUSTER_SIMULATION_H_
#define SANDGLASS_TESTS_UNIT_GATEWAY_PLACE_CLUSTER_SIMULATION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/place/node_load.h"
#include "gateway/place/node_table.h"
#include "gateway/place/placement.h"
#include "server/base/clock.h"
#include "tests/unit/gateway/place/arrivals.h"

namespace sandglass::gateway {

struct ClusterResult {
  Times times;
  uint64_t refused = 0;
  uint64_t displaced = 0;
  uint64_t wrong = 0;     // sent to the dead node after its death
  double last_wrong = 0;  // seconds after it
};

class ClusterSimulation {
 public:
  ClusterSimulation(const ClusterOptions& options,
                    const std::vector<Arrival>& arrivals)
      : options_(options),
        arrivals_(arrivals),
        random_(options.seed + 1),
        nodes_(options.nodes),
        gateways_(options.replicas) {
    for (size_t i = 0; i < nodes_.size(); ++i) SetUp(i);
    for (size_t i = 0; i < arrivals_.size(); ++i) {
      Add(arrivals_[i].time, [this, i] { Arrive(i); });
    }
  }

  ClusterResult Run() {
    // Reports go on for ever, arrivals don't.
    while (!events_.empty() && (ended_ < started_ || !AllCame())) {
      now_ = events_.top().time;
      const std::function<void()> what = std::move(events_.top().what);
      events_.pop();
      what();
    }
    return result_;
  }

 private:
  // A request takes so long to a node, and an answer back.
  static constexpr double kWay = 0.0005;

  struct Event {
    double time = 0;
    uint64_t number = 0;
    mutable std::function<void()> what;
    bool operator<(const Event& other) const {
      return std::pair(time, number) > std::pair(other.time, other.number);
    }
  };
  struct Going {
    size_t arrival = 0;
    size_t gateway = 0;
    Placed placed;
  };
  struct SimulatedNode {
    NodeLoad load;  // without what changes
    uint64_t running = 0;
    std::deque<Going> queue;
    bool dead = false;
  };

  server::MonotonicTime At(double time) const {
    // The clock's zero is long before the simulation's.
    return server::MonotonicTime() + std::chrono::hours(1) +
           std::chrono::nanoseconds(static_cast<int64_t>(time * 1e9));
  }
  void Add(double time, std::function<void()> what) {
    events_.push({time, ++number_, std::move(what)});
  }
  double Draw(double below) {
    return std::uniform_real_distribution<double>(0, below)(random_);
  }
  bool AllCame() const { return came_ == arrivals_.size(); }

  void SetUp(size_t index) {
    NodeLoad& load = nodes_[index].load;
    load.name = absl::StrCat("node-", index);
    load.max_running = options_.slots;
    load.max_queued = kMaxCount;
    load.memory_budget = kMaxBytes;
    load.offers.languages = {"python", "bash"};
    load.offers.profiles = {"default"};
    load.offers.images = {"host"};
    for (NodeTable& gateway : gateways_) {
      NodeLoad first = load;
      first.heard = first.as_of = At(0);
      if (!gateway.Report(std::move(first)).ok()) ++result_.refused;
    }
    Add(Draw(options_.report_every), [this, index] { SendReports(index); });
    if (index == 0 && options_.death.has_value()) {
      Add(*options_.death, [this] { Die(nodes_[0]); });
    }
  }

  void Die(SimulatedNode& node) {
    node.dead = true;
    for (const Going& going : node.queue) EndAt(going);
    node.queue.clear();
  }

  void SendReports(size_t index) {
    const SimulatedNode& node = nodes_[index];
    if (node.dead) return;
    for (NodeTable& gateway : gateways_) {
      auto load = std::make_shared<NodeLoad>(node.load);
      load->running = node.running;
      load->queued = node.queue.size();
      load->as_of = At(now_ - 2 * kWay);
      Add(now_ + Draw(options_.most_delay), [this, &gateway, load] {
        load->heard = At(now_);
        // One that another has overtaken isn't taken.
        (void)gateway.Report(std::move(*load));
      });
    }
    Add(now_ + options_.report_every, [this, index] { SendReports(index); });
  }

  void Arrive(size_t arrival) {
    ++came_;
    const size_t replica =
        static_cast<size_t>(Draw(static_cast<double>(gateways_.size()) - 1e-9));
    Wish wish{.tenant = "team",
              .language = "python",
              .profile = "default",
              .image = "host",
              .memory_bytes = 1 << 20};
    if (options_.with_request_ids) wish.request_id = absl::StrCat(arrival);
    absl::StatusOr<Placed> placed =
        Place(wish, gateways_[replica], At(now_), random_);
    if (!placed.ok()) {
      ++result_.refused;
      return;
    }
    if (placed->displaced) ++result_.displaced;
    ++started_;
    const size_t index =
        static_cast<size_t>(std::stoul(placed->node.substr(5)));
    Going going{arrival, replica, *std::move(placed)};
    if (nodes_[index].dead) {
      ++result_.wrong;
      result_.last_wrong = now_ - *options_.death;
    }
    Add(now_ + kWay, [this, index, going] { Reach(index, going); });
  }

  void Reach(size_t index, const Going& going) {
    SimulatedNode& node = nodes_[index];
    if (node.dead) {
      if (options_.death_is_noticed) {
        gateways_[going.gateway].Lost(node.load.name);
      }
      EndAt(going);
      return;
    }
    if (node.running < options_.slots) {
      Start(index, going);
    } else {
      node.queue.push_back(going);
    }
  }

  void Start(size_t index, const Going& going) {
    ++nodes_[index].running;
    const Arrival& arrival = arrivals_[going.arrival];
    if (arrival.time >= options_.warm_up) {
      result_.times.Add(now_ - kWay - arrival.time, arrival.service);
    }
    Add(now_ + arrivals_[going.arrival].service, [this, index, going] {
      SimulatedNode& node = nodes_[index];
      --node.running;
      Add(now_ + kWay, [this, going] { EndAt(going); });
      if (node.queue.empty()) return;
      const Going next = node.queue.front();
      node.queue.pop_front();
      Start(index, next);
    });
  }

  void EndAt(const Going& going) {
    ++ended_;
    gateways_[going.gateway].Ended(going.placed.node, going.placed.instance,
                                   going.placed.taken, At(now_));
  }

  const ClusterOptions options_;
  const std::vector<Arrival>& arrivals_;
  std::mt19937_64 random_;
  std::vector<SimulatedNode> nodes_;
  std::vector<NodeTable> gateways_;
  std::priority_queue<Event> events_;
  uint64_t number_ = 0;
  double now_ = 0;
  size_t came_ = 0;
  uint64_t started_ = 0;
  uint64_t ended_ = 0;
  ClusterResult result_;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_TESTS_UNIT_GATEWAY_PLACE_CLUSTER_SIMULATION_H_
