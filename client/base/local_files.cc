#include "client/base/local_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "client/base/file_io.h"

namespace sandglass::client {
namespace {

constexpr mode_t kModeMask = 0755;
// Temporary files of killed processes beside which one more can be made.
constexpr int kMaxLeftBehind = 1000;

absl::Status AlreadyThere() {
  return absl::AlreadyExistsError("it is there already");
}

absl::Status CheckTarget(int directory, const std::string& name,
                         ExistingFile existing) {
  struct stat info = {};
  if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("cannot look at '", name, "'"));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", name, "' is there already and is ",
        S_ISLNK(info.st_mode) ? "a symbolic link" : "not a regular file",
        "; remove it or choose another place"));
  }
  if (existing == ExistingFile::kReplace) return absl::OkStatus();
  return AlreadyThere();
}

// Gives a file its name. With kKeep, a file that came after the check stays,
// also on file systems (NFS among them) that can't rename in this way.
bool Rename(int directory, const std::string& from, const std::string& to,
            ExistingFile existing) {
  if (existing == ExistingFile::kReplace) {
    return renameat(directory, from.c_str(), directory, to.c_str()) == 0;
  }
  if (renameat2(directory, from.c_str(), directory, to.c_str(),
                RENAME_NOREPLACE) == 0) {
    return true;
  }
  if (errno != EINVAL) return false;
  if (linkat(directory, from.c_str(), directory, to.c_str(), 0) == 0) {
    unlinkat(directory, from.c_str(), 0);
    return true;
  }
  if (errno == EEXIST) return false;
  // Hard links aren't possible either: check as well as can be done.
  struct stat info = {};
  if (fstatat(directory, to.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return false;
  }
  return errno == ENOENT &&
         renameat(directory, from.c_str(), directory, to.c_str()) == 0;
}

}  // namespace

uint32_t LocalMode(uint32_t mode, uint32_t min) {
  return (mode & kModeMask) | min;
}

// O_NOFOLLOW on each single component, none of which is "..", keeps a walk
// below its start.
absl::StatusOr<UniqueFd> EnterDirectory(int parent, const std::string& name,
                                        uint32_t mode) {
  if (mkdirat(parent, name.c_str(), mode) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make '", name, "'"));
  }
  UniqueFd fd(openat(parent, name.c_str(),
                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) {
    // A symbolic link gives ENOTDIR here (O_DIRECTORY with O_NOFOLLOW).
    return absl::ErrnoToStatus(
        errno, absl::StrCat("'", name, "' is not a directory to write in",
                            " (links are not followed)"));
  }
  return fd;
}

absl::StatusOr<NewFile> NewFile::Create(int directory, std::string name,
                                        ExistingFile existing) {
  absl::Status checked = CheckTarget(directory, name, existing);
  if (!checked.ok()) return checked;
  std::string temporary;
  UniqueFd fd;
  // A process of the same number that was killed may have left its own: in a
  // container the numbers are the same each time.
  for (int attempt = 0; attempt < kMaxLeftBehind && !fd.valid(); ++attempt) {
    temporary =
        absl::StrCat(".sandglass-fetch-", getpid(), "-", attempt, ".tmp");
    fd = UniqueFd(openat(directory, temporary.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         0600));
    if (errno != EEXIST) break;
  }
  if (!fd.valid()) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot make '", temporary, "' beside it"));
  }
  return NewFile(directory, std::move(name), std::move(temporary),
                 std::move(fd), existing);
}

NewFile::~NewFile() {
  if (fd_.valid()) unlinkat(directory_, temporary_.c_str(), 0);
}

absl::Status NewFile::Write(absl::string_view bytes) {
  const int error = WriteAll(fd_.get(), bytes);
  return error == 0 ? absl::OkStatus()
                    : absl::ErrnoToStatus(error, "cannot write it");
}

absl::Status NewFile::Sync() {
  if (fsync(fd_.get()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "cannot write it to the disk");
}

absl::Status NewFile::Place(uint32_t mode) {
  // umask(2) can only be read by setting it; only one thread does this at a
  // time.
  const mode_t mask = umask(0);
  umask(mask);
  // The owner shall always be able to read and replace what was fetched.
  if (fchmod(fd_.get(), LocalMode(mode, 0600) & ~mask) != 0) {
    return absl::ErrnoToStatus(errno, "cannot set its mode");
  }
  // Replaces a link that somebody makes meanwhile, and never follows it.
  if (!Rename(directory_, temporary_, name_, existing_)) {
    if (errno == EEXIST) return AlreadyThere();
    return absl::ErrnoToStatus(errno, "cannot put it in place");
  }
  fd_ = UniqueFd();
  return absl::OkStatus();
}

}  // namespace sandglass::client
