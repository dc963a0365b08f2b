#include "server/admission/fair_order.h"

#include <algorithm>
#include <iterator>

namespace sandglass::server {
namespace {

// How many runs start between two looks for what can be forgotten.
constexpr uint64_t kForgetEvery = 256;

FairOrder::Place PlaceOf(const FairOrder::Member& member,
                         const std::string& name) {
  return {member.virtual_time, member.last_turn, name};
}

// Gives a member its turn.
void TakeTurn(FairOrder::Member& member, double cost, double& turn_time,
              uint64_t& next_turn) {
  turn_time = std::max(turn_time, member.virtual_time);
  member.virtual_time += cost;
  member.last_turn = next_turn++;
}

void ComeAnew(FairOrder::Member& member, double turn_time,
              uint64_t& next_turn) {
  member.virtual_time = std::max(member.virtual_time, turn_time);
  member.last_turn = next_turn++;
}

}  // namespace

void FairOrder::TakeOut(const Owner& owner, Class& all, Tenant& tenant,
                        Line& line) {
  if (tenant.waits()) all.order.erase(PlaceOf(tenant, owner.tenant));
  const Place place = PlaceOf(line, owner.caller);
  tenant.order.erase(place);
  tenant.fewest_first.erase({line.going_on, place});
}

void FairOrder::PutIn(const Owner& owner, Class& all, Tenant& tenant,
                      Line& line) {
  if (!line.waiting.empty()) {
    const Place place = PlaceOf(line, owner.caller);
    tenant.order.insert(place);
    tenant.fewest_first.insert({line.going_on, place});
  }
  if (tenant.waits()) all.order.insert(PlaceOf(tenant, owner.tenant));
}

void FairOrder::Add(const Owner& owner, Number number) {
  ++waiting_;
  Class& all = class_of(owner.priority);
  Tenant& tenant = all.tenants[owner.tenant];
  Line& line = tenant.lines[owner.caller];
  const bool class_is_new = all.order.empty();
  const bool tenant_is_new = !tenant.waits();
  TakeOut(owner, all, tenant, line);
  if (class_is_new) ComeAnew(all, turn_time_, next_turn_);
  if (tenant_is_new) ComeAnew(tenant, all.turn_time, next_turn_);
  if (line.waiting.empty()) ComeAnew(line, tenant.turn_time, next_turn_);
  line.waiting.insert(number);
  PutIn(owner, all, tenant, line);
}

void FairOrder::Remove(const Owner& owner, Number number) {
  --waiting_;
  Class& all = class_of(owner.priority);
  Tenant& tenant = all.tenants.at(owner.tenant);
  Line& line = tenant.lines.at(owner.caller);
  TakeOut(owner, all, tenant, line);
  line.waiting.erase(number);
  PutIn(owner, all, tenant, line);
  if (waiting_ == 0 && going_on_ == 0) ForgetIdle();
}

void FairOrder::Start(const Owner& owner, Number number, double cost,
                      uint32_t weight) {
  --waiting_;
  ++going_on_;
  Class& all = class_of(owner.priority);
  Tenant& tenant = all.tenants.at(owner.tenant);
  Line& line = tenant.lines.at(owner.caller);
  TakeOut(owner, all, tenant, line);
  if (all.held_back) ComeAnew(all, turn_time_, next_turn_);
  if (tenant.held_back) ComeAnew(tenant, all.turn_time, next_turn_);
  all.held_back = false;
  tenant.held_back = false;
  TakeTurn(all, cost / WeightOf(owner.priority), turn_time_, next_turn_);
  TakeTurn(tenant, cost / weight, all.turn_time, next_turn_);
  TakeTurn(line, cost, tenant.turn_time, next_turn_);
  line.waiting.erase(number);
  ++line.going_on;
  ++tenant.going_on;
  PutIn(owner, all, tenant, line);
  if (++starts_ % kForgetEvery == 0) ForgetIdle();
}

void FairOrder::Charge(const Owner& owner, double cost, uint32_t weight) {
  Class& all = class_of(owner.priority);
  Tenant& tenant = all.tenants.at(owner.tenant);
  Line& line = tenant.lines.at(owner.caller);
  TakeOut(owner, all, tenant, line);
  all.virtual_time += cost / WeightOf(owner.priority);
  tenant.virtual_time += cost / weight;
  line.virtual_time += cost;
  PutIn(owner, all, tenant, line);
}

void FairOrder::End(const Owner& owner) {
  --going_on_;
  Class& all = class_of(owner.priority);
  Tenant& tenant = all.tenants.at(owner.tenant);
  Line& line = tenant.lines.at(owner.caller);
  TakeOut(owner, all, tenant, line);
  --line.going_on;
  --tenant.going_on;
  PutIn(owner, all, tenant, line);
  if (waiting_ == 0 && going_on_ == 0) ForgetIdle();
}

void FairOrder::ForgetIdle() {
  if (waiting_ == 0 && going_on_ == 0) {
    // Nobody has a claim on anybody.
    classes_ = {};
    turn_time_ = 0;
    return;
  }
  const bool uncontended = waiting_ == 0;
  for (Class& all : classes_) {
    for (auto tenant = all.tenants.begin(); tenant != all.tenants.end();) {
      Tenant& each = tenant->second;
      const bool idle = !each.waits() && each.going_on == 0;
      for (auto line = each.lines.begin(); line != each.lines.end();) {
        const Line& its = line->second;
        const bool forget = its.waiting.empty() && its.going_on == 0 &&
                            (idle || its.virtual_time <= each.turn_time);
        line = forget ? each.lines.erase(line) : std::next(line);
      }
      const bool forget =
          idle && (uncontended || each.virtual_time <= all.turn_time);
      tenant = forget ? all.tenants.erase(tenant) : std::next(tenant);
    }
  }
}

bool FairOrder::ComesFirst(policy::Priority one, policy::Priority other) const {
  const Class& a = class_of(one);
  const Class& b = class_of(other);
  return !a.order.empty() &&
         (b.order.empty() || std::tie(a.virtual_time, a.last_turn) <
                                 std::tie(b.virtual_time, b.last_turn));
}

const FairOrder::Tenant* FairOrder::Find(policy::Priority priority,
                                         const std::string& tenant) const {
  const auto& tenants = class_of(priority).tenants;
  const auto found = tenants.find(tenant);
  return found == tenants.end() ? nullptr : &found->second;
}

size_t FairOrder::members() const {
  size_t count = 0;
  for (const Class& all : classes_) {
    for (const auto& [name, tenant] : all.tenants) {
      count += 1 + tenant.lines.size();
    }
  }
  return count;
}

}  // namespace sandglass::server
