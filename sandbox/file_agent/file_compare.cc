#include "sandbox/file_agent/file_compare.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "sandbox/file_agent/file_paths.h"
#include "sandbox/os/io.h"

namespace sandglass::sandbox {
namespace {

constexpr size_t kMaxCompared = 1'000'000;

class Inspection : public TreeVisitor {
 public:
  explicit Inspection(FileTask& task) : task_(task) {}

  FileResult Run(const os::Fd& tree) {
    const WalkEnd end = WalkTree(tree, kMaxCompared, *this);
    if (!result_.ok() || end == WalkEnd::kWhole) return result_;
    return end == WalkEnd::kBound ? FileResult{FileCode::kTooLarge, EFBIG}
                                  : kChanged;
  }

  Next Enter(const TreeEntry& entry) override {
    result_ = task_.Cancelled() ? FileResult{FileCode::kCancelled, 0}
                                : Inspect(entry);
    return result_.ok() ? Next::kGoOn : Next::kStop;
  }
  bool Unreadable(absl::string_view /*path*/, int error) override {
    result_ = ResultOfErrno(error);
    return false;
  }

 private:
  static FileResult Inspect(const TreeEntry& entry) {
    const char* const name = entry.name.c_str();
    if (S_ISLNK(entry.info.st_mode)) return {};
    if (S_ISDIR(entry.info.st_mode)) {
      return CanBeEmptied(entry.directory, name, entry.info)
                 ? FileResult{}
                 : FileResult{FileCode::kPermissionDenied, EACCES};
    }
    os::Fd file;
    struct stat info = {};
    const FileResult result = OpenRegularAt(entry.directory, name, file, info);
    if (result.code == FileCode::kNotFound) return kChanged;
    if (!result.ok()) return result;
    return AcquireLease(file) == Lease::kRefused ? kChanged : FileResult{};
  }

  FileTask& task_;
  FileResult result_;
};

}  // namespace

Lease AcquireLease(const os::Fd& file) {
  if (::fcntl(file.get(), F_SETLEASE, F_RDLCK) == 0) return Lease::kHeld;
  return errno == EAGAIN ? Lease::kRefused : Lease::kNone;
}

bool Awaited(const os::Fd& file) {
  return ::fcntl(file.get(), F_GETLEASE) != F_RDLCK;
}

ssize_t ReadAt(const os::Fd& file, char* data, off_t offset) {
  ssize_t got;
  do {
    got = ::pread(file.get(), data, os::kFileChunkBytes, offset);
  } while (got < 0 && errno == EINTR);
  return got;
}

bool SameFacts(const struct stat& one, const struct stat& other) {
  constexpr mode_t kKept = S_IFMT | 0777;
  if ((one.st_mode & kKept) != (other.st_mode & kKept)) return false;
  return !S_ISREG(one.st_mode) ||
         (one.st_size == other.st_size &&
          one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
          one.st_mtim.tv_nsec == other.st_mtim.tv_nsec);
}

FileResult CompareContent(FileTask& task, const os::Fd& one,
                          const os::Fd& other) {
  const std::unique_ptr<char[]> left(new char[os::kFileChunkBytes]);
  const std::unique_ptr<char[]> right(new char[os::kFileChunkBytes]);
  for (off_t done = 0;;) {
    if (task.Cancelled()) return {FileCode::kCancelled, 0};
    const ssize_t got = ReadAt(one, left.get(), done);
    const ssize_t wanted = ReadAt(other, right.get(), done);
    if (got < 0 || wanted < 0) return ResultOfErrno(errno);
    if (got != wanted ||
        std::memcmp(left.get(), right.get(), static_cast<size_t>(got)) != 0) {
      return kChanged;
    }
    if (got == 0) return {};
    done += got;
  }
}

bool CanBeEmptied(int at, const char* name, const struct stat& info) {
  const int write = info.st_uid == ::geteuid() ? 0 : W_OK;
  return ::faccessat(at, name, R_OK | X_OK | write, AT_EACCESS) == 0;
}

FileResult InspectTree(FileTask& task, const os::Fd& tree) {
  return Inspection(task).Run(tree);
}

FileResult TreeComparison::Run(const os::Fd& tree, os::Fd copy,
                               uint64_t entries) {
  entries_ = 0;
  copy_ = std::move(copy);
  if (!copy_.valid()) return ResultOfErrno(errno);
  const WalkEnd end = WalkTree(tree, kMaxCompared, *this);
  if (!result_.ok()) return result_;
  return end == WalkEnd::kWhole && entries_ == entries ? FileResult{}
                                                       : kChanged;
}

bool TreeComparison::awaited() const {
  for (const auto& [path, file] : leased_) {
    if (Awaited(file)) return true;
  }
  return false;
}

TreeVisitor::Next TreeComparison::Enter(const TreeEntry& entry) {
  result_ = task_.Cancelled() ? FileResult{FileCode::kCancelled, 0}
                              : Compare(entry, std::string(entry.path));
  ++entries_;
  return result_.ok() ? Next::kGoOn : Next::kStop;
}

bool TreeComparison::Unreadable(absl::string_view /*path*/, int /*error*/) {
  result_ = kChanged;
  return false;
}

FileResult TreeComparison::Compare(const TreeEntry& entry,
                                   const std::string& path) {
  struct stat copied = {};
  if (::fstatat(copy_.get(), path.c_str(), &copied, AT_SYMLINK_NOFOLLOW) != 0 ||
      !SameFacts(entry.info, copied)) {
    return kChanged;
  }
  const char* const name = entry.name.c_str();
  if (S_ISDIR(copied.st_mode)) {
    return CanBeEmptied(entry.directory, name, entry.info)
               ? FileResult{}
               : FileResult{FileCode::kPermissionDenied, EACCES};
  }
  if (S_ISLNK(copied.st_mode)) {
    return ReadLink(entry.directory, name) ==
                   ReadLink(copy_.get(), path.c_str())
               ? FileResult{}
               : kChanged;
  }
  struct stat info = {};
  if (const auto kept = leased_.find(path); kept != leased_.end()) {
    return ::fstat(kept->second.get(), &info) == 0 && SameFile(info, entry.info)
               ? FileResult{}
               : kChanged;
  }
  os::Fd file, other;
  FileResult result = OpenRegularAt(entry.directory, name, file, info);
  if (!result.ok()) return kChanged;
  const Lease lease = AcquireLease(file);
  if (lease == Lease::kRefused) return kChanged;
  result = OpenRegularAt(copy_.get(), path.c_str(), other, copied);
  if (result.ok()) result = CompareContent(task_, file, other);
  if (!result.ok() || lease == Lease::kNone) return result;
  if (Awaited(file)) return kChanged;
  // If there are more files than may be open at once, the last ones aren't
  // kept.
  constexpr size_t kMaxLeased = 64;
  if (leased_.size() < kMaxLeased) leased_.emplace(path, std::move(file));
  return {};
}

}  // namespace sandglass::sandbox
