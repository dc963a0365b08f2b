#include "sandbox/os/open_beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace sandglass::os {
namespace {

Fd Open(const Fd& directory, const char* path, const struct open_how& how) {
  return Fd(static_cast<int>(
      ::syscall(SYS_openat2, directory.get(), path, &how, sizeof(how))));
}

}  // namespace

Fd OpenBeneath(const Fd& directory, const char* path, int flags) {
  struct open_how how = {};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS;
  return Open(directory, path, how);
}

Fd CreateBeneath(const Fd& directory, const char* path, mode_t mode) {
  struct open_how how = {};
  // O_NONBLOCK: opening a FIFO would wait for who reads it.
  how.flags =
      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS |
                RESOLVE_NO_SYMLINKS;
  Fd file = Open(directory, path, how);
  struct stat info = {};
  if (file.valid() &&
      (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))) {
    file.reset();
    errno = EEXIST;
  }
  return file;
}

Fd OpenDirectoryNoLinks(const Fd& directory, const char* path) {
  struct open_how how = {};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
  return Open(directory, path, how);
}

Fd OpenInRoot(const Fd& root, const char* path, int flags, mode_t mode) {
  struct open_how how = {};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC;
  how.mode = mode;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // A rename anywhere in the system while ".." is looked up is EAGAIN.
  constexpr int kTries = 32;
  Fd file;
  for (int i = 0; i < kTries; ++i) {
    file = Open(root, path, how);
    if (file.valid() || errno != EAGAIN) break;
  }
  return file;
}

}  // namespace sandglass::os
