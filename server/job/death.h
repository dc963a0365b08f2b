#ifndef SANDGLASS_SERVER_JOB_DEATH_H_
#define SANDGLASS_SERVER_JOB_DEATH_H_

#include <algorithm>

#include "server/base/clock.h"
#include "server/job/run_times.h"

namespace sandglass::server {

// Takes care of the time from a run's kill to its last process's death. No way
// to kill is relied on alone: what survives the control group's kill is killed
// by its pid, and what init can't reach dies with the jail's pid namespace
// (docs/decisions/0042-more-than-one-way-to-kill.md). The loop that waits for
// the death kills; this object says when, and in which way.
class Death {
 public:
  enum class Step {
    kWait,  // it isn't time yet
    kKillByPid,
    kEndJail,
    kEndPidNamespace,
    kGiveUp,  // all ways were tried
  };

  Death(MonotonicTime killed, const DeathTimes& times)
      : killed_(killed), times_(times), next_(After(killed, times.again)) {}

  // When something is to be done next.
  MonotonicTime next() const { return next_; }
  // Returns what is to be done now, as long as something is alive.
  Step Check(MonotonicTime now) {
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

 private:
  const MonotonicTime killed_;
  const DeathTimes times_;
  MonotonicTime next_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_DEATH_H_
