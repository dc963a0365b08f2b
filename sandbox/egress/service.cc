#include "sandbox/egress/service.h"

#include <sys/socket.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sandbox/egress/authority.h"
#include "sandbox/egress/resolver.h"
#include "sandbox/egress/secrets.h"
#include "sandbox/wire/egress_ports.h"
#include "sandbox/wire/network_proto.h"

namespace sandglass::egress {
namespace {

// The doors that each jail has: one for the proxy and one for DNS.
constexpr size_t kFixedDoors = 2;

bool HasOption(const os::Fd& socket, int option, int wanted) {
  int value = 0;
  socklen_t size = sizeof(value);
  return ::getsockopt(socket.get(), SOL_SOCKET, option, &value, &size) == 0 &&
         value == wanted;
}

bool IsDoor(const os::Fd& socket, bool listens) {
  return HasOption(socket, SO_DOMAIN, AF_INET) &&
         HasOption(socket, SO_TYPE, listens ? SOCK_STREAM : SOCK_DGRAM) &&
         HasOption(socket, SO_ACCEPTCONN, listens ? 1 : 0);
}

absl::StatusOr<JailSockets> ReleaseDoors(std::vector<os::Fd> fds) {
  if (fds.size() < kFixedDoors ||
      fds.size() > kFixedDoors + sandbox::kMaxServedPorts) {
    return absl::InvalidArgumentError(
        absl::StrCat("a jail doesn't have ", fds.size(), " doors"));
  }
  for (size_t i = 0; i < fds.size(); ++i) {
    if (!IsDoor(fds[i], /*listens=*/i != 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("door ", i, " is no such socket"));
    }
  }
  JailSockets doors{
      .proxy = std::move(fds[0]), .ports = {}, .dns = std::move(fds[1])};
  for (size_t i = kFixedDoors; i < fds.size(); ++i) {
    doors.ports.push_back(std::move(fds[i]));
  }
  return doors;
}

internal::NetworkUsage ToProto(const LeaseUsage& usage) {
  internal::NetworkUsage proto;
  proto.set_connections(usage.connections);
  proto.set_refused(usage.refused);
  proto.set_bytes_up(usage.bytes_up);
  proto.set_bytes_down(usage.bytes_down);
  for (const Refusal& refusal : usage.refusals) {
    internal::NetworkRefusal& added = *proto.add_refusals();
    added.set_target(refusal.target);
    added.set_words(refusal.words);
    added.set_count(refusal.count);
  }
  return proto;
}

absl::StatusOr<Service::Policy> ToPolicy(const internal::NetworkRules& rules) {
  absl::StatusOr<policy::NetworkPolicy> policy = sandbox::FromProto(rules);
  if (!policy.ok()) return policy.status();
  return std::make_shared<const policy::NetworkPolicy>(*std::move(policy));
}

absl::StatusOr<ProxyOptions> ToOptions(const internal::EgressConfig& config,
                                       Secrets secrets) {
  ProxyOptions options;
  options.secrets = std::move(secrets);
  options.extra_roots_pem = config.extra_roots();
  if (config.authority_certificate().empty()) return options;
  absl::StatusOr<std::shared_ptr<Authority>> authority =
      Authority::Load(config.authority_certificate(), config.authority_key());
  if (!authority.ok()) return authority.status();
  options.authority = *std::move(authority);
  return options;
}

}  // namespace

Service::Service(std::unique_ptr<Proxy> proxy, os::Fd template_ledger)
    : proxy_(std::move(proxy)),
      later_(internal::SpawnerConfig(), std::move(template_ledger)) {}

absl::StatusOr<std::unique_ptr<Service>> Service::Create(
    const internal::EgressConfig& config, Secrets secrets,
    os::Fd template_ledger) {
  absl::StatusOr<Resolver> resolver =
      Resolver::Create({config.resolvers().begin(), config.resolvers().end()});
  if (!resolver.ok()) return resolver.status();
  absl::StatusOr<ProxyOptions> options = ToOptions(config, std::move(secrets));
  if (!options.ok()) return options.status();
  absl::StatusOr<std::unique_ptr<Proxy>> proxy =
      Proxy::Start(*std::move(resolver), *std::move(options));
  if (!proxy.ok()) return proxy.status();
  std::unique_ptr<Service> service(
      new Service(*std::move(proxy), std::move(template_ledger)));
  for (const internal::NetworkTemplate& each : config.templates()) {
    absl::StatusOr<Policy> policy = ToPolicy(each.rules());
    if (!policy.ok()) return policy.status();
    service->policies_.emplace(each.template_name(), *std::move(policy));
  }
  return service;
}

absl::StatusOr<Service::Policy> Service::FindPolicy(
    const std::string& template_name) {
  const auto known = policies_.find(template_name);
  if (known != policies_.end()) return known->second;
  const internal::Template* later = later_.Find(template_name);
  if (later == nullptr || !later->has_network()) {
    return absl::NotFoundError(
        absl::StrCat("no jail template \"", template_name, "\" has a network"));
  }
  absl::StatusOr<Policy> policy = ToPolicy(later->network());
  if (policy.ok()) policies_.emplace(template_name, *policy);
  return policy;
}

absl::Status Service::Open(const internal::OpenLease& open, os::Packet packet) {
  absl::StatusOr<Policy> policy = FindPolicy(open.template_name());
  if (!policy.ok()) return policy.status();
  absl::StatusOr<JailSockets> doors = ReleaseDoors(std::move(packet.fds));
  if (!doors.ok()) return doors.status();
  const LeaseLimits limits = (*policy)->limits;
  return proxy_->Open(open.lease_id(), *std::move(policy), limits,
                      *std::move(doors));
}

absl::StatusOr<internal::EgressAnswer> Service::Answer(os::Packet packet) {
  internal::EgressRequest request;
  internal::EgressAnswer answer;
  absl::StatusOr<LeaseUsage> usage = LeaseUsage();
  if (!request.ParseFromString(packet.data)) {
    return absl::InvalidArgumentError("malformed request; the channel is over");
  }
  switch (request.request_case()) {
    case internal::EgressRequest::kOpen: {
      answer.set_lease_id(request.open().lease_id());
      if (packet.lost_fds) {
        usage = absl::ResourceExhaustedError(
            "the egress proxy has no room for one more jail's sockets "
            "(RLIMIT_NOFILE); try again later");
        break;
      }
      if (absl::Status opened = Open(request.open(), std::move(packet));
          !opened.ok()) {
        usage = opened;
      }
      break;
    }
    case internal::EgressRequest::kRead:
      answer.set_lease_id(request.read().lease_id());
      usage = proxy_->Read(request.read().lease_id());
      break;
    case internal::EgressRequest::kClose:
      answer.set_lease_id(request.close().lease_id());
      usage = proxy_->Close(request.close().lease_id());
      break;
    default:
      return absl::InvalidArgumentError(
          "malformed request; the channel is over");
  }
  if (usage.ok()) {
    *answer.mutable_usage() = ToProto(*usage);
  } else {
    answer.set_error(static_cast<int>(usage.status().code()));
    answer.set_message(std::string(usage.status().message()));
  }
  return answer;
}

}  // namespace sandglass::egress
