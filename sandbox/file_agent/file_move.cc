// Copies of files and trees, and moves by way of one.
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "policy/text/utf8.h"
#include "sandbox/file_agent/file_compare.h"
#include "sandbox/file_agent/file_ops.h"
#include "sandbox/file_agent/file_paths.h"
#include "sandbox/file_agent/file_trees.h"
#include "sandbox/os/io.h"

namespace sandglass::sandbox {
namespace {

// What is copied or moved.
struct Source {
  Place place;
  struct stat info = {};  // as it was found
  os::Fd opened;          // of a file or directory
  bool leased = false;
};

FileResult FindSource(const os::Fd& root, const std::string& path,
                      Source& source) {
  if (FileResult result = FindPlace(root, path, false, source.place);
      !result.ok()) {
    return result;
  }
  const int at = source.place.directory.get();
  const char* const name = source.place.name.c_str();
  if (::fstatat(at, name, &source.info, AT_SYMLINK_NOFOLLOW) != 0) {
    return ResultOfErrno(errno);
  }
  if (S_ISREG(source.info.st_mode)) {
    return OpenRegularAt(at, name, source.opened, source.info);
  }
  if (S_ISLNK(source.info.st_mode)) return {};
  if (!S_ISDIR(source.info.st_mode)) return {FileCode::kNotRegular, 0};
  source.opened.reset(
      ::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!source.opened.valid() ||
      ::fstat(source.opened.get(), &source.info) != 0) {
    return ResultOfErrno(errno);
  }
  return {};
}

// A copy under a temporary name in the target's directory; it takes its place
// at once. Until then, it is removed if this object is destroyed.
class StagedCopy {
 public:
  explicit StagedCopy(const Place& to) : to_(to) {}
  ~StagedCopy() {
    if (!name_.empty()) (void)RemoveOwn(to_.directory.get(), name_);
  }
  StagedCopy(const StagedCopy&) = delete;
  StagedCopy& operator=(const StagedCopy&) = delete;

  FileResult Make(FileTask& task, const Source& source) {
    name_ = TemporaryName();
    if (name_.empty()) return ResultOfErrno(errno);
    const int at = to_.directory.get();
    if (S_ISREG(source.info.st_mode)) return MakeFile(task, source);
    if (S_ISDIR(source.info.st_mode)) {
      return CopyDirectory(task, source.opened, at, name_, entries_);
    }
    const std::string link =
        ReadLink(source.place.directory.get(), source.place.name.c_str());
    return ::symlinkat(link.c_str(), at, name_.c_str()) == 0
               ? FileResult{}
               : ResultOfErrno(errno);
  }

  // `flags` of renameat2(2).
  FileResult MoveIntoPlace(unsigned flags) {
    const int at = to_.directory.get();
    if (::renameat2(at, name_.c_str(), at, to_.name.c_str(), flags) != 0) {
      return ResultOfErrno(errno);
    }
    name_.clear();
    return {};
  }

  // Of a file: open.
  const os::Fd& file() const { return file_; }
  // Of a directory: open. entries() is the number of names below it.
  os::Fd OpenDirectory() const {
    return os::Fd(::openat(to_.directory.get(), name_.c_str(),
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  uint64_t entries() const { return entries_; }

 private:
  FileResult MakeFile(FileTask& task, const Source& source) {
    file_.reset(::openat(to_.directory.get(), name_.c_str(),
                         O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         0600));
    if (!file_.valid()) return ResultOfErrno(errno);
    const std::unique_ptr<char[]> buffer(new char[os::kFileChunkBytes]);
    for (off_t done = 0;;) {
      if (task.Cancelled()) return {FileCode::kCancelled, 0};
      if (source.leased && Awaited(source.opened)) return kChanged;
      const ssize_t got = ReadAt(source.opened, buffer.get(), done);
      if (got < 0) return ResultOfErrno(errno);
      if (got == 0) break;
      if (!os::WriteAll(file_.get(),
                        {buffer.get(), static_cast<size_t>(got)})) {
        return ResultOfErrno(errno);
      }
      done += got;
    }
    if (::fchmod(file_.get(), source.info.st_mode & 07777) != 0) {
      return ResultOfErrno(errno);
    }
    const struct timespec times[] = {source.info.st_atim, source.info.st_mtim};
    (void)::futimens(file_.get(), times);
    return {};
  }

  const Place& to_;
  std::string name_;
  os::Fd file_;
  uint64_t entries_ = 0;
};

// A name for a source whose own name was taken while it was hidden.
std::string MovedBackName(const std::string& name, int number) {
  std::string end = ".moved-back";
  if (number > 1) absl::StrAppend(&end, ".", number);
  return name.substr(0, policy::WholeCharacters(name, NAME_MAX - end.size())) +
         end;
}

// Renames what is to be moved to a name in the same directory that nobody else
// knows, so that nobody can find it any more. When this object is destroyed it
// gets its name back or, if something else has that by then, the next free one
// like it.
class HiddenSource {
 public:
  explicit HiddenSource(const Place& place) : place_(place) {}
  ~HiddenSource() {
    if (!name_.empty()) GiveBack();
  }
  HiddenSource(const HiddenSource&) = delete;
  HiddenSource& operator=(const HiddenSource&) = delete;

  FileResult Hide() {
    std::string name = TemporaryName();
    if (name.empty() || ::renameat2(at(), place_.name.c_str(), at(),
                                    name.c_str(), RENAME_NOREPLACE) != 0) {
      return ResultOfErrno(errno);
    }
    name_ = std::move(name);
    return {};
  }

  // Whatever came into a directory after it was compared stays, and so does the
  // directory.
  void Remove() {
    if (RemoveOwn(at(), name_).ok()) name_.clear();
  }

  int at() const { return place_.directory.get(); }
  const std::string& name() const { return name_; }

 private:
  void GiveBack() {
    constexpr int kTries = 10'000;
    std::string name = place_.name;
    for (int i = 1; i <= kTries; ++i) {
      if (::renameat2(at(), name_.c_str(), at(), name.c_str(),
                      RENAME_NOREPLACE) == 0 ||
          errno != EEXIST) {
        return;
      }
      name = MovedBackName(place_.name, i);
    }
  }

  const Place& place_;
  std::string name_;
};

bool WriterWaits(const Source& source, const TreeComparison& comparison) {
  return (source.leased && Awaited(source.opened)) || comparison.awaited();
}

// Whether this name still belongs to what was copied, and nothing has changed.
FileResult CheckUnchanged(FileTask& task, const Source& source, int at,
                          const std::string& name, const StagedCopy& copy,
                          TreeComparison& comparison) {
  struct stat now = {};
  if (::fstatat(at, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0 ||
      !SameFile(now, source.info) || !SameFacts(now, source.info)) {
    return kChanged;
  }
  FileResult result;
  if (S_ISDIR(now.st_mode)) {
    if (!CanBeEmptied(at, name.c_str(), now)) {
      return {FileCode::kPermissionDenied, EACCES};
    }
    result =
        comparison.Run(source.opened, copy.OpenDirectory(), copy.entries());
  } else if (S_ISREG(now.st_mode) && !source.leased) {
    result = CompareContent(task, source.opened, copy.file());
  }
  if (result.ok() && WriterWaits(source, comparison)) result = kChanged;
  return result;
}

// A process that had found a file but hadn't opened it before it was hidden now
// waits for our lease, and would write into a file that is about to be removed.
FileResult CheckForLateWriters(const Source& source,
                               const TreeComparison& comparison) {
  if (!source.leased && !comparison.leased()) return {};
  constexpr int kPauseMillis = 10;
  ::poll(nullptr, 0, kPauseMillis);
  return WriterWaits(source, comparison) ? kChanged : FileResult{};
}

// Whether the source can be removed, and copied as a whole: certain failures
// are reported before the copying. Keeps a file from writers.
FileResult CheckSource(FileTask& task, Source& source) {
  const int at = source.place.directory.get();
  const char* const name = source.place.name.c_str();
  if (::faccessat(at, ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return ResultOfErrno(errno);
  }
  if (S_ISREG(source.info.st_mode)) {
    const Lease lease = AcquireLease(source.opened);
    source.leased = lease == Lease::kHeld;
    return lease == Lease::kRefused ? kChanged : FileResult{};
  }
  if (!S_ISDIR(source.info.st_mode)) return {};
  if (!CanBeEmptied(at, name, source.info)) {
    return {FileCode::kPermissionDenied, EACCES};
  }
  return InspectTree(task, source.opened);
}

// Returns the error that rename(2) would give for what exists at the target.
FileResult CheckReplaced(const Place& to, const Source& source) {
  struct stat info = {};
  const int at = to.directory.get();
  const char* const name = to.name.c_str();
  if (::fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (!S_ISDIR(source.info.st_mode)) {
    return S_ISDIR(info.st_mode) ? FileResult{FileCode::kIsDirectory, EISDIR}
                                 : FileResult{};
  }
  if (!S_ISDIR(info.st_mode)) return {FileCode::kNotDirectory, ENOTDIR};
  const os::Fd directory(
      ::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  std::vector<std::string> names;
  bool more = false;
  return directory.valid() && ReadNames(directory, 1, names, more) &&
                 !names.empty()
             ? FileResult{FileCode::kNotEmpty, ENOTEMPTY}
             : FileResult{};
}

FileResult FindFreePlace(const os::Fd& root, const std::string& path,
                         bool make_parents, bool overwrite, Place& to) {
  FileResult result = FindPlace(root, path, make_parents, to);
  struct stat info = {};
  // This is checked again when the copy takes its place; failing now saves the
  // copying.
  if (result.ok() && !overwrite &&
      ::fstatat(to.directory.get(), to.name.c_str(), &info,
                AT_SYMLINK_NOFOLLOW) == 0) {
    result = {FileCode::kExists, EEXIST};
  }
  return result;
}

}  // namespace

FileResult CopyTree(FileTask& task, const internal::CopyFile& request,
                    internal::FileReply& /*reply*/) {
  Source source;
  Place to;
  FileResult result = FindSource(task.root(), request.from(), source);
  if (result.ok()) {
    result = FindFreePlace(task.root(), request.to(), request.make_parents(),
                           false, to);
  }
  StagedCopy copy(to);
  if (result.ok()) result = copy.Make(task, source);
  if (result.ok()) result = copy.MoveIntoPlace(RENAME_NOREPLACE);
  return result;
}

FileResult MoveTree(FileTask& task, const internal::MoveFile& request,
                    internal::FileReply& /*reply*/) {
  Source source;
  Place to;
  FileResult result = FindSource(task.root(), request.from(), source);
  if (result.ok()) result = CheckSource(task, source);
  if (result.ok()) {
    result = FindFreePlace(task.root(), request.to(), request.make_parents(),
                           request.overwrite(), to);
  }
  if (result.ok()) result = CheckReplaced(to, source);
  // ORDER: the destructors give the source its name back before the copy is
  // removed, and let in those who wait for its files once everything is
  // decided.
  StagedCopy copy(to);
  HiddenSource hidden(source.place);
  TreeComparison comparison(task);
  if (result.ok()) result = copy.Make(task, source);
  // A first comparison before it is hidden, so that it is hidden only for a
  // short time.
  if (result.ok()) {
    result = CheckUnchanged(task, source, source.place.directory.get(),
                            source.place.name, copy, comparison);
  }
  if (result.ok()) result = hidden.Hide();
  if (result.ok()) {
    result = CheckUnchanged(task, source, hidden.at(), hidden.name(), copy,
                            comparison);
  }
  if (result.ok()) result = CheckForLateWriters(source, comparison);
  if (result.ok()) {
    result = copy.MoveIntoPlace(request.overwrite() ? 0 : RENAME_NOREPLACE);
  }
  // The move has happened.
  if (result.ok()) hidden.Remove();
  return result;
}

}  // namespace sandglass::sandbox
