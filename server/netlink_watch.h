#ifndef SANDGLASS_SERVER_NETLINK_WATCH_H_
#define SANDGLASS_SERVER_NETLINK_WATCH_H_

#include <cstdint>

#include "sandbox/jail.h"
#include "server/instant.h"

namespace sandglass::server {

// Looks at what a run's netlink sockets hold, as often as it is asked to but
// for what that costs.
class NetlinkWatch {
 public:
  // To be called with each sample of the run. A list of many sockets takes long
  // to read: then some calls do nothing, so that all looks together take at
  // most a twentieth of the time.
  void Look(const sandbox::Jail& jail, Instant now);

  // As seen last; somewhat more than policy::kMostNetlinkBytes stands for all
  // that is more.
  uint64_t bytes() const { return bytes_; }

 private:
  Instant next_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_NETLINK_WATCH_H_
