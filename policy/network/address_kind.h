#ifndef SANDGLASS_POLICY_NETWORK_ADDRESS_KIND_H_
#define SANDGLASS_POLICY_NETWORK_ADDRESS_KIND_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/network/address.h"

namespace sandglass::policy {

// The purpose of an address, according to IANA's registries of special-purpose
// addresses (RFC 6890, RFC 8190 and later additions).
enum class AddressKind : uint8_t {
  kPublic,         // of the global Internet
  kLoopback,       // 127.0.0.0/8, ::1
  kPrivate,        // RFC 1918, RFC 6598 (100.64.0.0/10), RFC 4193 (fc00::/7)
  kLinkLocal,      // 169.254.0.0/16 (RFC 3927), fe80::/10
  kMetadata,       // from which clouds give machines their credentials
  kMulticast,      // 224.0.0.0/4, ff00::/8
  kUnspecified,    // 0.0.0.0, ::; on Linux the machine itself
  kBroadcast,      // 255.255.255.255
  kDocumentation,  // RFC 5737, RFC 3849, RFC 9637
  kReserved,       // all other ranges without public hosts
};

// A word for people, to stand before "address": "public", "link-local", "cloud
// metadata".
std::string_view KindName(AddressKind kind);

// An address that contains an IPv4 address to which packets for it are
// forwarded has the kind of that one: IPv4-mapped and IPv4-compatible (RFC 4291
// section 2.5.5), 64:ff9b::/96 (RFC 6052), 6to4 (RFC 3056), Teredo (RFC 4380,
// the client's address), and an ISATAP interface identifier (RFC 5214 section
// 6.1) if its IPv4 address isn't public. Translation with a network's own
// prefix can't be recognised by the address.
//
// Stricter than the registries: all of 192.0.0.0/24, 192.88.99.0/24 and
// 2001::/23 (except Teredo) is reserved, and so is all IPv6 outside of 2000::/3
// (the only part that IANA gives to networks) that has no other kind.
AddressKind KindOf(const IpAddress& address);

// The narrowest range of its kind that contains the address: 10.0.0.0/8 for
// 10.1.2.3. nullopt for public addresses, and for those whose kind comes from
// an IPv4 address in them or from no range.
std::optional<AddressRange> SpecialRangeOf(const IpAddress& address);

// Whether connections to addresses of this kind are possible at all: not to
// unspecified, multicast and broadcast addresses.
bool IsDestination(AddressKind kind);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_NETWORK_ADDRESS_KIND_H_
