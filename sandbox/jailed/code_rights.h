#ifndef SANDGLASS_SANDBOX_JAILED_CODE_RIGHTS_H_
#define SANDGLASS_SANDBOX_JAILED_CODE_RIGHTS_H_

#include <sys/fsuid.h>

#include "sandbox/wire/jail_layout.h"

namespace sandglass::sandbox {

// While it lives, init opens and makes files with the code's rights and as its
// owner (setfsuid(2)). Signals and ptrace don't look at the file system uid, so
// the program gains nothing over init meanwhile.
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
