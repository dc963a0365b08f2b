#include "server/daemon/uid_range.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "sandbox/os/files.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

// The user namespace stands for all processes for which ids mean the same: the
// kernel has one inode for it, whichever mount or process it is opened through.
// What is locked are bytes of that file, one for each id, although it has no
// bytes.
constexpr char kUserNamespace[] = "/proc/self/ns/user";

// Only a record lock tells who holds it. The file can't be opened for writing,
// so everybody takes read locks, and sees others by asking whether a write lock
// were possible.
struct flock Lock(int16_t type, const UidRange& range) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = range.first;
  lock.l_len = static_cast<off_t>(range.last) - range.first + 1;
  return lock;
}

absl::Status Failed(const char* what) {
  return absl::InternalError(
      absl::StrCat(what, " ", kUserNamespace, ": ", ErrorText(errno)));
}

std::string HolderName(pid_t pid) {
  if (pid <= 0) return "a process of another container or pid namespace";
  const std::string path = absl::StrCat("/proc/", pid, "/comm");
  const absl::StatusOr<std::string> name =
      os::ReadSmallFile(AT_FDCWD, path.c_str());
  if (!name.ok()) return absl::StrCat("pid ", pid);
  return absl::StrCat("pid ", pid, ", ",
                      Quoted(std::string(absl::StripSuffix(*name, "\n")), 64));
}

absl::Status CheckThrough(const os::Fd& file, const UidRange& range) {
  struct flock found = Lock(F_WRLCK, range);
  if (::fcntl(file.get(), F_GETLK, &found) != 0) return Failed("can't look at");
  if (found.l_type == F_UNLCK) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("uid_base: of the ids ", range.first, " to ", range.last,
                   " another sandglassd (", HolderName(found.l_pid), ") has ",
                   found.l_start, " to ", found.l_start + found.l_len - 1,
                   "; stop it, or give this one another uid_base, for example ",
                   found.l_start + 2 * found.l_len));
}

absl::StatusOr<os::Fd> Open() {
  os::Fd file(::open(kUserNamespace, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return Failed("can't open");
  return file;
}

}  // namespace

absl::StatusOr<os::Fd> HoldUidRange(const UidRange& range) {
  absl::StatusOr<os::Fd> file = Open();
  if (!file.ok()) return file;
  // ORDER: lock before looking for others, so that of two that come at the same
  // time, at least one sees the other.
  struct flock lock = Lock(F_RDLCK, range);
  if (::fcntl(file->get(), F_SETLK, &lock) != 0) return Failed("can't lock");
  if (absl::Status alone = CheckThrough(*file, range); !alone.ok()) {
    return alone;
  }
  return file;
}

absl::Status CheckUidRange(const UidRange& range) {
  const absl::StatusOr<os::Fd> file = Open();
  return file.ok() ? CheckThrough(*file, range) : file.status();
}

}  // namespace sandglass::server
