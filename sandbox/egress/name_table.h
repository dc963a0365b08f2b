#ifndef SANDGLASS_SANDBOX_EGRESS_NAME_TABLE_H_
#define SANDGLASS_SANDBOX_EGRESS_NAME_TABLE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/network/address.h"

namespace sandglass::egress {

// Addresses of a jail's own that stand for names, for programs that know of no
// proxy: they resolve a name, connect to what they are told, and by the address
// the proxy knows the name. All are in 127.64.0.0/10, which leads to `lo`
// without a route (RFC 1122, section 3.2.1.3) and where nothing else listens.
class NameTable {
 public:
  // As many names as one jail gets addresses for.
  static constexpr size_t kMostNames = 4096;

  // The name's address, always the same; absent when there are too many.
  std::optional<policy::IpAddress> AddressOf(const std::string& name);
  // Null when it stands for none.
  const std::string* NameOf(const policy::IpAddress& address) const;

 private:
  std::map<std::string, size_t> numbers_;
  std::vector<std::string> names_;
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_NAME_TABLE_H_
