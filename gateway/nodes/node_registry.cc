#include "gateway/nodes/node_registry.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gateway/proxy/gateway_errors.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/random_id.h"

namespace sandglass::gateway {
namespace {

constexpr char kDefaultProfile[] = "default";

NodeLoad ToNodeLoad(const node::v1::WatchLoadResponse& answer,
                    const node::v1::Offer& offer, server::MonotonicTime asked) {
  const node::v1::Load& load = answer.load();
  NodeLoad node;
  node.name = answer.node();
  node.instance = answer.instance();
  node.as_of = asked;
  node.heard = server::Now();
  node.draining = load.draining();
  node.max_running = load.max_running();
  node.running = load.running();
  node.max_queued = load.max_queued();
  node.queued = load.queued();
  node.memory_budget = std::min(load.memory_budget_bytes(), kMaxBytes);
  node.memory_reserved = std::min(load.memory_reserved_bytes(), kMaxBytes);
  node.max_sessions = load.max_sessions();
  node.sessions = load.sessions();
  node.session_memory_left = std::min(load.available_memory_bytes(), kMaxBytes);
  node.offers.languages = {offer.languages().begin(), offer.languages().end()};
  node.offers.profiles = {offer.profiles().begin(), offer.profiles().end()};
  node.offers.images = {offer.images().begin(), offer.images().end()};
  return node;
}

// The id in a request by which its node is found; empty: it names nothing that
// a node has.
const std::string& NamedBy(const RoutingFields& fields) {
  if (!fields.session_id.empty()) return fields.session_id;
  if (!fields.run_id.empty()) return fields.run_id;
  return fields.approval_id;
}

}  // namespace

// What was sent to a node counts there until this ends.
class NodeRegistry::Stay final : public Visit {
 public:
  Stay(NodeRegistry& registry, std::string node,
       std::shared_ptr<grpc::Channel> channel)
      : registry_(registry),
        node_(std::move(node)),
        channel_(std::move(channel)) {}
  ~Stay() override {
    if (!placed_.has_value()) return;
    absl::MutexLock lock(&registry_.mutex_);
    registry_.table_.Ended(placed_->node, placed_->instance, placed_->taken,
                           server::Now());
  }

  const std::string& node() const override { return node_; }
  const std::shared_ptr<grpc::Channel>& channel() const override {
    return channel_;
  }
  void Keep() override { placed_.reset(); }
  void Count(Placed placed) { placed_ = std::move(placed); }

 private:
  NodeRegistry& registry_;
  const std::string node_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::optional<Placed> placed_;
};

NodeRegistry::~NodeRegistry() { SetNodes({}, nullptr); }

void NodeRegistry::SetNodes(
    const std::vector<NodeAddress>& addresses,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  std::map<std::string, NodeAddress> wanted;
  for (const NodeAddress& each : addresses) wanted[each.address] = each;
  std::vector<std::shared_ptr<NodeLink>> begun;
  std::vector<std::shared_ptr<NodeLink>> ended;
  {
    absl::MutexLock lock(&mutex_);
    std::erase_if(known_,
                  [&](auto& each) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                    if (wanted.contains(each.first)) return false;
                    ended.push_back(each.second.link);
                    ForgetNodeAt(each.first, each.second.node);
                    return true;
                  });
    for (const auto& [address, where] : wanted) {
      if (known_.contains(address)) continue;
      // It calls nothing once it is stopped, as all are in the end.
      auto link = std::make_shared<NodeLink>(
          where, credentials,
          [this, address = address](const node::v1::WatchLoadResponse& answer,
                                    server::MonotonicTime asked) {
            return Told(address, answer, asked);
          },
          [this, address = address](const std::string& why) {
            Lost(address, why);
          });
      known_[address].link = link;
      begun.push_back(std::move(link));
    }
  }
  for (const auto& link : begun) link->Start();
  for (const auto& link : ended) link->Stop();
}

bool NodeRegistry::Told(const std::string& address,
                        const node::v1::WatchLoadResponse& answer,
                        server::MonotonicTime asked) {
  absl::MutexLock lock(&mutex_);
  const auto known = known_.find(address);
  if (known == known_.end()) return true;
  if (answer.has_offer()) {
    known->second.offer = answer.offer();
    Learn(answer.offer());
  }
  const absl::Status taken =
      table_.Report(ToNodeLoad(answer, known->second.offer, asked));
  if (!taken.ok()) {
    server::Log(
        server::LogLevel::kWarning, "node_not_taken",
        {{"address", address}, {"error", std::string(taken.message())}});
    return false;
  }
  const bool was_away = std::exchange(known->second.away, false);
  const std::string before = std::exchange(known->second.node, answer.node());
  if (before != answer.node()) ForgetNodeAt(address, before);
  addresses_[answer.node()] = address;
  if (before == answer.node() && !was_away) return true;
  server::Log(server::LogLevel::kInfo, "node_there",
              {{"address", address},
               {"node", answer.node()},
               {"version", known->second.offer.version()}});
  return true;
}

void NodeRegistry::Lost(const std::string& address, const std::string& why) {
  absl::MutexLock lock(&mutex_);
  const auto known = known_.find(address);
  if (known == known_.end()) return;
  const std::string& node = known->second.node;
  if (IsAt(node, address)) table_.Lost(node);
  if (std::exchange(known->second.away, true)) return;
  server::Log(server::LogLevel::kWarning, "node_away",
              {{"address", address}, {"node", node, true}, {"error", why}});
}

bool NodeRegistry::IsAt(const std::string& node, const std::string& address) {
  const auto at = addresses_.find(node);
  return at != addresses_.end() && at->second == address;
}

void NodeRegistry::ForgetNodeAt(const std::string& address,
                                const std::string& node) {
  if (!IsAt(node, address)) return;
  table_.Forget(node);
  addresses_.erase(node);
}

void NodeRegistry::Learn(const node::v1::Offer& offer) {
  for (const auto& [alias, language] : offer.aliases()) {
    if (aliases_.size() == kMaxNames) return;
    aliases_[alias] = language;
  }
}

std::string NodeRegistry::LanguageOf(const std::string& name) {
  std::string lower = absl::AsciiStrToLower(name);
  const auto alias = aliases_.find(lower);
  return alias == aliases_.end() ? lower : alias->second;
}

bool NodeRegistry::IsThere(const std::string& node) {
  const auto index = table_.by_name().find(node);
  return index != table_.by_name().end() && !table_.node(index->second).lost &&
         server::Since(table_.node(index->second).load.as_of) < kSilentAfter;
}

std::unique_ptr<NodeRegistry::Stay> NodeRegistry::StayAt(
    const std::string& node) {
  return std::make_unique<Stay>(*this, node,
                                known_.at(addresses_.at(node)).link->channel());
}

absl::StatusOr<std::unique_ptr<Visit>> NodeRegistry::FindNamed(
    const std::string& id, const std::vector<std::string>& tried) {
  const std::optional<std::string> node = server::NodeOfId(id);
  if (!node.has_value() || !addresses_.contains(*node)) return NodeUnknown(id);
  if (!tried.empty() || !IsThere(*node)) return NodeAway(*node);
  return StayAt(*node);
}

absl::StatusOr<std::unique_ptr<Visit>> NodeRegistry::FindAny(
    const std::vector<std::string>& tried) {
  std::vector<std::string> there;
  for (const auto& [node, address] : addresses_) {
    if (IsThere(node) && std::ranges::find(tried, node) == tried.end()) {
      there.push_back(node);
    }
  }
  if (there.empty()) return NoNodes();
  return StayAt(there[absl::Uniform<size_t>(random_, 0, there.size())]);
}

absl::StatusOr<std::unique_ptr<Visit>> NodeRegistry::Find(
    Route route, const RoutingFields& fields, const server::Identity& caller,
    const std::vector<std::string>& tried) {
  absl::MutexLock lock(&mutex_);
  const std::string& named = NamedBy(fields);
  if (!named.empty() || route == Route::kNamed) return FindNamed(named, tried);
  if (route == Route::kAny) return FindAny(tried);
  Wish wish{.tenant = caller.tenant,
            .memory_bytes = fields.memory_bytes,
            .session = route == Route::kSession || route == Route::kNamesake,
            .request_id = fields.request_id,
            .tries = static_cast<int>(tried.size())};
  wish.language = LanguageOf(fields.language);
  wish.profile = fields.profile.empty() ? kDefaultProfile : fields.profile;
  if (route == Route::kNamesake) {
    wish.request_id = absl::StrCat("labels ", absl::StrJoin(fields.labels, ""));
  }
  absl::StatusOr<Placed> placed =
      Place(wish, table_, server::Now(), random_, tried);
  if (!placed.ok()) return placed.status();
  std::unique_ptr<Stay> stay = StayAt(placed->node);
  stay->Count(*std::move(placed));
  return stay;
}

std::vector<std::unique_ptr<Visit>> NodeRegistry::All() {
  absl::MutexLock lock(&mutex_);
  std::vector<std::unique_ptr<Visit>> all;
  for (const auto& [node, address] : addresses_) {
    if (IsThere(node)) all.push_back(StayAt(node));
  }
  return all;
}

std::vector<NodeState> NodeRegistry::States() {
  absl::MutexLock lock(&mutex_);
  std::vector<NodeState> states;
  for (const auto& [name, address] : addresses_) {
    const NodeTable::Node* const node = table_.Find(name);
    if (node == nullptr) continue;
    states.push_back({.name = name,
                      .address = address,
                      .there = IsThere(name),
                      .draining = node->load.draining,
                      .report_age = server::Since(node->load.as_of),
                      .free_slots = node->free_slots(),
                      .queued = node->load.queued,
                      .sessions = node->load.sessions});
  }
  return states;
}

bool NodeRegistry::AnyThere() {
  absl::MutexLock lock(&mutex_);
  return std::ranges::any_of(
      addresses_, [this](const auto& each) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                      mutex_) { return IsThere(each.first); });
}

}  // namespace sandglass::gateway
