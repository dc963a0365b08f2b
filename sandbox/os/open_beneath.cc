#include "sandbox/os/open_beneath.h"

#include <fcntl.h>
#include <limits.h>
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

// The path of an open file, as /proc shows it.
std::optional<std::string> PathOf(const Fd& file) {
  const std::string link = "/proc/self/fd/" + std::to_string(file.get());
  char path[PATH_MAX];
  const ssize_t size = ::readlink(link.c_str(), path, sizeof(path));
  if (size <= 0 || size == static_cast<ssize_t>(sizeof(path))) {
    return std::nullopt;
  }
  return std::string(path, static_cast<size_t>(size));
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
  // O_NONBLOCK: otherwise opening a FIFO would wait for a reader.
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
  // A rename anywhere in the system while the kernel resolves ".." makes the
  // call fail with EAGAIN.
  constexpr int kTries = 32;
  Fd file;
  for (int i = 0; i < kTries; ++i) {
    file = Open(root, path, how);
    if (file.valid() || errno != EAGAIN) break;
  }
  return file;
}

std::optional<std::string> RealPathInRoot(const std::string& root,
                                          const std::string& path) {
  const Fd directory(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return std::nullopt;
  const Fd file = OpenInRoot(directory, path.c_str(), O_PATH);
  if (!file.valid()) return std::nullopt;
  const std::optional<std::string> begin = PathOf(directory);
  const std::optional<std::string> full = PathOf(file);
  if (!begin || !full || full->rfind(*begin + "/", 0) != 0) return std::nullopt;
  return full->substr(begin->size());
}

}  // namespace sandglass::os
