#ifndef SANDGLASS_SERVER_JOB_DEATH_H_
#define SANDGLASS_SERVER_JOB_DEATH_H_

#include "sandbox/jail/jail.h"
#include "server/base/monotonic.h"

namespace sandglass::server {

// From a run's kill to its last process's death. No way to kill is relied on
// alone: what the control group's passes over dies by its pid, and what init
// can't reach with the jail's pid namespace
// (docs/decisions/0042-more-than-one-way-to-kill.md).
class Death {
 public:
  explicit Death(Instant killed) : killed_(killed) {}

  // To be called now and then as long as something lives: kills again, in the
  // way that it is time for. False after ten seconds: then all ways were gone,
  // and the run is to be given up.
  bool Insist(sandbox::Jail& jail, Instant now);

 private:
  const Instant killed_;
  Instant again_ = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_DEATH_H_
