#ifndef SANDGLASS_SERVER_SESSION_TURN_H_
#define SANDGLASS_SERVER_SESSION_TURN_H_

#include <string>

#include "policy/verdict/verdict.h"

namespace sandglass::server {

// Something that waits in a session until it may run there, or that runs there
// now: everything that a session has to know about a run. Held by a shared_ptr.
// Thread-safe.
class Turn {
 public:
  virtual ~Turn() = default;
  // The run's name, for messages.
  virtual const std::string& id() const = 0;
  // The context of the session in which it wants to run. Never changes.
  virtual const std::string& context() const = 0;
  // Asks the run to stop, and returns at once. When several reasons are given,
  // the first one stays.
  virtual void Cancel(policy::KillReason reason) = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_TURN_H_
