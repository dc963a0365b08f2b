// Lists directories and removes trees.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "sandbox/file_agent/file_ops.h"
#include "sandbox/file_agent/file_paths.h"
#include "sandbox/file_agent/file_trees.h"
#include "sandbox/file_agent/tree_walk.h"

namespace sandglass::sandbox {
namespace {

constexpr size_t kMaxNames = 1'000'000;
// Landlock checks each operation on a name by a walk up all directories above
// it, so a tree of n levels would cost n² steps. What lies deeper than this in
// a tree that is removed is first moved up.
constexpr size_t kMaxDepth = 64;

class Remover : public TreeVisitor {
 public:
  // Removes what is below `top`. Without a task it removes everything that its
  // user may, and can't be cancelled.
  Remover(FileTask* task, const os::Fd& top) : task_(task), top_(top) {}

  Next Enter(const TreeEntry& entry) override {
    if (task_ != nullptr && task_->Cancelled()) {
      result_ = {FileCode::kCancelled, 0};
      return Next::kStop;
    }
    if (S_ISDIR(entry.info.st_mode)) {
      // Where that fails, whatever needs it fails as well.
      if (task_ == nullptr && (entry.info.st_mode & 0700) != 0700) {
        (void)!::fchmodat(entry.directory, entry.name.c_str(), 0700, 0);
      }
      return entry.depth >= kMaxDepth && MoveUp(entry) ? Next::kSkip
                                                       : Next::kGoOn;
    }
    Remove(entry, 0);
    return Next::kSkip;
  }
  bool Leave(const TreeEntry& entry) override {
    Remove(entry, AT_REMOVEDIR);
    return true;
  }

  uint64_t count() const { return count_; }
  // How many directories are now directly below `top` and have to be removed.
  uint64_t moved_up() const { return moved_up_; }
  // The first failure. The walk goes on after it, as rm does.
  FileResult result() const { return result_; }
  void Fail(FileResult result) {
    if (result_.ok()) result_ = result;
  }

 private:
  bool MoveUp(const TreeEntry& entry) {
    const std::string name = TemporaryName();
    if (name.empty() ||
        ::renameat2(entry.directory, entry.name.c_str(), top_.get(),
                    name.c_str(), RENAME_NOREPLACE) != 0) {
      return false;
    }
    ++moved_up_;
    return true;
  }

  void Remove(const TreeEntry& entry, int flags) {
    if (::unlinkat(entry.directory, entry.name.c_str(), flags) == 0) {
      ++count_;
    } else if (errno != ENOENT) {
      Fail(ResultOfErrno(errno));
    }
  }

  FileTask* const task_;
  const os::Fd& top_;
  uint64_t count_ = 0;
  uint64_t moved_up_ = 0;
  FileResult result_;
};

FileResult RemoveDirectory(FileTask* task, int at, const std::string& name,
                           uint64_t& count) {
  const os::Fd directory(::openat(
      at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) return ResultOfErrno(errno);
  Remover remover(task, directory);
  WalkEnd end;
  // A directory with more names than one walk visits is walked through again,
  // as is one whose depths were moved up.
  uint64_t before, moved_before;
  do {
    before = remover.count();
    moved_before = remover.moved_up();
    end = WalkTree(directory, kMaxNames, remover);
  } while ((end == WalkEnd::kBound && remover.count() > before) ||
           (end == WalkEnd::kWhole && remover.moved_up() > moved_before));
  count = remover.count();
  // A failure further down says more than the fact that the directory isn't
  // empty.
  if (!remover.result().ok() && remover.result().code != FileCode::kNotEmpty) {
    return remover.result();
  }
  if (end == WalkEnd::kMoved) return {FileCode::kBusyChanged, 0};
  if (::unlinkat(at, name.c_str(), AT_REMOVEDIR) != 0) {
    return ResultOfErrno(errno);
  }
  ++count;
  return {};
}

}  // namespace

FileResult ListNames(FileTask& task, const internal::ListDirectory& request,
                     internal::FileReply& reply) {
  os::Fd directory;
  if (FileResult result = OpenDirectory(task.root(), request.path(), directory);
      !result.ok()) {
    return result;
  }
  std::vector<std::string> names;
  bool truncated = false;
  if (!ReadNames(directory, kMaxNames, names, truncated)) {
    return ResultOfErrno(errno);
  }
  auto name = request.after().empty()
                  ? names.begin()
                  : std::upper_bound(names.begin(), names.end(),
                                     std::string(request.after()));
  internal::FileReply batch;
  size_t batch_bytes = 0;
  uint64_t count = 0;
  for (; name != names.end(); ++name) {
    if (request.max_entries() > 0 && count >= request.max_entries()) {
      truncated = true;
      break;
    }
    if (task.Cancelled()) return {FileCode::kCancelled, 0};
    struct stat info = {};
    if (::fstatat(directory.get(), name->c_str(), &info, AT_SYMLINK_NOFOLLOW) !=
        0) {
      continue;  // gone meanwhile
    }
    internal::FileInfo& entry = *batch.add_entries();
    FillInfo(info, entry);
    entry.set_name(*name);
    if (S_ISLNK(info.st_mode)) {
      entry.set_link_target(ReadLink(directory.get(), name->c_str()));
    }
    ++count;
    batch_bytes += kFileEntryBytes + name->size() + entry.link_target().size();
    if (batch_bytes >= kFileBatchBytes) {
      if (!task.Send(batch)) return {FileCode::kCancelled, 0};
      batch_bytes = 0;
    }
  }
  reply.Swap(&batch);
  reply.set_truncated(truncated);
  reply.set_count(count);
  return {};
}

FileResult RemoveTree(FileTask& task, const internal::RemoveFile& request,
                      internal::FileReply& reply) {
  // Files, links and empty directories.
  FileResult result = RemoveOne(task.root(), request, reply);
  if (result.code != FileCode::kNotEmpty) return result;
  Place place;
  if (result = FindPlace(task.root(), request.path(), false, place);
      !result.ok()) {
    return result;
  }
  uint64_t count = 0;
  result = RemoveDirectory(&task, place.directory.get(), place.name, count);
  reply.set_count(count);
  return result;
}

FileResult RemoveOwn(int at, const std::string& name) {
  struct stat info = {};
  if (::fstatat(at, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return ResultOfErrno(errno);
  }
  if (!S_ISDIR(info.st_mode)) {
    return ::unlinkat(at, name.c_str(), 0) == 0 ? FileResult{}
                                                : ResultOfErrno(errno);
  }
  if ((info.st_mode & 0700) != 0700) {
    (void)!::fchmodat(at, name.c_str(), 0700, 0);
  }
  uint64_t count = 0;
  return RemoveDirectory(nullptr, at, name, count);
}

}  // namespace sandglass::sandbox
