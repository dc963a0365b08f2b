#ifndef SANDGLASS_GATEWAY_PORTS_PORT_TARGET_H_
#define SANDGLASS_GATEWAY_PORTS_PORT_TARGET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sandglass::gateway {

// To which program of which session a request of HTTP goes.
struct PortTarget {
  std::string session;
  uint32_t port = 0;
  // Path and query as the program gets them; begins with "/".
  std::string target;
  // The origin is the program's own, "https://8000-ses-….example.org". Else it
  // is the gateway's, and the path begins with `prefix`, which has no slash at
  // its end.
  bool own_origin = false;
  std::string prefix;
  // A link that stands in the path; then it says what session and port are.
  std::string link;
};

// What a request is for, by its Host ("8000-ses-1.example.org:8443") where
// there is a domain for programs ("example.org"), else by its path
// ("/ports/ses-1/8000/x", "/links/LINK/x"). nullopt: for no program. A target
// without a port (0) is one that can't be: it has no such form, and nothing
// else may be served there.
std::optional<PortTarget> PortTargetOf(std::string_view domain,
                                       std::string_view host,
                                       std::string_view path,
                                       std::string_view query);

// Whether text may be a session's id: "ses-" and small letters, digits, "-".
bool IsSessionId(std::string_view text);

// "8000-ses-1.example.org".
std::string HostOf(std::string_view session, uint32_t port,
                   std::string_view domain);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PORTS_PORT_TARGET_H_
