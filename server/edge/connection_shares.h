#ifndef SANDGLASS_SERVER_EDGE_CONNECTION_SHARES_H_
#define SANDGLASS_SERVER_EDGE_CONNECTION_SHARES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace sandglass::server {

// Counts how many connections each caller has, out of all that there may be. A
// caller may have as many as are still free. So one caller alone gets half of
// them, and there are always some left for the next one. Root, who has to look
// after the machine, has a few beyond that.
class ConnectionShares {
 public:
  explicit ConnectionShares(uint32_t max) : max_(max) {}

  // Returns nothing when one more connection of that caller fits into its
  // share. Otherwise returns the caller who is in the way: the caller itself
  // or, when nothing is free at all, whoever has most.
  std::optional<std::string> InTheWay(const std::string& caller,
                                      bool is_root) const;
  void Add(const std::string& caller);
  void Remove(const std::string& caller);

  uint32_t max() const { return max_; }

 private:
  // So many root may have when all others are taken.
  static constexpr uint32_t kRootReserve = 8;

  const uint32_t max_;
  uint32_t all_ = 0;
  std::map<std::string, uint32_t> callers_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_CONNECTION_SHARES_H_
