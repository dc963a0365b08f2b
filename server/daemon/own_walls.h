#ifndef SANDGLASS_SERVER_DAEMON_OWN_WALLS_H_
#define SANDGLASS_SERVER_DAEMON_OWN_WALLS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// What a daemon that is taken over can do to the host is what these leave: once
// they are raised this process, and each thread that it makes, executes
// nothing, makes no process, asks only for the system calls of
// MakeServerFilter, and writes, makes and removes files below its own
// directories alone. What is open already stays so, and reading is left to the
// files' modes. Without Landlock in the kernel (5.19) the part about files
// doesn't hold.
class OwnWalls {
 public:
  // `directories` are those of them that are there. It comes before the rights
  // are dropped, since they may lie where only root gets to.
  static absl::StatusOr<OwnWalls> Prepare(
      absl::Span<const std::string> directories);

  // Once. Preconditions: single-threaded; the rights are dropped
  // (no_new_privs).
  absl::Status Raise();

 private:
  explicit OwnWalls(os::Fd ruleset) : ruleset_(std::move(ruleset)) {}

  os::Fd ruleset_;  // not valid without Landlock
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_OWN_WALLS_H_
