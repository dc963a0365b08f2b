#ifndef SANDGLASS_SANDBOX_JAILED_CODE_RIGHTS_H_
#define SANDGLASS_SANDBOX_JAILED_CODE_RIGHTS_H_

#include <sys/fsuid.h>

#include "sandbox/wire/jail_layout.h"

namespace sandglass::sandbox {

// While an object of this class lives, init opens and makes files with the
// rights of the sandboxed code and as its owner (setfsuid(2)). Permission
// checks for signals and ptrace don't use the file system uid, so meanwhile the
// program gains no power over init.
class CodeRights {
 public:
  CodeRights() {
    ::setfsgid(kCodeUid);
    ::setfsuid(kCodeUid);
  }
  ~CodeRights() {
    ::setfsuid(kInitUid);
    ::setfsgid(kInitUid);
  }
  CodeRights(const CodeRights&) = delete;
  CodeRights& operator=(const CodeRights&) = delete;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_CODE_RIGHTS_H_
