#include "sandbox/egress/name_table.h"

namespace sandglass::egress {
namespace {

// 127.64.0.0 itself stands for no name.
constexpr size_t kFirst = 1;

policy::IpAddress AddressAt(size_t number) {
  const size_t host = number + kFirst;
  return policy::IpAddress::V4(127, 64, static_cast<uint8_t>(host >> 8),
                               static_cast<uint8_t>(host));
}

}  // namespace

std::optional<policy::IpAddress> NameTable::AddressOf(const std::string& name) {
  const auto known = numbers_.find(name);
  if (known != numbers_.end()) return AddressAt(known->second);
  if (names_.size() >= kMaxNames) return std::nullopt;
  numbers_.emplace(name, names_.size());
  names_.push_back(name);
  return AddressAt(names_.size() - 1);
}

const std::string* NameTable::NameOf(const policy::IpAddress& address) const {
  if (!address.is_v4() || address.byte(0) != 127 || address.byte(1) != 64) {
    return nullptr;
  }
  const size_t host = size_t{address.byte(2)} << 8 | address.byte(3);
  if (host < kFirst || host - kFirst >= names_.size()) return nullptr;
  return &names_[host - kFirst];
}

}  // namespace sandglass::egress
