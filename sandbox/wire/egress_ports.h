#ifndef SANDGLASS_SANDBOX_WIRE_EGRESS_PORTS_H_
#define SANDGLASS_SANDBOX_WIRE_EGRESS_PORTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sandglass::internal {
class NetworkRules;
}

namespace sandglass::sandbox {

// Where programs find the proxy in their jail.
inline constexpr char kProxyAddress[] = "127.0.0.1";
inline constexpr uint16_t kProxyPort = 3128;
inline constexpr uint16_t kDnsPort = 53;

// A jail has a listening socket on each of so many ports of its rules, for
// programs that know of no proxy; through the proxy all of them can be reached.
inline constexpr size_t kMostServedPorts = 16;

// Which ones, each once: those of HTTP first, then the lowest. Not the proxy's
// own.
std::vector<uint16_t> ServedPorts(const internal::NetworkRules& rules);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_EGRESS_PORTS_H_
