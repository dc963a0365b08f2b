#ifndef SANDGLASS_SERVER_BASE_STATE_DIR_H_
#define SANDGLASS_SERVER_BASE_STATE_DIR_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// Makes a directory and its parents, each with mode 0755. OK when it is already
// there.
absl::Status MakeDirectories(const std::string& path);

// FAILED_PRECONDITION when somebody other than root, `owner` and the user of
// this process could replace what is in `directory`. That is so when the
// directory or the one above it belongs to somebody else, or when everybody may
// write to it (unless it is sticky like /tmp, where nobody can touch another's
// files). A directory that isn't there passes. `setting` is the configuration
// key that names the directory, for the message.
absl::Status CheckNobodyElses(const std::string& setting,
                              const std::string& directory, uid_t owner);

// FAILED_PRECONDITION when a directory doesn't belong to `owner` and holds
// something that doesn't belong to `owner` either: taking the directory over
// would lock others out of what is theirs. A directory that isn't there passes.
absl::Status CheckHoldsNothingElse(const std::string& setting,
                                   const std::string& directory, uid_t owner);

// Makes a directory, if it isn't there, and gives it to `owner` and `group`
// with this mode. FAILED_PRECONDITION for the reasons of CheckNobodyElses and,
// with kItsOwn, also for those of CheckHoldsNothingElse; the message names
// `setting`, the configuration key that the path comes from.
enum class Holds { kAnything, kItsOwn };
absl::StatusOr<os::Fd> AdoptDirectory(const std::string& directory, uid_t owner,
                                      gid_t group, mode_t mode,
                                      const std::string& setting = "cache_dir",
                                      Holds holds = Holds::kAnything);

// The path of the file that LockStateDir locks.
std::string StateLock(const std::string& state_dir);

// Makes sure that a state directory has only one daemon: takes a lock that ends
// when the descriptor is closed, and so with the process (children that exec
// don't inherit it). FAILED_PRECONDITION when another daemon has it.
absl::StatusOr<os::Fd> LockStateDir(const std::string& state_dir);

// Says in words for people who besides root may write into a directory; empty
// when nobody may.
std::string OtherWriters(const std::string& directory);

// The name that marks what this daemon owns on the machine, for example its
// cgroups: "sandglass-" and 16 hexadecimal digits, derived from the directory's
// device and inode. The next daemon with the same directory gets the same name.
// No other daemon that lives on the host does: neither one whose directory has
// the same path elsewhere, in a container or a mount namespace, nor one with a
// copy of the directory. For a directory that isn't there the name is derived
// from its path.
std::string InstanceName(const std::string& state_dir);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_STATE_DIR_H_
