#ifndef SANDGLASS_GATEWAY_PORTS_PORT_LINK_H_
#define SANDGLASS_GATEWAY_PORTS_PORT_LINK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/identity/identity.h"

namespace sandglass::gateway {

// What a link gives whoever has it: one port of one session, until a time, as
// the caller who made it.
struct PortLink {
  std::string session;
  uint32_t port = 0;
  absl::Time expires;
  server::Identity caller;
};

// Signs links and knows those that were signed, with a key that all gateways of
// one address have: no state.
class LinkSigner {
 public:
  static constexpr size_t kMinKeyBytes = 32;

  // INVALID_ARGUMENT: the key is too short.
  static absl::StatusOr<LinkSigner> Make(std::string key);

  // Of letters, digits, "-", "_" and ".".
  std::string Sign(const PortLink& link) const;
  // nullopt for what wasn't signed so, or is over by `now`. The caller may do
  // nothing but what commands need.
  std::optional<PortLink> Read(std::string_view text, absl::Time now) const;

 private:
  explicit LinkSigner(std::string key) : key_(std::move(key)) {}
  std::string Mac(std::string_view payload) const;

  std::string key_;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PORTS_PORT_LINK_H_
