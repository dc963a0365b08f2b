#ifndef SANDGLASS_SANDBOX_OS_LANDLOCK_H_
#define SANDGLASS_SANDBOX_OS_LANDLOCK_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "sandbox/os/fd.h"

namespace sandglass::os {

// Landlock (landlock(7)); each ABI number adds rights:
// 1 file system (5.13), 2 REFER (5.19), 3 TRUNCATE (6.2), 4 TCP (6.7),
// 5 IOCTL_DEV (6.10), 6 scopes (6.12), 7 audit flags (6.15).

// The kernel's ABI number; 0 when Landlock is absent or switched off.
int LandlockAbi();

enum class LandlockAccess {
  kList,      // list the directory itself only
  kRead,      // read files and list directories
  kReadExec,  // and execute
  kDevice,    // read and write, ioctl
  kFull,      // everything but making device nodes
};

struct LandlockPath {
  const char* path;
  LandlockAccess access;
};

enum class LandlockScopes {
  kOwn,   // abstract unix sockets and signals reach its own processes only
  kNone,  // no bounds on these
};

// A ruleset that handles every right that this ABI knows and allows the given
// paths; with scopes from ABI 6. Empty Fd with errno on failure; a path that
// isn't there is skipped.
Fd MakeLandlockRuleset(int abi, absl::Span<const LandlockPath> paths,
                       LandlockScopes scopes = LandlockScopes::kOwn);

// A ruleset under which nothing is executed, and files are written, made,
// renamed and removed in these directories only, and written to where a path is
// no directory. To read, and all but files, stays as it is. As above on failure
// and of paths that aren't there.
Fd MakeLandlockWriteRuleset(int abi, absl::Span<const std::string> paths);

// landlock_restrict_self(2). Needs no_new_privs.
bool LandlockRestrictSelf(const Fd& ruleset);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_LANDLOCK_H_
