#ifndef SANDGLASS_SANDBOX_EGRESS_NAME_TABLE_H_
#define SANDGLASS_SANDBOX_EGRESS_NAME_TABLE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/network/address.h"

namespace sandglass::egress {

// Gives a jail addresses that stand for names, for programs that know of no
// proxy: such a program resolves a name and connects to the address that it
// gets, and from the address the proxy knows the name. All of them are in
// 127.64.0.0/10, which leads to `lo` without a route (RFC 1122, section
// 3.2.1.3) and where nothing else listens.
class NameTable {
 public:
  // The number of names for which one jail gets addresses.
  static constexpr size_t kMaxNames = 4096;

  // The name's address, which never changes; nullopt when there are too many
  // names.
  std::optional<policy::IpAddress> AddressOf(const std::string& name);
  // Null when the address stands for no name.
  const std::string* NameOf(const policy::IpAddress& address) const;

 private:
  std::map<std::string, size_t> numbers_;
  std::vector<std::string> names_;
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_NAME_TABLE_H_
