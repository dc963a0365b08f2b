#include "sandbox/file_agent/tree_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "sandbox/file_agent/file_paths.h"
#include "sandbox/os/files.h"

namespace sandglass::sandbox {
namespace {

// How many directories on the way down stay open; those above are found again
// through "..".
constexpr size_t kMaxOpen = 32;

using DirStream = std::unique_ptr<DIR, int (*)(DIR*)>;

// If this fails, what follows fails as it would have anyway.
bool TrySetMode(int directory, const char* name, mode_t mode) {
  return ::fchmodat(directory, name, mode, 0) == 0;
}

struct Level {
  os::Fd directory;
  struct stat info = {};  // at the time its entry was read
  std::vector<std::string> names;
  size_t next = 0;
  // The size of the part of the path that names this directory.
  size_t path_size = 0;
};

class Walk {
 public:
  Walk(size_t max_entries, TreeVisitor& visitor, OwnRights rights)
      : left_(max_entries), visitor_(visitor), rights_(rights) {}

  WalkEnd Run(const os::Fd& start) {
    if (!Push(os::Fd(::openat(start.get(), ".",
                              O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
              nullptr)) {
      return WalkEnd::kStopped;
    }
    while (!levels_.empty() && end_ == WalkEnd::kWhole) {
      if (levels_.back().next < levels_.back().names.size()) {
        Step();
      } else {
        Pop();
      }
    }
    RestoreAllModes();
    return end_ == WalkEnd::kWhole && bound_ ? WalkEnd::kBound : end_;
  }

 private:
  std::string& CurrentName() {
    Level& level = levels_.back();
    return level.names[level.next - 1];
  }

  TreeEntry Entry(const struct stat& info) {
    return {.directory = levels_.back().directory.get(),
            .name = CurrentName(),
            .path = path_,
            .info = info,
            .depth = levels_.size() - 1};
  }

  void Step() {
    Level& level = levels_.back();
    ++level.next;
    path_.resize(level.path_size);
    if (!path_.empty()) path_.push_back('/');
    path_ += CurrentName();
    struct stat info = {};
    // What has gone meanwhile counts as if it had never been there.
    if (::fstatat(level.directory.get(), CurrentName().c_str(), &info,
                  AT_SYMLINK_NOFOLLOW) != 0) {
      return;
    }
    const TreeVisitor::Next next = visitor_.Enter(Entry(info));
    if (next == TreeVisitor::Next::kStop) {
      end_ = WalkEnd::kStopped;
    } else if (next == TreeVisitor::Next::kGoOn && S_ISDIR(info.st_mode)) {
      Descend(info);
    }
  }

  void Descend(const struct stat& info) {
    const int above = levels_.back().directory.get();
    if (rights_ == OwnRights::kLend && (info.st_mode & 0500) != 0500) {
      TrySetMode(above, CurrentName().c_str(), (info.st_mode & 07777) | 0500);
    }
    os::Fd directory(::openat(above, CurrentName().c_str(),
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat opened = {};
    if (directory.valid() &&
        (::fstat(directory.get(), &opened) != 0 ||
         opened.st_dev != info.st_dev || opened.st_ino != info.st_ino)) {
      return RestoreMode(info);  // another took its place
    }
    if (directory.valid() && info.st_dev != levels_.back().info.st_dev &&
        os::IsKernelFileSystem(directory.get())) {
      return RestoreMode(info);
    }
    if (!Push(std::move(directory), &info)) {
      RestoreMode(info);
      Leave(info);
    }
  }

  // Restores the mode of the entry with the current name.
  void RestoreMode(const struct stat& info) {
    if (rights_ == OwnRights::kLend && (info.st_mode & 0500) != 0500) {
      TrySetMode(levels_.back().directory.get(), CurrentName().c_str(),
                 info.st_mode & 07777);
    }
  }

  // False when the directory can't be read.
  bool Push(os::Fd directory, const struct stat* info) {
    Level level;
    bool more = false;
    if (!directory.valid() || !ReadNames(directory, left_, level.names, more)) {
      if (!visitor_.Unreadable(path_, errno)) end_ = WalkEnd::kStopped;
      return false;
    }
    bound_ |= more;
    left_ -= level.names.size();
    level.directory = std::move(directory);
    if (info != nullptr) {
      level.info = *info;
    } else {
      ::fstat(level.directory.get(), &level.info);
    }
    level.path_size = path_.size();
    levels_.push_back(std::move(level));
    // The first one stays open: the walk ends at its start.
    if (levels_.size() > kMaxOpen + 1) {
      levels_[levels_.size() - 1 - kMaxOpen].directory.reset();
    }
    return true;
  }

  void Leave(const struct stat& info) {
    if (end_ == WalkEnd::kWhole && !visitor_.Leave(Entry(info))) {
      end_ = WalkEnd::kStopped;
    }
  }

  void Pop() {
    const Level done = std::move(levels_.back());
    levels_.pop_back();
    if (levels_.empty()) return;
    Level& above = levels_.back();
    if (!above.directory.valid()) {
      above.directory.reset(::openat(done.directory.get(), "..",
                                     O_PATH | O_DIRECTORY | O_CLOEXEC));
      struct stat info = {};
      // It was moved meanwhile: its parent isn't the directory from which the
      // walk came.
      if (!above.directory.valid() ||
          ::fstat(above.directory.get(), &info) != 0 ||
          info.st_dev != above.info.st_dev ||
          info.st_ino != above.info.st_ino) {
        end_ = WalkEnd::kMoved;
        return;
      }
    }
    path_.resize(done.path_size);
    RestoreMode(done.info);
    Leave(done.info);
  }

  // Restores the modes on the path to the place where the walk ended.
  void RestoreAllModes() {
    while (levels_.size() > 1) {
      const struct stat info = levels_.back().info;
      levels_.pop_back();
      if (levels_.back().directory.valid()) RestoreMode(info);
    }
  }

  size_t left_;
  TreeVisitor& visitor_;
  const OwnRights rights_;
  std::vector<Level> levels_;
  std::string path_;
  bool bound_ = false;
  WalkEnd end_ = WalkEnd::kWhole;
};

}  // namespace

bool ReadNames(const os::Fd& directory, size_t max,
               std::vector<std::string>& names, bool& more) {
  // Not opened anew: Landlock would walk up the whole tree once more.
  os::Fd own(::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0));
  if (!own.valid()) return false;
  const DirStream stream(::fdopendir(own.get()), ::closedir);
  if (stream == nullptr) return false;
  (void)own.release();  // the stream owns it now
  ::rewinddir(stream.get());
  more = false;
  // glibc's readdir is unsafe only where threads share one stream.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const struct dirent* entry = ::readdir(stream.get())) {
    const absl::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() >= max) {
      more = true;
      break;
    }
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return true;
}

WalkEnd WalkTree(const os::Fd& start, size_t max_entries, TreeVisitor& visitor,
                 OwnRights rights) {
  return Walk(max_entries, visitor, rights).Run(start);
}

FileResult OpenOwnRegularAt(int directory, const char* name, os::Fd& file,
                            struct stat& info) {
  const FileResult first = OpenRegularAt(directory, name, file, info);
  if (first.error != EACCES) return first;
  struct stat before = {};
  if (::fstatat(directory, name, &before, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(before.st_mode) ||
      !TrySetMode(directory, name, (before.st_mode & 07777) | 0400)) {
    return first;
  }
  const FileResult second = OpenRegularAt(directory, name, file, info);
  TrySetMode(directory, name, before.st_mode & 07777);
  // The facts that are valid from here on.
  if (second.ok() && ::fstat(file.get(), &info) != 0) {
    return ResultOfErrno(errno);
  }
  return second;
}

}  // namespace sandglass::sandbox
