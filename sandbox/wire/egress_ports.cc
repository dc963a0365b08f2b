#include "sandbox/wire/egress_ports.h"

#include <algorithm>
#include <set>

#include "internal/egress.pb.h"

namespace sandglass::sandbox {
namespace {

constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;

bool Allows(const internal::NetworkRules& rules, uint32_t port) {
  for (const internal::AllowedHost& host : rules.hosts()) {
    for (const internal::PortRange& range : host.ports()) {
      if (range.first() <= port && port <= range.last()) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<uint16_t> ServedPorts(const internal::NetworkRules& rules) {
  std::vector<uint16_t> ports;
  for (const uint16_t port : {kHttpPort, kHttpsPort}) {
    if (Allows(rules, port)) ports.push_back(port);
  }
  std::set<uint16_t> others;
  for (const internal::AllowedHost& host : rules.hosts()) {
    for (const internal::PortRange& range : host.ports()) {
      const uint32_t end = std::min(range.last(), uint32_t{UINT16_MAX});
      // More ports than these can't matter, however long the range is.
      size_t taken = 0;
      for (uint32_t port = std::max(range.first(), 1u);
           port <= end && taken <= kMaxServedPorts + 2; ++port, ++taken) {
        others.insert(static_cast<uint16_t>(port));
      }
    }
  }
  others.erase(kProxyPort);
  for (const uint16_t port : others) {
    if (ports.size() >= kMaxServedPorts) break;
    if (std::find(ports.begin(), ports.end(), port) == ports.end()) {
      ports.push_back(port);
    }
  }
  return ports;
}

}  // namespace sandglass::sandbox
