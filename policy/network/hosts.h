#ifndef SANDGLASS_POLICY_NETWORK_HOSTS_H_
#define SANDGLASS_POLICY_NETWORK_HOSTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "policy/network/address.h"

namespace sandglass::policy {

// The most bytes of a name, without a final dot (RFC 1035 section 2.3.4).
inline constexpr size_t kMaxHostName = 253;
inline constexpr size_t kMaxHostLabel = 63;

// Whether a name in its normal form (see RequestedHost) has a meaning only on
// one machine or in one network: names of a single label, and localhost (RFC
// 6761), local (RFC 6762), internal (ICANN's, for private use), home.arpa (RFC
// 8375) and onion (RFC 7686) with all names below them.
bool IsLocalName(std::string_view name);

// How IPv6 addresses are written in a text.
enum class HostSyntax : uint8_t {
  kPlain,      // without brackets: in SNI, DNS, SOCKS
  kAuthority,  // in brackets: in URLs, CONNECT and Host (RFC 3986
               // section 3.2.2)
};

// A host that a program asks for: a name or an address. Equal objects are the
// same host: names are in lower case without a final dot, and an IPv4-mapped
// address is represented as the IPv4 address.
class RequestedHost {
 public:
  explicit RequestedHost(const IpAddress& address)
      : address_(address.Unmapped()) {}

  // Exactly one of the two is set: the name, in its normal form, or the
  // address.
  const std::string& name() const { return name_; }  // empty for an address
  const std::optional<IpAddress>& address() const { return address_; }

  std::string ToString() const;  // in the form of kPlain

  friend bool operator==(const RequestedHost&, const RequestedHost&) = default;

 private:
  friend absl::StatusOr<RequestedHost> ParseRequestedHost(std::string_view,
                                                          HostSyntax);
  explicit RequestedHost(std::string name) : name_(std::move(name)) {}

  std::string name_;
  std::optional<IpAddress> address_;
};

// `text` is only the host, without a port. Labels consist of letters, digits,
// "-" (not first or last) and "_" (not in the last label). INVALID_ARGUMENT for
// everything else, so that no two programs read it differently: bytes outside
// ASCII, percent escapes, white space, zones, and names that end in a number,
// except addresses in their usual form ("127.1", "0x7f.0.0.1" and "2130706433"
// are 127.0.0.1 to some programs; the WHATWG's URL Standard, "ends in a
// number").
absl::StatusOr<RequestedHost> ParseRequestedHost(std::string_view text,
                                                 HostSyntax syntax);

// The hosts that one entry of a profile stands for.
class HostPattern {
 public:
  enum class Kind : uint8_t {
    kName,     // "example.org": this name only
    kSuffix,   // "*.example.org": names below it, at any depth, not itself
    kAddress,  // "192.0.2.1": it, but not names that resolve to it
    kRange,    // "192.0.2.0/24": all addresses in it
  };

  // Accepts what the comments of the kinds above show; names as in
  // ParseRequestedHost. INVALID_ARGUMENT says what to write instead. A suffix
  // must have at least two labels (whether anybody can get a name under it, as
  // under "co.uk", can't be recognised) and must not be local: local names have
  // to be written out.
  static absl::StatusOr<HostPattern> Parse(std::string_view text);

  Kind kind() const { return kind_; }
  // In its normal form; for kSuffix what follows "*.". Empty for addresses.
  const std::string& name() const { return name_; }
  // For kAddress and kRange.
  const std::optional<AddressRange>& range() const { return range_; }

  bool Matches(const RequestedHost& host) const;
  // Of two patterns that match the same host, the one with the higher number is
  // narrower; if the numbers are equal, so are the patterns.
  size_t Narrowness() const;
  std::string ToString() const;  // in the form of Parse

  friend bool operator==(const HostPattern&, const HostPattern&) = default;

 private:
  HostPattern(Kind kind, std::string name)
      : kind_(kind), name_(std::move(name)) {}
  explicit HostPattern(const AddressRange& range)
      : kind_(range.is_one_address() ? Kind::kAddress : Kind::kRange),
        range_(range) {}

  Kind kind_;
  std::string name_;
  std::optional<AddressRange> range_;
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_NETWORK_HOSTS_H_
