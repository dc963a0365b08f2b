#ifndef SANDGLASS_POLICY_NETWORK_ADDRESS_H_
#define SANDGLASS_POLICY_NETWORK_ADDRESS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace sandglass::policy {

// An IPv4 or IPv6 address, without a zone. The default value is 0.0.0.0.
class IpAddress {
 public:
  static constexpr size_t kV4Bytes = 4;
  static constexpr size_t kV6Bytes = 16;

  constexpr IpAddress() = default;
  static constexpr IpAddress V4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
    IpAddress address;
    address.bytes_ = {a, b, c, d};
    return address;
  }
  // Makes an IPv6 address from its groups as they are written, each in the
  // host's byte order. Groups that are left out at the end are 0.
  static constexpr IpAddress V6(const std::array<uint16_t, 8>& groups) {
    IpAddress address;
    address.size_ = kV6Bytes;
    for (size_t i = 0; i < groups.size(); ++i) {
      address.bytes_[2 * i] = static_cast<uint8_t>(groups[i] >> 8);
      address.bytes_[2 * i + 1] = static_cast<uint8_t>(groups[i] & 0xff);
    }
    return address;
  }
  // `bytes` are in network byte order. nullopt unless there are 4 or 16 of
  // them.
  static std::optional<IpAddress> FromBytes(std::string_view bytes);

  // Accepts four decimal numbers without leading zeros (RFC 6943 section 3.1.1,
  // "strict") and every form of RFC 4291 section 2.2. INVALID_ARGUMENT for
  // everything else: octal or hexadecimal numbers, too few numbers, zones
  // ("fe80::1%eth0"), brackets, spaces.
  static absl::StatusOr<IpAddress> Parse(std::string_view text);

  // Writes the address in the form of RFC 5952. The last four bytes are written
  // as IPv4 (its section 5) where the rest is that of IPv4-mapped or
  // IPv4-compatible addresses.
  std::string ToString() const;

  constexpr bool is_v4() const { return size_ == kV4Bytes; }
  constexpr size_t size() const { return size_; }  // bytes: 4 or 16
  constexpr unsigned bits() const { return 8u * size_; }
  // In network byte order; `i` below size().
  constexpr uint8_t byte(size_t i) const { return bytes_[i]; }
  // All bytes, in the form of FromBytes. The view lives as long as the address.
  std::string_view bytes() const;

  // For an IPv4-mapped address (::ffff:a.b.c.d, RFC 4291 section 2.5.5.2): the
  // IPv4 address that a connection to it reaches. Other addresses are returned
  // unchanged.
  IpAddress Unmapped() const;

  friend constexpr bool operator==(const IpAddress&,
                                   const IpAddress&) = default;

 private:
  std::array<uint8_t, kV6Bytes> bytes_ = {};  // 0 past `size_`
  uint8_t size_ = kV4Bytes;
};

// All addresses of one version that begin with the same bits (RFC 4632 section
// 3.1). IPv4 addresses in their mapped form don't belong to a range of IPv4.
class AddressRange {
 public:
  // `first` must have 0 in all bits after the prefix; `prefix` is at most
  // first.bits().
  constexpr AddressRange(const IpAddress& first, unsigned prefix)
      : first_(first), prefix_(static_cast<uint8_t>(prefix)) {}
  // The range that consists of one address.
  explicit constexpr AddressRange(const IpAddress& address)
      : AddressRange(address, address.bits()) {}

  // Accepts "10.0.0.0/8" or "fd00::/8", with the address as in
  // IpAddress::Parse. INVALID_ARGUMENT, with what to write instead: for a
  // prefix length that is missing or too long, for bits that are set after the
  // prefix, and for an IPv4-mapped address.
  static absl::StatusOr<AddressRange> Parse(std::string_view text);

  constexpr bool Contains(const IpAddress& address) const {
    if (address.size() != first_.size()) return false;
    for (unsigned i = 0; 8 * i < prefix_; ++i) {
      const unsigned kept = prefix_ - 8 * i;
      const unsigned mask = kept >= 8 ? 0xff : 0xff00u >> kept;
      if (((address.byte(i) ^ first_.byte(i)) & mask) != 0) return false;
    }
    return true;
  }

  constexpr const IpAddress& first() const { return first_; }
  constexpr unsigned prefix() const { return prefix_; }  // bits
  constexpr bool is_one_address() const { return prefix_ == first_.bits(); }
  std::string ToString() const;  // in the form of Parse

  friend constexpr bool operator==(const AddressRange&,
                                   const AddressRange&) = default;

 private:
  IpAddress first_;
  uint8_t prefix_;
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_NETWORK_ADDRESS_H_
