#include "server/base/state_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/clock.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

// A directory that mke2fs(8) puts into each new file system.
constexpr char kOfFileSystem[] = "lost+found";
constexpr char kLockName[] = "sandglassd.lock";
// `--check` holds the lock for less than this, to see whether a daemon has it.
constexpr auto kOnlookersHold = std::chrono::milliseconds(200);

// In a user namespace the host's root has no uid of its own; the owner of "/"
// stands for it.
bool IsRoots(const struct stat& info) {
  struct stat top = {};
  return info.st_uid == 0 ||
         (::stat("/", &top) == 0 && info.st_uid == top.st_uid);
}

// FNV-1a, 64 bits. It gives the same result in each release and needn't be
// secret. Hashing keeps jails from seeing any number of the host.
uint64_t Fnv1a(const std::string& text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 1099511628211u;
  }
  return hash;
}

std::string Above(const std::string& directory) {
  return std::filesystem::path(directory).parent_path().string();
}

// Does CheckNobodyElses for one directory whose state is `info`.
absl::Status CheckState(const std::string& setting, const std::string& at,
                        const struct stat& info, uid_t owner) {
  if (!IsRoots(info) && info.st_uid != owner && info.st_uid != ::geteuid()) {
    return absl::FailedPreconditionError(absl::StrCat(
        setting, ": ", at, " belongs to uid ", info.st_uid,
        ", who could take this server's place; give it to root, or name "
        "another"));
  }
  if ((info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(setting, ": everybody may write to ", at,
                     ", and so take this server's place; run chmod o-w ", at,
                     ", or name another"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MakeDirectories(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0755) == 0) {
      // The umask must not change the mode.
      ::chmod(part.c_str(), 0755);
    } else if (errno != EEXIST) {
      const std::string what =
          absl::StrCat("can't make the directory ", Quoted(part, 256), ": ",
                       ErrorText(errno));
      // Other errors may be gone in a moment.
      const bool stays = errno == EROFS || errno == ENOTDIR ||
                         errno == EACCES || errno == EPERM;
      return stays ? absl::FailedPreconditionError(what)
                   : absl::InternalError(what);
    }
    if (slash == std::string::npos) return absl::OkStatus();
  }
}

absl::Status CheckNobodyElses(const std::string& setting,
                              const std::string& directory, uid_t owner) {
  for (const std::string& at : {directory, Above(directory)}) {
    struct stat info = {};
    if (::stat(at.c_str(), &info) != 0) {
      if (errno == ENOENT) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          setting, ": can't look at ", at, ": ", ErrorText(errno)));
    }
    if (absl::Status safe = CheckState(setting, at, info, owner); !safe.ok()) {
      return safe;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckHoldsNothingElse(const std::string& setting,
                                   const std::string& directory, uid_t owner) {
  struct stat info = {};
  if (::stat(directory.c_str(), &info) != 0 || info.st_uid == owner) {
    return absl::OkStatus();
  }
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, error)) {
    if (::lstat(entry.path().c_str(), &info) != 0 || info.st_uid == owner ||
        entry.path().filename() == kOfFileSystem) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        setting, ": ", directory, " has what isn't this server's (",
        Quoted(entry.path().filename().string(), 64),
        "), and would be for it alone; name a directory of its own, for "
        "example ",
        directory, "/sandglass"));
  }
  return absl::OkStatus();
}

absl::StatusOr<os::Fd> AdoptDirectory(const std::string& directory, uid_t owner,
                                      gid_t group, mode_t mode,
                                      const std::string& setting, Holds holds) {
  if (absl::Status made = MakeDirectories(directory); !made.ok()) return made;
  const auto failure = [](absl::string_view what, const std::string& path) {
    return absl::InternalError(
        absl::StrCat("can't ", what, " ", path, ": ", ErrorText(errno)));
  };
  os::Fd fd(::open(directory.c_str(),
                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  // Look at the directory that was opened; the path may lead elsewhere by now.
  struct stat info = {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
    return failure("open", directory);
  }
  absl::Status safe = CheckState(setting, directory, info, owner);
  if (safe.ok()) safe = CheckNobodyElses(setting, directory, owner);
  if (safe.ok() && holds == Holds::kItsOwn) {
    safe = CheckHoldsNothingElse(setting, directory, owner);
  }
  if (!safe.ok()) return safe;
  if (::fchown(fd.get(), owner, group) != 0 || ::fchmod(fd.get(), mode) != 0) {
    return failure("take over", directory);
  }
  return fd;
}

std::string StateLock(const std::string& state_dir) {
  return absl::StrCat(state_dir, "/", kLockName);
}

absl::StatusOr<os::Fd> LockStateDir(const std::string& state_dir) {
  const std::string path = StateLock(state_dir);
  os::Fd file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) {
    return absl::InternalError(
        absl::StrCat("can't open ", Quoted(path, 256), ": ", ErrorText(errno)));
  }
  const MonotonicTime end = Now() + kOnlookersHold;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return absl::InternalError(absl::StrCat("can't lock ", Quoted(path, 256),
                                              ": ", ErrorText(errno)));
    }
    if (Now() >= end) {
      return absl::FailedPreconditionError(
          absl::StrCat("another sandglassd uses the state directory ",
                       Quoted(state_dir, 256),
                       "; stop it, or give this one another --state-dir"));
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  return file;
}

std::string OtherWriters(const std::string& directory) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) return "";
  if (!IsRoots(info)) {
    return absl::StrCat("its owner, uid ", info.st_uid);
  }
  if ((info.st_mode & S_IWOTH) != 0) return "everybody";
  if ((info.st_mode & S_IWGRP) != 0 && info.st_gid != 0) {
    return absl::StrCat("its group, gid ", info.st_gid);
  }
  return "";
}

std::string InstanceName(const std::string& state_dir) {
  struct stat info {};
  const std::string what = ::stat(state_dir.c_str(), &info) == 0
                               ? absl::StrCat(info.st_dev, ":", info.st_ino)
                               : state_dir;
  return absl::StrCat("sandglass-", absl::Hex(Fnv1a(what), absl::kZeroPad16));
}

}  // namespace sandglass::server
