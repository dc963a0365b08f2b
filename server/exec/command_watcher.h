#ifndef SANDGLASS_SERVER_EXEC_COMMAND_WATCHER_H_
#define SANDGLASS_SERVER_EXEC_COMMAND_WATCHER_H_

#include <string>

#include "sandglass/v1/exec.pb.h"
#include "server/identity/identity.h"

namespace sandglass::server {

// Hears what becomes of all commands, on the thread of their loop, so it must
// never block.
class CommandWatcher {
 public:
  virtual ~CommandWatcher() = default;
  // A command has ended. `owner` is that of its session; `language` is an id,
  // empty for a session without one.
  virtual void RecordCommand(const Identity& owner, const std::string& language,
                             const v1::ExecEnd& end) = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EXEC_COMMAND_WATCHER_H_
