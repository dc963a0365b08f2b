#ifndef SANDGLASS_SERVER_JOB_DEATH_H_
#define SANDGLASS_SERVER_JOB_DEATH_H_

#include "sandbox/jail/jail.h"
#include "server/base/monotonic.h"

namespace sandglass::server {

// Takes care of the time from a run's kill to its last process's death. It
// doesn't rely on one way to kill alone: what survives the control group's kill
// is killed by its pid, and what init can't reach dies with the jail's pid
// namespace (docs/decisions/0042-more-than-one-way-to-kill.md).
class Death {
 public:
  explicit Death(Instant killed) : killed_(killed) {}

  // Call this now and then as long as something is alive: it kills again, in
  // the way whose time has come. Returns false after ten seconds: then all ways
  // were tried, and the run is to be given up.
  bool Insist(sandbox::Jail& jail, Instant now);

 private:
  const Instant killed_;
  Instant again_ = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_DEATH_H_
