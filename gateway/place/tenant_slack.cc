#include "gateway/place/tenant_slack.h"

#include <algorithm>
#include <limits>

#include "server/base/errors.h"

namespace sandglass::gateway {
namespace {

using Has = TenantSlack::Has;
using server::MonotonicTime;

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

uint64_t Plus(uint64_t one, uint64_t other) {
  return one > kMost - other ? kMost : one + other;
}

uint64_t Times(uint64_t one, uint64_t other) {
  return other != 0 && one > kMost / other ? kMost : one * other;
}

uint64_t Minus(uint64_t one, uint64_t other) {
  return one - std::min(one, other);
}

void Add(Has& to, const Has& amount) {
  to.runs = Plus(to.runs, amount.runs);
  to.sessions = Plus(to.sessions, amount.sessions);
  to.session_memory = Plus(to.session_memory, amount.session_memory);
}

void Subtract(Has& from, const Has& amount) {
  from.runs = Minus(from.runs, amount.runs);
  from.sessions = Minus(from.sessions, amount.sessions);
  from.session_memory = Minus(from.session_memory, amount.session_memory);
}

Has AmountOf(const Taken& taken) {
  return taken.session
             ? Has{.sessions = 1,
                   .session_memory = std::min(taken.memory_bytes, kMaxBytes)}
             : Has{.runs = 1};
}

SlackOptions WithShares(SlackOptions options) {
  options.replicas = std::max<uint64_t>(options.replicas, 1);
  if (options.shares == 0) options.shares = options.replicas;
  return options;
}

}  // namespace

TenantSlack::TenantSlack(const SlackOptions& options)
    : options_(WithShares(options)) {}

void TenantSlack::TakeBackReport(const Node& node) {
  for (const auto& [tenant, has] : node.reported) {
    Subtract(tenants_[tenant].reported, has);
    DropIfEmpty(tenant);
  }
}

void TenantSlack::Report(const NodeLoad& load) {
  Node& node = nodes_[load.name];
  TakeBackReport(node);
  node.reported.clear();
  for (const auto& [tenant, load_of] : load.tenants) {
    const Has has = {.runs = Plus(load_of.running, load_of.queued),
                     .sessions = load_of.sessions,
                     .session_memory = load_of.session_memory};
    if (has.empty()) continue;
    node.reported[tenant] = has;
    Add(tenants_[tenant].reported, has);
  }
  node.heard = load.heard;
  while (!node.unseen.empty()) {
    const auto it = tickets_.find(node.unseen.front());
    if (it != tickets_.end()) {
      Open& open = it->second;
      if (open.sent >= load.as_of) break;
      open.seen = true;
      Subtract(tenants_[open.tenant].unseen, open.amount);
      DropIfEmpty(open.tenant);
      DropIfDone(it->first);
    }
    node.unseen.pop_front();
  }
}

void TenantSlack::Forget(std::string_view name) {
  const auto it = nodes_.find(name);
  if (it == nodes_.end()) return;
  TakeBackReport(it->second);
  nodes_.erase(it);
}

void TenantSlack::Expire(MonotonicTime now) {
  while (!sent_.empty()) {
    const auto it = tickets_.find(sent_.front());
    if (it != tickets_.end()) {
      Open& open = it->second;
      if (server::Between(open.sent, now) <= options_.window) return;
      open.own = false;
      Subtract(tenants_[open.tenant].own, open.amount);
      DropIfEmpty(open.tenant);
      DropIfDone(it->first);
    }
    sent_.pop_front();
  }
}

absl::Status TenantSlack::MaySend(const policy::Tenant& tenant,
                                  const Taken& taken, MonotonicTime now) {
  Expire(now);
  const policy::TenantCeilings& ceilings = tenant.ceilings;
  const Has wanted = AmountOf(taken);
  if (!taken.session) {
    return Check(tenant, "running", ceilings.running, &Has::runs, wanted);
  }
  absl::Status status =
      Check(tenant, "sessions", ceilings.sessions, &Has::sessions, wanted);
  status.Update(Check(tenant, "session_memory", ceilings.session_memory_bytes,
                      &Has::session_memory, wanted));
  return status;
}

absl::Status TenantSlack::Check(const policy::Tenant& tenant,
                                const char* ceiling, uint64_t most,
                                uint64_t Has::*amount, const Has& wanted) {
  if (most == policy::kNoCeiling) return absl::OkStatus();
  if (wanted.*amount > most) {
    return server::TenantCeilingTooLow(tenant.name, ceiling, wanted.*amount,
                                       most);
  }
  const auto it = tenants_.find(tenant.name);
  const uint64_t own = it == tenants_.end() ? 0 : it->second.own.*amount;
  // A node that was started again reports nothing of what it had.
  const uint64_t known = std::max(Known(tenant.name).*amount, own);
  const uint64_t then = Plus(known, wanted.*amount);
  const uint64_t others =
      own == 0 ? 0 : Times(options_.shares - 1, Plus(own, wanted.*amount));
  if (Plus(then, others) <= most) return absl::OkStatus();
  return server::TenantCeiling(tenant.name, ceiling, known, most,
                               options_.window);
}

TenantSlack::Ticket TenantSlack::Sent(const std::string& tenant,
                                      std::string_view node, const Taken& taken,
                                      MonotonicTime now) {
  Expire(now);
  const Ticket ticket = next_++;
  const Has amount = AmountOf(taken);
  tickets_[ticket] = {.tenant = tenant,
                      .node = std::string(node),
                      .amount = amount,
                      .sent = now};
  sent_.push_back(ticket);
  nodes_[std::string(node)].unseen.push_back(ticket);
  Add(tenants_[tenant].unseen, amount);
  Add(tenants_[tenant].own, amount);
  return ticket;
}

void TenantSlack::Ended(Ticket ticket, MonotonicTime now) {
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return;
  const Open open = found->second;
  tickets_.erase(found);
  Tenant& tenant = tenants_[open.tenant];
  if (open.own) Subtract(tenant.own, open.amount);
  if (!open.seen) {
    Subtract(tenant.unseen, open.amount);
  } else if (const auto it = nodes_.find(open.node); it != nodes_.end()) {
    // The report counts it, unless it had ended by then and only the answer is
    // late.
    Node& node = it->second;
    const auto has = node.reported.find(open.tenant);
    if (has != node.reported.end() &&
        server::Between(node.heard, now) > options_.answer_delay) {
      const Has before = has->second;
      Subtract(has->second, open.amount);
      Subtract(tenant.reported, before);
      Add(tenant.reported, has->second);
    }
  }
  DropIfEmpty(open.tenant);
}

bool TenantSlack::MayWait(const policy::Tenant& tenant,
                          uint64_t waiting) const {
  const uint64_t queued = tenant.ceilings.queued;
  if (queued == 0) return false;
  return waiting < std::max<uint64_t>(queued / options_.replicas, 1);
}

Has TenantSlack::Known(std::string_view tenant) const {
  const auto it = tenants_.find(tenant);
  if (it == tenants_.end()) return {};
  Has known = it->second.reported;
  Add(known, it->second.unseen);
  return known;
}

void TenantSlack::DropIfDone(Ticket ticket) {
  const auto it = tickets_.find(ticket);
  if (it != tickets_.end() && it->second.seen && !it->second.own) {
    tickets_.erase(it);
  }
}

void TenantSlack::DropIfEmpty(const std::string& name) {
  const auto it = tenants_.find(name);
  if (it == tenants_.end()) return;
  const Tenant& has = it->second;
  if (has.reported.empty() && has.unseen.empty() && has.own.empty()) {
    tenants_.erase(it);
  }
}

}  // namespace sandglass::gateway
