#ifndef SANDGLASS_SERVER_BASE_SHARES_H_
#define SANDGLASS_SERVER_BASE_SHARES_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace sandglass::server {

struct SharesOptions {
  // Up to this amount, whoever comes first gets it.
  uint64_t max = 0;
  // Beyond `max`, so much more is kept for callers that hold little.
  uint64_t reserve = 0;
  // The most that one caller may ever hold.
  uint64_t max_per_caller = std::numeric_limits<uint64_t>::max();
};

// How much of one thing (run slots, sessions, bytes of waiting requests …)
// callers may hold together, so that none of them can shut another out.
//
// The rule: until `max` is taken, each caller gets as much as it asks for.
// Beyond that, a caller may take more only if all that it would then hold is no
// more than what is left of the reserve, and no more than `max`. So a caller
// that has already taken everything else is the one that gets nothing more, and
// nothing is taken away from anybody. For example, of an untouched reserve of
// 16, a caller that holds nothing gets 8, the next one 4, then 2, and two more
// callers one each.
//
// Not thread-safe: the owner must hold a lock.
class Shares {
 public:
  enum class Room {
    kYes,
    // The caller has to give some back first; a caller that holds less could
    // still get more.
    kCallerHasItsShare,
    // Nobody can have that much now.
    kNone,
  };

  explicit Shares(const SharesOptions& options) : options_(options) {}

  // An amount that is larger than all bounds is let in when nothing is held, so
  // that it doesn't wait for ever.
  Room RoomFor(const std::string& caller, uint64_t amount = 1) const;

  // Takes the amount whether or not there is room. Needed, for example, for
  // what was held before these shares were counted.
  void Acquire(const std::string& caller, uint64_t amount = 1);
  // Gives back an amount that was taken.
  void Release(const std::string& caller, uint64_t amount = 1);

  uint64_t held() const { return held_; }
  uint64_t held_by(const std::string& caller) const;
  const SharesOptions& options() const { return options_; }

 private:
  const SharesOptions options_;
  uint64_t held_ = 0;
  std::map<std::string, uint64_t> by_caller_;  // no zeros
};

// Splits a bound that has no separate reserve: the last quarter, rounded up,
// becomes the reserve, and the other three quarters are for everybody. A bound
// of 1 has no reserve.
SharesOptions WithReserveWithin(uint64_t bound);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_SHARES_H_
