#ifndef SANDGLASS_SERVER_BASE_SHARES_H_
#define SANDGLASS_SERVER_BASE_SHARES_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace sandglass::server {

struct SharesOptions {
  // Up to here it is who comes first.
  uint64_t most = 0;
  // Beyond that, for callers that hold little.
  uint64_t reserve = 0;
  // What one caller may hold in any case.
  uint64_t most_per_caller = std::numeric_limits<uint64_t>::max();
};

// How much of one thing (run slots, sessions, bytes of waiting requests …)
// callers may hold together, so that none of them can shut another out.
//
// The rule: up to `most` everybody takes as much as they like. Beyond it, a
// caller may take some while all that it then holds is no more than what the
// reserve has left, nor more than `most`. Who has taken everything before is
// thereby the one who gets nothing more, and nothing is taken away from
// anybody. Of a reserve of 16 that nobody has touched, a caller without any
// gets 8, the next one 4, then 2, and two more callers one each.
//
// Not thread-safe: its owner has a lock.
class Shares {
 public:
  enum class Room {
    kYes,
    // The caller has to give some back first; a caller that holds less could
    // have more.
    kCallerHasItsShare,
    // Nobody can have so much now.
    kNone,
  };

  explicit Shares(const SharesOptions& options) : options_(options) {}

  // An amount that is larger than all bounds has room where nothing is held, so
  // that it doesn't wait for ever.
  Room RoomFor(const std::string& caller, uint64_t amount = 1) const;

  // Whether or not there is room: what was there before, for example.
  void Take(const std::string& caller, uint64_t amount = 1);
  // What was taken.
  void Give(const std::string& caller, uint64_t amount = 1);

  uint64_t held() const { return held_; }
  uint64_t held_by(const std::string& caller) const;
  const SharesOptions& options() const { return options_; }

 private:
  const SharesOptions options_;
  uint64_t held_ = 0;
  std::map<std::string, uint64_t> by_caller_;  // no zeros
};

// Of a bound that has no reserve beside it: three quarters for all and the last
// quarter, rounded up, as the reserve. A bound of 1 has none.
SharesOptions WithReserveWithin(uint64_t bound);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_SHARES_H_
