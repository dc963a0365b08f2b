#include "sandbox/jail/untrusted_fds.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <iterator>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/os/files.h"
#include "sandbox/os/terminal.h"

namespace sandglass::sandbox {
namespace {

using FsType = decltype(statfs::f_type);

// PIPEFS_MAGIC and CGROUP2_SUPER_MAGIC of linux/magic.h. A FIFO in a file
// system doesn't have the former.
constexpr FsType kPipeFs = 0x50495045;
constexpr FsType kCgroupFs = 0x63677270;

bool IsOf(const os::Fd& fd, FsType type) {
  struct statfs info = {};
  return ::fstatfs(fd.get(), &info) == 0 && info.f_type == type;
}

bool IsOpenFor(const os::Fd& fd, int access) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  return flags >= 0 && (flags & (O_ACCMODE | O_PATH)) == access;
}

bool MakeNonBlocking(const os::Fd& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0) return false;
  return (flags & O_NONBLOCK) != 0 ||
         ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) == 0;
}

bool HasOption(const os::Fd& fd, int option, int wanted) {
  int value = -1;
  socklen_t size = sizeof(value);
  return ::getsockopt(fd.get(), SOL_SOCKET, option, &value, &size) == 0 &&
         value == wanted;
}

// Descriptors for which no thread could be started. Threads may use this until
// the process is gone.
struct Waiting {
  absl::Mutex mutex;
  std::vector<os::Fd> fds ABSL_GUARDED_BY(mutex);
};

Waiting& AllWaiting() {
  static Waiting* const all = new Waiting;
  return *all;
}

}  // namespace

void CloseAside(std::vector<os::Fd> fds) {
  if (fds.empty()) return;
  // Shared, so that a failure to start the thread doesn't close them here.
  const auto own = std::make_shared<std::vector<os::Fd>>(std::move(fds));
  Waiting& waiting = AllWaiting();
  try {
    std::thread([own, &waiting] {
      std::vector<os::Fd> others;
      {
        const absl::MutexLock lock(&waiting.mutex);
        others.swap(waiting.fds);
      }
      own->clear();
    }).detach();
  } catch (const std::system_error&) {
    // The host has no room for another thread: the next thread closes these,
    // too.
    const absl::MutexLock lock(&waiting.mutex);
    std::move(own->begin(), own->end(), std::back_inserter(waiting.fds));
  }
}

bool IsPipeEnd(const os::Fd& fd, int access) {
  return IsOpenFor(fd, access) && IsOf(fd, kPipeFs) && MakeNonBlocking(fd);
}

bool IsFileOfTmpfs(const os::Fd& fd) {
  struct stat info = {};
  return ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) &&
         os::IsTmpfs(fd.get());
}

bool IsGroupFile(const os::Fd& fd, absl::string_view name, int access) {
  // A directory can have any name, so the name alone proves nothing.
  struct stat info = {};
  if (!IsOpenFor(fd, access) || !IsOf(fd, kCgroupFs) ||
      ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return false;
  }
  // The path as the kernel knows it. The group may be gone already.
  char path[4096];
  const ssize_t size = ::readlink(
      absl::StrCat("/proc/self/fd/", fd.get()).c_str(), path, sizeof(path));
  if (size <= 0) return false;
  absl::string_view text(path, static_cast<size_t>(size));
  (void)absl::ConsumeSuffix(&text, " (deleted)");
  return absl::EndsWith(text, absl::StrCat("/", name));
}

bool IsTerminal(const os::Fd& fd) {
  return IsOpenFor(fd, O_RDWR) && os::IsTerminalMaster(fd.get()) &&
         MakeNonBlocking(fd);
}

bool IsUnixSeqPacket(const os::Fd& fd) {
  return HasOption(fd, SO_DOMAIN, AF_UNIX) &&
         HasOption(fd, SO_TYPE, SOCK_SEQPACKET) && MakeNonBlocking(fd);
}

}  // namespace sandglass::sandbox
