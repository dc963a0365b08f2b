#ifndef SANDGLASS_SERVER_DAEMON_OWN_WALLS_H_
#define SANDGLASS_SERVER_DAEMON_OWN_WALLS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// Limits what somebody who takes over the daemon can do to the host. Once the
// walls are raised, this process and each thread that it makes can't execute
// anything or make a process, may only use the system calls of
// MakeServerFilter, and may write, make and remove files only below the
// daemon's own directories. Files that are already open stay so, and reading is
// left to the files' modes. If the kernel lacks Landlock (5.19), the part about
// files doesn't apply.
class OwnWalls {
 public:
  // `directories` are the daemon's own ones that exist. Call it before the
  // rights are dropped, since the directories may be where only root gets to.
  static absl::StatusOr<OwnWalls> Prepare(
      absl::Span<const std::string> directories);

  // Call it once. Preconditions: single-threaded; the rights are dropped
  // (no_new_privs).
  absl::Status Raise();

 private:
  explicit OwnWalls(os::Fd ruleset) : ruleset_(std::move(ruleset)) {}

  os::Fd ruleset_;  // not valid without Landlock
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_OWN_WALLS_H_
