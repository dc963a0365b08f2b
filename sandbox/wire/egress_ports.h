#ifndef SANDGLASS_SANDBOX_WIRE_EGRESS_PORTS_H_
#define SANDGLASS_SANDBOX_WIRE_EGRESS_PORTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sandglass::internal {
class NetworkRules;
}

namespace sandglass::sandbox {

// The address and the ports at which programs reach the proxy in their jail.
inline constexpr char kProxyAddress[] = "127.0.0.1";
inline constexpr uint16_t kProxyPort = 3128;
inline constexpr uint16_t kDnsPort = 53;

// For programs that know of no proxy, a jail has listening sockets of its own
// on the ports that its network rules allow, on at most this many. Through the
// proxy all allowed ports can be reached.
inline constexpr size_t kMaxServedPorts = 16;

// The ports with such a socket, each once: first those of HTTP and HTTPS, then
// the lowest ones. Without the proxy's own port.
std::vector<uint16_t> ServedPorts(const internal::NetworkRules& rules);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_EGRESS_PORTS_H_
