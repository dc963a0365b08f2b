#include "sandbox/file_agent/file_paths.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/os/files.h"
#include "sandbox/os/open_beneath.h"
#include "sandbox/os/random.h"

namespace sandglass::sandbox {
namespace {

constexpr FileResult kInvalidPath = {FileCode::kInvalidPath, 0};

FileResult LastError() { return ResultOfErrno(errno); }

// Checks an opened file before it is read.
FileResult CheckRegular(const os::Fd& file, struct stat& info) {
  if (::fstat(file.get(), &info) != 0) return LastError();
  if (S_ISDIR(info.st_mode)) return {FileCode::kIsDirectory, EISDIR};
  if (S_ISLNK(info.st_mode)) return {FileCode::kNotRegular, ELOOP};
  if (!S_ISREG(info.st_mode) || os::IsKernelFileSystem(file.get())) {
    return {FileCode::kNotRegular, 0};
  }
  return {};
}

// Opens a file without blocking. A file that an edit is just writing can't be
// opened at that moment (see file_edit.cc), so this waits for it; it waits a
// tenth of a second at most, in case the sandboxed code itself holds such a
// lease.
template <typename Open>
os::Fd OpenPatiently(const Open& open) {
  constexpr int kTries = 50;
  constexpr int kPauseMillis = 2;
  os::Fd file = open();
  for (int i = 0; i < kTries && !file.valid() && errno == EWOULDBLOCK; ++i) {
    ::poll(nullptr, 0, kPauseMillis);
    file = open();
  }
  return file;
}

// Makes the missing parts of an absolute path, one name after another.
FileResult MakeDirectories(const os::Fd& root, const std::string& path,
                           os::Fd& directory) {
  constexpr int kFlags = O_PATH | O_DIRECTORY;
  os::Fd at = os::OpenInRoot(root, "/", kFlags);
  if (!at.valid()) return LastError();
  for (size_t start = 0; start < path.size();) {
    size_t end = path.find('/', start);
    if (end == std::string::npos) end = path.size();
    const std::string name = path.substr(start, end - start);
    start = end + 1;
    if (name.empty() || name == ".") continue;
    const std::string so_far = path.substr(0, end);
    os::Fd next = os::OpenInRoot(root, so_far.c_str(), kFlags);
    if (!next.valid() && errno == ENOENT) {
      if (::mkdirat(at.get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
        return LastError();
      }
      next = os::OpenInRoot(root, so_far.c_str(), kFlags);
    }
    if (!next.valid()) return LastError();
    at = std::move(next);
  }
  directory = std::move(at);
  return {};
}

}  // namespace

FileResult CheckPath(absl::string_view path) {
  if (path.empty() || path[0] != '/') return kInvalidPath;
  if (path.size() > PATH_MAX - 1) return {FileCode::kInvalidPath, ENAMETOOLONG};
  size_t name = 0;
  for (const char c : path) {
    if (c == '\0') return kInvalidPath;
    name = c == '/' ? 0 : name + 1;
    if (name > NAME_MAX) return {FileCode::kInvalidPath, ENAMETOOLONG};
  }
  return {};
}

FileResult FindDirectory(const os::Fd& root, const std::string& path, bool make,
                         os::Fd& directory) {
  if (FileResult result = CheckPath(path); !result.ok()) return result;
  directory = os::OpenInRoot(root, path.c_str(), O_PATH | O_DIRECTORY);
  if (directory.valid()) return {};
  if (!make || errno != ENOENT) return LastError();
  return MakeDirectories(root, path, directory);
}

FileResult OpenDirectory(const os::Fd& root, const std::string& path,
                         os::Fd& directory) {
  if (FileResult result = CheckPath(path); !result.ok()) return result;
  directory = os::OpenInRoot(root, path.c_str(), O_RDONLY | O_DIRECTORY);
  return directory.valid() ? FileResult{} : LastError();
}

FileResult FindPlace(const os::Fd& root, const std::string& path,
                     bool make_parents, Place& place) {
  if (FileResult result = CheckPath(path); !result.ok()) return result;
  place.path = path;
  const size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) {
    place.name.assign(1, '.');
    return FindDirectory(root, "/", false, place.directory);
  }
  const size_t slash = path.rfind('/', end);
  place.name = path.substr(slash + 1, end - slash);
  return FindDirectory(root, path.substr(0, slash + 1), make_parents,
                       place.directory);
}

FileResult FindTarget(const os::Fd& root, std::string path, bool make_parents,
                      Place& place, std::optional<struct stat>& old) {
  constexpr int kMaxLinks = 40;
  for (int links = 0; links <= kMaxLinks; ++links) {
    if (FileResult result = FindPlace(root, path, make_parents, place);
        !result.ok()) {
      return result;
    }
    if (path.back() == '/' || place.name == "." || place.name == "..") {
      return {FileCode::kIsDirectory, EISDIR};
    }
    struct stat info = {};
    if (::fstatat(place.directory.get(), place.name.c_str(), &info,
                  AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) return LastError();
      old.reset();
      return {};
    }
    if (!S_ISLNK(info.st_mode)) {
      old = info;
      return {};
    }
    const std::string link =
        ReadLink(place.directory.get(), place.name.c_str());
    if (link.empty()) return {FileCode::kBusyChanged, 0};
    path = link[0] == '/'
               ? link
               : absl::StrCat(path.substr(0, path.rfind('/') + 1), link);
  }
  return {FileCode::kInvalidPath, ELOOP};
}

FileResult OpenRegular(const os::Fd& root, const std::string& path,
                       os::Fd& file, struct stat& info) {
  if (FileResult result = CheckPath(path); !result.ok()) return result;
  // Examined before it is opened, because opening a device or a FIFO can have
  // effects.
  const os::Fd seen = os::OpenInRoot(root, path.c_str(), O_PATH);
  if (!seen.valid()) return LastError();
  if (FileResult result = CheckRegular(seen, info); !result.ok()) return result;
  file = OpenPatiently([&] {
    return os::OpenInRoot(root, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  });
  if (!file.valid()) return LastError();
  return CheckRegular(file, info);
}

FileResult OpenRegularAt(int directory, const char* name, os::Fd& file,
                         struct stat& info) {
  return OpenRegularFor(O_RDONLY, directory, name, file, info);
}

FileResult OpenRegularFor(int flags, int directory, const char* name,
                          os::Fd& file, struct stat& info) {
  const os::Fd seen(::openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!seen.valid()) return LastError();
  if (FileResult result = CheckRegular(seen, info); !result.ok()) return result;
  file = OpenPatiently([&] {
    return os::Fd(
        ::openat(directory, name,
                 flags | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
  });
  if (!file.valid()) return LastError();
  return CheckRegular(file, info);
}

bool SameFile(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

int64_t NanosOf(const struct timespec& time) {
  constexpr int64_t kSecond = 1'000'000'000;
  // Code can give a file any time; one that doesn't fit becomes the furthest
  // that does.
  constexpr int64_t kMax = INT64_MAX / kSecond - 1;
  const int64_t seconds = time.tv_sec;
  if (seconds > kMax) return INT64_MAX;
  if (seconds < -kMax) return INT64_MIN;
  return seconds * kSecond + time.tv_nsec;
}

void FillInfo(const struct stat& info, internal::FileInfo& told) {
  told.set_type(S_ISREG(info.st_mode)   ? internal::FILE_TYPE_REGULAR
                : S_ISDIR(info.st_mode) ? internal::FILE_TYPE_DIRECTORY
                : S_ISLNK(info.st_mode) ? internal::FILE_TYPE_SYMLINK
                                        : internal::FILE_TYPE_OTHER);
  told.set_size(static_cast<uint64_t>(info.st_size));
  told.set_mode(info.st_mode & 07777);
  told.set_mtime_s(info.st_mtim.tv_sec);
  told.set_mtime_part_ns(static_cast<uint32_t>(info.st_mtim.tv_nsec));
}

std::string TemporaryName() {
  uint64_t number = 0;
  if (!os::FillRandom(&number, sizeof(number))) return "";
  return absl::StrCat(".", absl::Hex(number, absl::kZeroPad16), ".part");
}

std::string ReadLink(int directory, const char* name) {
  char target[PATH_MAX];
  const ssize_t size = ::readlinkat(directory, name, target, sizeof(target));
  return size <= 0 ? std::string()
                   : std::string(target, static_cast<size_t>(size));
}

}  // namespace sandglass::sandbox
