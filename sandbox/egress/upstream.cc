#include "sandbox/egress/upstream.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/egress/waiting.h"
#include "sandbox/os/clocks.h"

namespace sandglass::egress {
namespace {

// Makes text that a program wrote fit for people: no control characters,
// limited length.
std::string Shown(std::string_view text) {
  constexpr size_t kMax = 100;
  std::string shown;
  for (const char c : text.substr(0, kMax)) {
    shown += c >= ' ' && c <= '~' ? c : '?';
  }
  return shown;
}

absl::StatusOr<std::vector<policy::IpAddress>> AddressesOf(
    const Resolver& resolver, const policy::RequestedHost& host,
    const Patience& patience) {
  if (host.address()) return std::vector<policy::IpAddress>{*host.address()};
  return resolver.Resolve(host.name(), patience);
}

}  // namespace

std::string TargetText(const policy::RequestedHost& host, uint16_t port) {
  const bool v6 = host.address() && !host.address()->is_v4();
  return absl::StrCat(v6 ? "[" : "", host.ToString(), v6 ? "]" : "", ":", port);
}

absl::StatusOr<Destination> Allowed(Lease& lease, std::string_view host,
                                    policy::HostSyntax syntax, uint16_t port) {
  absl::StatusOr<policy::RequestedHost> asked =
      policy::ParseRequestedHost(host, syntax);
  if (!asked.ok()) {
    lease.RecordRefusal(absl::StrCat(Shown(host), ":", port),
                        std::string(asked.status().message()));
    return asked.status();
  }
  const policy::NetworkDecision decision =
      policy::DecideHost(lease.policy(), *asked, port);
  if (!decision.allowed()) {
    const std::string words =
        policy::Words(lease.policy(), decision, *asked, port);
    lease.RecordRefusal(TargetText(*asked, port), words);
    return absl::PermissionDeniedError(words);
  }
  return Destination{*std::move(asked), port, *decision.rule};
}

absl::StatusOr<os::Fd> ConnectTo(Lease& lease, const Resolver& resolver,
                                 const Destination& to) {
  const Patience patience = lease.patience().AtMost(lease.limits().to_connect);
  const absl::StatusOr<std::vector<policy::IpAddress>> addresses =
      AddressesOf(resolver, to.host, patience);
  if (!addresses.ok()) return addresses.status();
  absl::Status failed;
  for (size_t i = 0; i < addresses->size(); ++i) {
    const policy::IpAddress& address = (*addresses)[i];
    const policy::NetworkDecision decision = policy::DecideAddress(
        lease.policy(), to.rule, to.host, to.port, address);
    if (!decision.allowed()) {
      // If there are several reasons, report the one that somebody can do
      // something about.
      failed = absl::PermissionDeniedError(
          policy::Words(lease.policy(), decision, to.host, to.port));
      continue;
    }
    // Each address gets only its share of the time, so that a silent one leaves
    // some for the others.
    const absl::Duration left = patience.until - os::SteadyNow();
    absl::StatusOr<os::Fd> socket = Connect(
        address, to.port,
        patience.AtMost(left / static_cast<int64_t>(addresses->size() - i)));
    if (socket.ok() || absl::IsCancelled(socket.status())) return socket;
    if (!absl::IsPermissionDenied(failed)) failed = socket.status();
  }
  if (absl::IsPermissionDenied(failed)) {
    lease.RecordRefusal(TargetText(to.host, to.port),
                        std::string(failed.message()));
  }
  return failed;
}

}  // namespace sandglass::egress
