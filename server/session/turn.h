#ifndef SANDGLASS_SERVER_SESSION_TURN_H_
#define SANDGLASS_SERVER_SESSION_TURN_H_

#include <string>

#include "policy/verdict/verdict.h"

namespace sandglass::server {

// What waits in a session until it may run there, or runs there now: all that
// a session has to know of a run. Held by a shared_ptr. Thread-safe.
class Turn {
 public:
  virtual ~Turn() = default;
  // The run's name, for messages.
  virtual const std::string& id() const = 0;
  // The session's context that it wants to run in. Never changes.
  virtual const std::string& context() const = 0;
  // Asks the run to stop, and returns at once. The first reason stays.
  virtual void Cancel(policy::KillReason reason) = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_TURN_H_
