#include "server/job/death.h"

#include <algorithm>

namespace sandglass::server {

Death::Step Death::Check(MonotonicTime now) {
  if (now < next_) return Step::kWait;
  const MonotonicTime give_up = After(killed_, kDeathTimeout);
  next_ = std::min(After(now, kKillEvery), give_up);
  if (now >= give_up) return Step::kGiveUp;
  if (now >= After(killed_, times_.pid_namespace)) {
    return Step::kEndPidNamespace;
  }
  if (now >= After(killed_, times_.jail)) return Step::kEndJail;
  return Step::kKillByPid;
}

}  // namespace sandglass::server
