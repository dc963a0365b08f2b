#ifndef SANDGLASS_SANDBOX_OS_LANDLOCK_H_
#define SANDGLASS_SANDBOX_OS_LANDLOCK_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "sandbox/os/fd.h"

namespace sandglass::os {

// Landlock (landlock(7)). Each ABI number adds rights, here with the Linux
// version that brought it: 1 file system (5.13), 2 REFER (5.19), 3 TRUNCATE
// (6.2), 4 TCP (6.7), 5 IOCTL_DEV (6.10), 6 scopes (6.12), 7 audit flags
// (6.15).

// The kernel's ABI number; 0 when Landlock is absent or switched off.
int LandlockAbi();

enum class LandlockAccess {
  kList,      // list this directory itself, nothing below it
  kRead,      // read files and list directories
  kReadExec,  // as kRead, and execute files
  kDevice,    // read and write, ioctl
  kFull,      // everything but making device nodes
};

struct LandlockPath {
  const char* path;
  LandlockAccess access;
};

enum class LandlockScopes {
  kOwn,   // abstract unix sockets and signals reach its own processes only
  kNone,  // abstract unix sockets and signals aren't limited
};

// Makes a ruleset that governs every right this ABI knows and allows only the
// given paths, each with its access. From ABI 6 on `scopes` applies too. Skips
// a path that doesn't exist. Returns an empty Fd and sets errno on failure.
Fd MakeLandlockRuleset(int abi, absl::Span<const LandlockPath> paths,
                       LandlockScopes scopes = LandlockScopes::kOwn);

// Makes a ruleset under which nothing can be executed and files can be written,
// made, renamed and removed only in the given directories; a given path that
// isn't a directory can only be written to. Reading isn't limited, nor is
// anything other than files. Failures and paths that don't exist are treated as
// above.
Fd MakeLandlockWriteRuleset(int abi, absl::Span<const std::string> paths);

// Makes a ruleset for a process that only fills one directory with files: below
// `directory` it may make, write, link and remove files, directories and
// symbolic links, and list directories; nothing can be read or executed
// anywhere, and no TCP port can be bound or connected to, as far as this ABI
// knows these rights. Before ABI 2 no hard link leads into another directory.
// Returns an empty Fd and sets errno on failure.
Fd MakeLandlockFillRuleset(int abi, const Fd& directory);

// Calls landlock_restrict_self(2). Needs no_new_privs.
bool LandlockRestrictSelf(const Fd& ruleset);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_LANDLOCK_H_
