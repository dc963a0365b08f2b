#ifndef SANDGLASS_SERVER_BASE_STATE_DIR_H_
#define SANDGLASS_SERVER_BASE_STATE_DIR_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// Makes a directory and its parents, each 0755; fine when it is there.
absl::Status MakeDirectories(const std::string& path);

// FAILED_PRECONDITION when somebody who is neither root, nor `owner`, nor
// whoever calls could put something of theirs in the place of what is in
// `directory`: it or the one above belongs to them, or everybody may write to
// it (but as to /tmp, where nobody touches another's). One that isn't there is
// nobody's. `setting` is what names it, for the message.
absl::Status CheckNobodyElses(const std::string& setting,
                              const std::string& directory, uid_t owner);

// FAILED_PRECONDITION when a directory isn't `owner`'s and has something in it
// that isn't either: whoever takes it over would lock others out of what is
// theirs. One that isn't there is nobody's.
absl::Status CheckHoldsNothingElse(const std::string& setting,
                                   const std::string& directory, uid_t owner);

// Makes a directory, if it isn't there, and gives it to `owner` and `group`
// with this mode. FAILED_PRECONDITION as CheckNobodyElses, with kItsOwn also as
// CheckHoldsNothingElse; the message names the setting it comes from.
enum class Holds { kAnything, kItsOwn };
absl::StatusOr<os::Fd> TakeOverDirectory(
    const std::string& directory, uid_t owner, gid_t group, mode_t mode,
    const std::string& setting = "cache_dir", Holds holds = Holds::kAnything);

// The file that LockStateDir locks.
std::string StateLock(const std::string& state_dir);

// One daemon per state directory: takes a lock that ends with the descriptor
// (and so with the process; children that exec don't inherit it).
// FAILED_PRECONDITION when another daemon has it.
absl::StatusOr<os::Fd> LockStateDir(const std::string& state_dir);

// Who besides root may write into a directory, for people; empty: nobody.
std::string OtherWriters(const std::string& directory);

// Names what this daemon owns on the machine, for example its cgroups:
// "sandglass-" and 16 hexadecimal digits from the directory's device and inode.
// The next daemon with the same directory has the same name, and no other that
// lives on the host: neither one whose directory has the same path elsewhere,
// in a container or a mount namespace, nor one with a copy of the directory.
// One that isn't there is named after its path.
std::string InstanceName(const std::string& state_dir);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_STATE_DIR_H_
