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

// Bounds of a name in bytes, without a dot at its end (RFC 1035 section 2.3.4).
inline constexpr size_t kMaxHostName = 253;
inline constexpr size_t kMaxHostLabel = 63;

// Whether a name in its normal form (see RequestedHost) means something on one
// machine or network alone: names of a single label, and localhost (RFC 6761),
// local (RFC 6762), internal (ICANN's, for private use), home.arpa (RFC 8375)
// and onion (RFC 7686) with all names below them.
bool IsLocalName(std::string_view name);

// How an IPv6 address is written.
enum class HostSyntax : uint8_t {
  kPlain,      // without brackets: in SNI, DNS, SOCKS
  kAuthority,  // in brackets: in URLs, CONNECT and Host (RFC 3986
               // section 3.2.2)
};

// A host that a program asks for: a name or an address. Equal ones are the same
// host: letters of names are lower case, there is no dot at their end, and an
// IPv4-mapped address is the IPv4 address.
class RequestedHost {
 public:
  explicit RequestedHost(const IpAddress& address)
      : address_(address.Unmapped()) {}

  // Exactly one of both is there: a name in its normal form, or no name.
  const std::string& name() const { return name_; }  // empty for an address
  const std::optional<IpAddress>& address() const { return address_; }

  std::string ToString() const;  // as kPlain takes it

  friend bool operator==(const RequestedHost&, const RequestedHost&) = default;

 private:
  friend absl::StatusOr<RequestedHost> ParseRequestedHost(std::string_view,
                                                          HostSyntax);
  explicit RequestedHost(std::string name) : name_(std::move(name)) {}

  std::string name_;
  std::optional<IpAddress> address_;
};

// `text` is the host alone, without a port. Labels have letters, digits, "-"
// (not first or last) and "_" (not in the last label). INVALID_ARGUMENT for all
// else, so that no two programs read it differently: bytes outside ASCII,
// percent escapes, white space, zones, and names that end in a number, save
// addresses in their usual form ("127.1", "0x7f.0.0.1" and "2130706433" are
// 127.0.0.1 to some; the WHATWG's URL Standard, "ends in a number").
absl::StatusOr<RequestedHost> ParseRequestedHost(std::string_view text,
                                                 HostSyntax syntax);

// Hosts that a profile names.
class HostPattern {
 public:
  enum class Kind : uint8_t {
    kName,     // "example.org": itself alone
    kSuffix,   // "*.example.org": all names below it, at any depth, not itself
    kAddress,  // "192.0.2.1": itself, not names that resolve to it
    kRange,    // "192.0.2.0/24": all addresses in it
  };

  // Takes what the kinds above show; names as ParseRequestedHost does.
  // INVALID_ARGUMENT says what to write instead. A suffix has two labels or
  // more (that a suffix is one under which anybody can have a name, as "co.uk"
  // is, can't be seen) and isn't local: local names are only ever meant by
  // themselves.
  static absl::StatusOr<HostPattern> Parse(std::string_view text);

  Kind kind() const { return kind_; }
  // In its normal form; kSuffix: what follows "*.". Empty for addresses.
  const std::string& name() const { return name_; }
  // For kAddress and kRange.
  const std::optional<AddressRange>& range() const { return range_; }

  bool Matches(const RequestedHost& host) const;
  // Of two patterns that match the same host, the one with the higher number is
  // narrower; with the same number they are the same pattern.
  size_t Narrowness() const;
  std::string ToString() const;  // what Parse takes

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
