#ifndef SANDGLASS_SERVER_ADMISSION_RUN_TIMES_H_
#define SANDGLASS_SERVER_ADMISSION_RUN_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "server/base/lru_index.h"

namespace sandglass::server {

// How long runs take, learnt from those that have ended: for each tenant and
// kind of run a moving average, in which the last five or so count most. Knows
// a bounded number of them; those that were longest not in use are forgotten.
// Not thread-safe.
class RunTimes {
 public:
  struct Expected {
    double seconds = 0;
    // At least 16 such runs of this tenant have ended, and by the moving
    // average they differ from the mean by no more than half of it.
    bool sure = false;
  };

  explicit RunTimes(size_t max_known = 4096) : max_known_(max_known) {}

  // Of a tenant that had no such run, what such runs of all tenants take; of a
  // kind that is new, what all runs take.
  Expected Get(const std::string& tenant, const std::string& kind) const;
  void Learn(const std::string& tenant, const std::string& kind,
             double seconds);
  // What all runs take.
  double usual() const { return usual_; }

 private:
  struct Average {
    double mean = 0;
    double deviation = 0;
    uint64_t count = 0;
  };
  void LearnOf(const std::string& key, double seconds);

  const size_t max_known_;
  std::map<std::string, Average> averages_;
  LruIndex used_;
  double usual_ = 0.2;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ADMISSION_RUN_TIMES_H_
