#ifndef SANDGLASS_SERVER_JOB_UNCHARGED_WATCH_H_
#define SANDGLASS_SERVER_JOB_UNCHARGED_WATCH_H_

#include <optional>

#include "policy/verdict/verdict.h"
#include "sandbox/jail/jail.h"
#include "server/base/monotonic.h"

namespace sandglass::server {

// Measures the kernel memory that a run holds but that no control group is
// charged for. It does so as often as it is asked to, unless that costs too
// much time.
class UnchargedWatch {
 public:
  // Call this with each sample of the run. A list of many sockets takes long to
  // read; then some calls do nothing, so that all measurements together take at
  // most a twentieth of the time.
  void Look(const sandbox::Jail& jail, Instant now);

  // What was too much, as last measured.
  const std::optional<policy::Excess>& excess() const { return excess_; }

 private:
  Instant next_ = 0;
  std::optional<policy::Excess> excess_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_UNCHARGED_WATCH_H_
