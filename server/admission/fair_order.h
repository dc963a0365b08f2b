#ifndef SANDGLASS_SERVER_ADMISSION_FAIR_ORDER_H_
#define SANDGLASS_SERVER_ADMISSION_FAIR_ORDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "policy/tenant/tenant.h"

namespace sandglass::server {

// Whose turn it is among those that have runs waiting: start-time fair queueing
// (Goyal, Vin, Cheng: SIGCOMM 1996) over the two priorities, in each over its
// tenants, and in each of these over its callers.
//
// What a run costs is added to the virtual time of its caller when it starts,
// and, divided by their weights, to those of its tenant and its priority. Of
// each group the member with the least virtual time is next. So whoever wants
// more than there is gets a part of what is used in proportion to its weight,
// whatever others send, and runs of any size have their turn. A member that had
// nothing waiting comes back with the virtual time of the turn that is on now:
// it has saved nothing up, and doesn't wait for those that are before it.
//
// Not thread-safe. It knows no clock.
class FairOrder {
 public:
  // The weights of the two priorities: where both want all there is, batch runs
  // get a sixteenth, so that they don't wait for ever.
  static constexpr double kInteractiveWeight = 15;
  static constexpr double kBatchWeight = 1;

  using Number = uint64_t;  // of a run, in order of arrival

  // Whose a run is.
  struct Owner {
    policy::Priority priority = policy::Priority::kInteractive;
    std::string tenant;
    std::string caller;  // its name says the tenant, too
  };

  struct Member {
    double virtual_time = 0;
    uint64_t last_turn = 0;  // of those with equal times, the least is first
  };
  // A caller.
  struct Line : Member {
    std::set<Number> waiting;  // in order
    uint64_t going_on = 0;
  };
  using Place = std::tuple<double, uint64_t, std::string>;
  struct Tenant : Member {
    double turn_time = 0;  // the virtual time of the last turn among its lines
    std::map<std::string, Line> lines;
    // Those that have runs waiting: in the order of their turns, and with those
    // first that have the fewest going on.
    std::set<Place> order;
    std::set<std::pair<uint64_t, Place>> fewest_first;
    uint64_t going_on = 0;
    // Has it been passed over because of its own ceilings? Then it gets no
    // turns for the time in which it could use none.
    bool held_back = false;

    bool waits() const { return !order.empty(); }
    const Line& line(const Place& place) const {
      return lines.at(std::get<std::string>(place));
    }
  };

  void Add(const Owner& owner, Number number);
  // The run waits no more, and didn't start.
  void Remove(const Owner& owner, Number number);
  // The run has its turn. `cost` is in any unit.
  void Start(const Owner& owner, Number number, double cost, uint32_t weight);
  // A run costs more than it was thought to, or less.
  void Charge(const Owner& owner, double cost, uint32_t weight);
  // A run that was started has ended.
  void End(const Owner& owner);

  // Shows the tenants with runs that wait in the order of their turns to
  // `look`, a bool(policy::Priority, Tenant&), until
  // it returns true.
  template <typename Look>
  void FindTenant(const Look& look);

  // Null: it has nothing here.
  const Tenant* Find(policy::Priority priority,
                     const std::string& tenant) const;
  // The sum of the weights of the tenants of a priority that have runs waiting.
  template <typename WeightOf>
  double WaitingWeight(policy::Priority priority,
                       const WeightOf& weight_of) const;
  bool Waits(policy::Priority priority) const {
    return !class_of(priority).order.empty();
  }
  // All that is remembered: for tests, since it has to stay small.
  size_t members() const;

 private:
  struct Class : Member {
    double turn_time = 0;
    std::map<std::string, Tenant> tenants;
    std::set<Place> order;  // of those with runs that wait
    bool held_back = false;
  };

  static double WeightOf(policy::Priority priority) {
    return priority == policy::Priority::kBatch ? kBatchWeight
                                                : kInteractiveWeight;
  }
  Class& class_of(policy::Priority priority) {
    return classes_[static_cast<size_t>(priority)];
  }
  const Class& class_of(policy::Priority priority) const {
    return classes_[static_cast<size_t>(priority)];
  }
  // A member is taken out of the orders before it changes, and put in again
  // afterwards.
  static void TakeOut(const Owner& owner, Class& all, Tenant& tenant,
                      Line& line);
  static void PutIn(const Owner& owner, Class& all, Tenant& tenant, Line& line);
  // Forgets who has nothing waiting, nothing going on, and, where others wait,
  // no more virtual time than somebody who comes anew would get.
  void ForgetIdle();
  bool ComesFirst(policy::Priority one, policy::Priority other) const;

  std::array<Class, 2> classes_;  // by policy::Priority
  double turn_time_ = 0;          // of the last turn among classes_
  uint64_t next_turn_ = 1;
  uint64_t starts_ = 0;
  uint64_t waiting_ = 0;
  uint64_t going_on_ = 0;
};

template <typename Look>
void FairOrder::FindTenant(const Look& look) {
  using policy::Priority;
  const bool batch_first = ComesFirst(Priority::kBatch, Priority::kInteractive);
  const Priority order[] = {
      batch_first ? Priority::kBatch : Priority::kInteractive,
      batch_first ? Priority::kInteractive : Priority::kBatch};
  for (const Priority priority : order) {
    Class& all = class_of(priority);
    bool held_back = !all.order.empty();
    for (const Place& place : all.order) {
      Tenant& tenant = all.tenants.at(std::get<std::string>(place));
      if (look(priority, tenant)) return;
      held_back = held_back && tenant.held_back;
    }
    all.held_back = all.held_back || held_back;
  }
}

template <typename WeightOf>
double FairOrder::WaitingWeight(policy::Priority priority,
                                const WeightOf& weight_of) const {
  double sum = 0;
  for (const Place& place : class_of(priority).order) {
    sum += weight_of(std::get<std::string>(place));
  }
  return sum;
}

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ADMISSION_FAIR_ORDER_H_
