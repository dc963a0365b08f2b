#include "policy/network/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "policy/text/quoted.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr AddressRange kMapped(IpAddress::V6({0, 0, 0, 0, 0, 0xffff}), 96);

absl::Status RefuseAddress(std::string_view text, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " ", why));
}

// The range of this prefix length that contains the address.
AddressRange Widened(const IpAddress& address, unsigned prefix) {
  std::string bytes(address.bytes());
  for (size_t i = 0; i < bytes.size(); ++i) {
    const size_t kept =
        prefix > 8 * i ? std::min<size_t>(8, prefix - 8 * i) : 0;
    const auto mask = static_cast<uint8_t>(0xff00u >> kept);
    bytes[i] = static_cast<char>(static_cast<uint8_t>(bytes[i]) & mask);
  }
  return {*IpAddress::FromBytes(bytes), prefix};
}

// A decimal number without a sign or leading zeros.
std::optional<unsigned> ParsePrefix(std::string_view text, unsigned max) {
  const bool digits =
      text.find_first_not_of("0123456789") == std::string_view::npos;
  if (text.empty() || text.size() > 3 || !digits) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  uint32_t prefix = 0;
  if (!absl::SimpleAtoi(AbslView(text), &prefix) || prefix > max) {
    return std::nullopt;
  }
  return prefix;
}

}  // namespace

std::optional<IpAddress> IpAddress::FromBytes(std::string_view bytes) {
  if (bytes.size() != kV4Bytes && bytes.size() != kV6Bytes) return std::nullopt;
  IpAddress address;
  address.size_ = static_cast<uint8_t>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), address.bytes_.begin());
  return address;
}

absl::StatusOr<IpAddress> IpAddress::Parse(std::string_view text) {
  if (text.find('%') != std::string_view::npos &&
      text.find(':') != std::string_view::npos) {
    return RefuseAddress(
        text,
        "has a zone (\"%\" and what follows), which only means "
        "something on one machine; write the address without it");
  }
  const bool v6 = text.find(':') != std::string_view::npos;
  IpAddress address;
  address.size_ = v6 ? kV6Bytes : kV4Bytes;
  const std::string terminated(text);
  // inet_pton(3) accepts neither octal nor hexadecimal numbers nor short forms.
  // It stops at a NUL byte.
  if (text.size() >= INET6_ADDRSTRLEN ||
      text.find('\0') != std::string_view::npos ||
      ::inet_pton(v6 ? AF_INET6 : AF_INET, terminated.c_str(),
                  address.bytes_.data()) != 1) {
    return RefuseAddress(
        text,
        "is no address; write one as 192.0.2.1 (decimal, without "
        "leading zeros) or 2001:db8::1");
  }
  return address;
}

std::string IpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(is_v4() ? AF_INET : AF_INET6, bytes_.data(), text, sizeof text);
  return text;
}

std::string_view IpAddress::bytes() const {
  return {reinterpret_cast<const char*>(bytes_.data()), size_};
}

IpAddress IpAddress::Unmapped() const {
  if (!kMapped.Contains(*this)) return *this;
  return V4(bytes_[12], bytes_[13], bytes_[14], bytes_[15]);
}

absl::StatusOr<AddressRange> AddressRange::Parse(std::string_view text) {
  const size_t slash = text.find('/');
  const absl::StatusOr<IpAddress> address =
      IpAddress::Parse(text.substr(0, slash));
  if (!address.ok()) return address.status();
  if (slash == std::string_view::npos) {
    return RefuseAddress(
        text,
        absl::StrCat("has no prefix length; write it as ", address->ToString(),
                     "/", address->bits(), " or shorter"));
  }
  const std::string_view length = text.substr(slash + 1);
  const auto prefix = ParsePrefix(length, address->bits());
  if (!prefix) {
    return RefuseAddress(text,
                         absl::StrCat("has ", Quoted(length),
                                      " for its prefix length; write a number "
                                      "from 0 to ",
                                      address->bits()));
  }
  const AddressRange range = Widened(*address, *prefix);
  if (range.first() != *address) {
    return RefuseAddress(
        text, absl::StrCat("has bits set past the first ", *prefix, "; write ",
                           range.ToString(), " for the range or ",
                           address->ToString(), " for the address"));
  }
  if (kMapped.Contains(*address)) {
    return RefuseAddress(
        text, absl::StrCat("is a range of IPv4 addresses; write it as ",
                           address->Unmapped().ToString(), "/",
                           std::max(96u, *prefix) - 96));
  }
  return range;
}

std::string AddressRange::ToString() const {
  return absl::StrCat(first_.ToString(), "/", prefix_);
}

}  // namespace sandglass::policy
