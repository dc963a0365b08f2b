#ifndef SANDGLASS_CLIENT_SERVICE_LOCAL_DAEMON_H_
#define SANDGLASS_CLIENT_SERVICE_LOCAL_DAEMON_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/base/unique_fd.h"

namespace sandglass::client {

// Where a daemon that `sandglass up` starts is.
struct DaemonPlaces {
  std::string state_dir;
  std::string address;  // of its socket, which is in state_dir
  // What `up` keeps beside it: who the daemon is, its log. The daemon's own
  // directory may have nothing of others in it.
  std::string up_dir;
  std::string log;
};

// The places of this user's daemon, or of the one whose directory is
// `state_dir`, unless that is empty. INVALID_ARGUMENT when it isn't absolute;
// FAILED_PRECONDITION when this user has neither XDG_RUNTIME_DIR nor HOME.
absl::StatusOr<DaemonPlaces> FindPlaces(const std::string& state_dir);

// Which programs start a daemon. Both are absolute paths.
struct DaemonPrograms {
  std::string daemon;    // sandglassd
  std::string rootless;  // the script that starts it for ordinary users
};

// Finds them beside this program, as a build, a bundle and packages have them.
// NOT_FOUND when there is no daemon, with what to do.
absl::StatusOr<DaemonPrograms> FindPrograms();

// A process, which another that gets its number later isn't taken for.
class DaemonProcess {
 public:
  // FAILED_PRECONDITION when there is no such process (any more).
  static absl::StatusOr<DaemonProcess> Open(pid_t pid);

  // Finds the one that `up` wrote down. NOT_FOUND when it wrote down none, or
  // that has ended.
  static absl::StatusOr<DaemonProcess> Recorded(const DaemonPlaces& places);
  // Writes it down for later calls of Recorded.
  absl::Status Record(const DaemonPlaces& places) const;

  pid_t pid() const { return pid_; }
  absl::Status Signal(int signal) const;
  // Waits for its end. False when `timeout` passed first.
  bool WaitForEnd(absl::Duration timeout) const;

 private:
  DaemonProcess(pid_t pid, uint64_t start) : pid_(pid), start_(start) {}

  pid_t pid_;
  uint64_t start_;  // in clock ticks since boot: tells it from a later one
};

// A process that waits to be told to go, and ends when this is gone before: so
// nothing is started of which nobody took down who it is.
class HeldProcess {
 public:
  HeldProcess(pid_t pid, UniqueFd gate) : pid_(pid), gate_(std::move(gate)) {}

  pid_t pid() const { return pid_; }
  void Go();

 private:
  pid_t pid_;
  UniqueFd gate_;
};

// Makes a process in a session of its own, with no standard input, and output
// and errors into `log`, that will be the program. `words` begin with the
// program's path; `environment` is one more "NAME=value", unless it is empty.
absl::StatusOr<HeldProcess> StartDetached(const std::vector<std::string>& words,
                                          const std::string& environment,
                                          const std::string& log);

// Ends the daemon, with the runs that go on, then removes what it left: its
// control groups, its socket, and what `up` keeps. DEADLINE_EXCEEDED when it is
// still there after all.
absl::Status EndDaemon(const DaemonProcess& process,
                       const DaemonPlaces& places);

// Removes what a daemon that has ended left there.
absl::Status RemoveRemains(const DaemonPlaces& places);

// The last lines of a text file; empty when it can't be read.
std::string LastLines(const std::string& path, uint32_t lines);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SERVICE_LOCAL_DAEMON_H_
