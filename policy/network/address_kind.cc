#include "policy/network/address_kind.h"

#include <algorithm>
#include <iterator>

namespace sandglass::policy {
namespace {

using Kind = AddressKind;

constexpr IpAddress V4(uint8_t a, uint8_t b = 0, uint8_t c = 0, uint8_t d = 0) {
  return IpAddress::V4(a, b, c, d);
}

constexpr IpAddress V6(const std::array<uint16_t, 8>& groups) {
  return IpAddress::V6(groups);
}

struct Special {
  AddressRange range;
  AddressKind kind;
};

// The first entry that contains an address decides, so narrow ranges come
// before wide ones.
constexpr Special kSpecial[] = {
    {{V4(0), 32}, Kind::kUnspecified},
    {{V4(255, 255, 255, 255), 32}, Kind::kBroadcast},
    // Amazon, Google, Microsoft and most others.
    {{V4(169, 254, 169, 254), 32}, Kind::kMetadata},
    // Amazon's containers (ECS) and pods (EKS).
    {{V4(169, 254, 170, 2), 32}, Kind::kMetadata},
    {{V4(169, 254, 170, 23), 32}, Kind::kMetadata},
    {{V4(100, 100, 100, 200), 32}, Kind::kMetadata},  // Alibaba
    {{V4(192, 0, 0, 192), 32}, Kind::kMetadata},      // Oracle
    {{V4(168, 63, 129, 16), 32}, Kind::kMetadata},    // Microsoft's WireServer
    {{V4(0), 8}, Kind::kReserved},                    // RFC 791: this network
    {{V4(10), 8}, Kind::kPrivate},
    {{V4(100, 64), 10}, Kind::kPrivate},  // RFC 6598: carriers' NAT
    {{V4(127), 8}, Kind::kLoopback},
    {{V4(169, 254), 16}, Kind::kLinkLocal},
    {{V4(172, 16), 12}, Kind::kPrivate},
    {{V4(192, 0, 0), 24}, Kind::kReserved},  // RFC 6890: protocols
    {{V4(192, 0, 2), 24}, Kind::kDocumentation},
    {{V4(192, 88, 99), 24}, Kind::kReserved},  // RFC 7526: old 6to4 relays
    {{V4(192, 168), 16}, Kind::kPrivate},
    {{V4(198, 18), 15}, Kind::kReserved},  // RFC 2544: benchmarks
    {{V4(198, 51, 100), 24}, Kind::kDocumentation},
    {{V4(203, 0, 113), 24}, Kind::kDocumentation},
    {{V4(224), 4}, Kind::kMulticast},
    {{V4(240), 4}, Kind::kReserved},  // RFC 1112: future use

    {{V6({}), 128}, Kind::kUnspecified},
    {{V6({0, 0, 0, 0, 0, 0, 0, 1}), 128}, Kind::kLoopback},
    // Amazon's machines and pods, Google.
    {{V6({0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254}), 128}, Kind::kMetadata},
    {{V6({0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23}), 128}, Kind::kMetadata},
    {{V6({0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254}), 128}, Kind::kMetadata},
    {{V6({0x64, 0xff9b, 1}), 48}, Kind::kReserved},  // RFC 8215: translation
    {{V6({0x100}), 64}, Kind::kReserved},            // RFC 6666: discarded
    {{V6({0x100, 0, 0, 1}), 64}, Kind::kReserved},   // RFC 9780: dummy
    {{V6({0x2001, 0xdb8}), 32}, Kind::kDocumentation},
    {{V6({0x3fff}), 20}, Kind::kDocumentation},
    {{V6({0x5f00}), 16}, Kind::kReserved},  // RFC 9602: segment routing
    {{V6({0xfc00}), 7}, Kind::kPrivate},
    {{V6({0xfe80}), 10}, Kind::kLinkLocal},
    {{V6({0xfec0}), 10}, Kind::kPrivate},  // RFC 3879: site-local, abolished
    {{V6({0xff00}), 8}, Kind::kMulticast},
};

// IPv6 ranges whose addresses contain an IPv4 address at byte `at`.
struct Carrier {
  AddressRange range;
  uint8_t at;
  uint8_t mask;  // each byte is XORed with this
};

constexpr Carrier kCarriers[] = {
    {{V6({0, 0, 0, 0, 0, 0xffff}), 96}, 12, 0},  // IPv4-mapped
    {{V6({}), 96}, 12, 0},                       // IPv4-compatible
    {{V6({0x64, 0xff9b}), 96}, 12, 0},           // translation
    {{V6({0x2002}), 16}, 2, 0},                  // 6to4
    {{V6({0x2001}), 32}, 12, 0xff},              // Teredo
};

// RFC 2928: protocols. Teredo, a part of this range, is checked before.
constexpr AddressRange kProtocols(V6({0x2001}), 23);
constexpr AddressRange kGlobalUnicast(V6({0x2000}), 3);

const Special* FindSpecial(const IpAddress& address) {
  const auto* const found = std::find_if(
      std::begin(kSpecial), std::end(kSpecial),
      [&](const Special& special) { return special.range.Contains(address); });
  return found == std::end(kSpecial) ? nullptr : found;
}

IpAddress V4At(const IpAddress& address, size_t at, uint8_t mask) {
  const auto byte = [&](size_t i) {
    return static_cast<uint8_t>(address.byte(at + i) ^ mask);
  };
  return V4(byte(0), byte(1), byte(2), byte(3));
}

// Addresses of any network with an interface identifier of 0000:5efe or
// 0200:5efe followed by the IPv4 address.
bool IsIsatap(const IpAddress& address) {
  return (address.byte(8) & 0xfd) == 0 && address.byte(9) == 0 &&
         address.byte(10) == 0x5e && address.byte(11) == 0xfe;
}

AddressKind KindOfV6(const IpAddress& address) {
  for (const Carrier& carrier : kCarriers) {
    if (carrier.range.Contains(address)) {
      return KindOf(V4At(address, carrier.at, carrier.mask));
    }
  }
  if (!kGlobalUnicast.Contains(address) || kProtocols.Contains(address)) {
    return Kind::kReserved;
  }
  return IsIsatap(address) ? KindOf(V4At(address, 12, 0)) : Kind::kPublic;
}

}  // namespace

std::string_view KindName(AddressKind kind) {
  switch (kind) {
    case Kind::kPublic:
      return "public";
    case Kind::kLoopback:
      return "loopback";
    case Kind::kPrivate:
      return "private";
    case Kind::kLinkLocal:
      return "link-local";
    case Kind::kMetadata:
      return "cloud metadata";
    case Kind::kMulticast:
      return "multicast";
    case Kind::kUnspecified:
      return "unspecified";
    case Kind::kBroadcast:
      return "broadcast";
    case Kind::kDocumentation:
      return "documentation";
    case Kind::kReserved:
      return "reserved";
  }
  return "";
}

AddressKind KindOf(const IpAddress& address) {
  if (const Special* special = FindSpecial(address)) return special->kind;
  return address.is_v4() ? Kind::kPublic : KindOfV6(address);
}

std::optional<AddressRange> SpecialRangeOf(const IpAddress& address) {
  const Special* special = FindSpecial(address);
  if (special == nullptr) return std::nullopt;
  return special->range;
}

bool IsDestination(AddressKind kind) {
  return kind != Kind::kUnspecified && kind != Kind::kMulticast &&
         kind != Kind::kBroadcast;
}

}  // namespace sandglass::policy
