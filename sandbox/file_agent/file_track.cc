// Reports what has changed in a tree since it was last looked through.
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sandbox/archive/unpack.h"
#include "sandbox/file_agent/file_ops.h"
#include "sandbox/file_agent/file_paths.h"
#include "sandbox/file_agent/file_search.h"
#include "sandbox/file_agent/tree_walk.h"

namespace sandglass::sandbox {
namespace {

constexpr size_t kChangeBytes = 80;
// The times of files are those of the kernel's last tick, at most 10 ms ago:
// two changes less than that apart can look like one.
constexpr int64_t kTickNs = 20'000'000;

// Identifies a file, whatever its name.
struct Inode {
  dev_t device = 0;
  ino_t number = 0;

  bool operator==(const Inode&) const = default;
};

struct InodeHash {
  size_t operator()(const Inode& inode) const {
    return std::hash<uint64_t>()(inode.number * 31 + inode.device);
  }
};

struct Seen {
  Inode inode;
  mode_t mode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  int64_t blocks = 0;   // also grows when written through a mapping
  uint64_t look = 0;    // number of the last look that found it
  bool recent = false;  // it changed just before that look
};

Seen SeenOf(const struct stat& info, uint64_t look) {
  Seen seen = {
      .inode = {info.st_dev, info.st_ino}, .mode = info.st_mode, .look = look};
  // For a directory these change with what is in it, which is reported by
  // itself.
  if (S_ISDIR(info.st_mode)) return seen;
  seen.size = static_cast<uint64_t>(info.st_size);
  seen.mtime_ns = NanosOf(info.st_mtim);
  seen.ctime_ns = NanosOf(info.st_ctim);
  seen.blocks = info.st_blocks;
  return seen;
}

bool Same(const Seen& one, const Seen& other) {
  return one.inode == other.inode && one.mode == other.mode &&
         one.size == other.size && one.mtime_ns == other.mtime_ns &&
         one.ctime_ns == other.ctime_ns && one.blocks == other.blocks;
}

class Tracker : public TreeVisitor {
 public:
  Tracker(FileTask& task, const internal::TrackTree& request)
      : task_(task), request_(request) {}

  // Looks through the tree once. The first time it reports nothing, unless that
  // was requested. `tell_none`: sends a reply also when nothing has changed.
  FileResult Scan(bool tell_none) {
    ++look_;
    began_ns_ = NowNs();
    if (FileResult result =
            OpenDirectory(task_.root(), request_.path(), start_);
        !result.ok()) {
      return result;
    }
    told_ = 0;
    left_out_ = false;
    const WalkEnd end = WalkTree(
        start_, request_.max_entries(), *this,
        request_.for_copy() ? OwnRights::kLend : OwnRights::kAsTheyAre);
    if (end == WalkEnd::kStopped) return {FileCode::kCancelled, 0};
    // What a look didn't reach isn't thereby gone.
    if (end == WalkEnd::kWhole && !ReportGone()) {
      return {FileCode::kCancelled, 0};
    }
    batch_.set_truncated(end != WalkEnd::kWhole || left_out_);
    batch_.set_scan_done(true);
    if (told_ == 0 && !tell_none) {
      batch_.Clear();
      return {};
    }
    return Flush() ? FileResult{} : FileResult{FileCode::kCancelled, 0};
  }

  Next Enter(const TreeEntry& entry) override {
    if (task_.Cancelled()) return Next::kStop;
    // A copy is of no use if it contains what can't be unpacked again.
    const size_t longest = request_.for_copy() ? kMaxMemberPath : kMaxToldPath;
    if (entry.path.size() > longest) {
      left_out_ = true;
      return Next::kSkip;
    }
    const std::string path(entry.path);
    Seen seen = SeenOf(entry.info, look_);
    const auto [known, added] = seen_.try_emplace(path, seen);
    bool goes_on = true;
    if (added) {
      goes_on = (look_ == 1 && !request_.tell_first()) ||
                ReportNew(entry, path, seen);
    } else if (!Same(known->second, seen) || known->second.recent) {
      goes_on = ReportChange(internal::CHANGE_MODIFIED, entry, path, "", seen);
    }
    seen.recent = request_.for_copy() && S_ISREG(seen.mode) &&
                  seen.ctime_ns > began_ns_ - kTickNs &&
                  seen.ctime_ns < NowNs() + kTickNs;
    if (!goes_on) return Next::kStop;
    seen_[path] = seen;
    paths_[seen.inode] = path;
    return Next::kGoOn;
  }

  bool Unreadable(absl::string_view /*path*/, int /*error*/) override {
    left_out_ = true;
    return true;
  }

 private:
  bool ReportNew(const TreeEntry& entry, const std::string& path, Seen& seen) {
    const auto before = paths_.find(seen.inode);
    if (before == paths_.end() || before->second == path) {
      return ReportChange(internal::CHANGE_CREATED, entry, path, "", seen);
    }
    // The same file had another name before. If it still has that, this is an
    // additional name.
    const std::string old_path = before->second;
    const auto old = seen_.find(old_path);
    struct stat there = {};
    const bool stayed = ::fstatat(start_.get(), old_path.c_str(), &there,
                                  AT_SYMLINK_NOFOLLOW) == 0 &&
                        Inode{there.st_dev, there.st_ino} == seen.inode;
    // Inode numbers are used again; a file counts as renamed only if its
    // content is the same.
    if (stayed || old == seen_.end() || old->second.mode != seen.mode ||
        old->second.size != seen.size ||
        old->second.mtime_ns != seen.mtime_ns) {
      return ReportChange(internal::CHANGE_CREATED, entry, path, "", seen);
    }
    // Unless something else has taken the old name by now.
    if (old->second.look != look_) seen_.erase(old);
    return ReportChange(internal::CHANGE_RENAMED, entry, path, old_path, seen);
  }

  // Sets `seen` to the file's state at the time it is handed out.
  bool ReportChange(internal::ChangeKind kind, const TreeEntry& entry,
                    const std::string& path, const std::string& old_path,
                    Seen& seen) {
    internal::FileChange& change = *batch_.add_changes();
    change.set_kind(kind);
    change.set_old_path(old_path);
    FillInfo(entry.info, *change.mutable_info());
    change.mutable_info()->set_name(path);
    if (S_ISLNK(entry.info.st_mode)) {
      change.mutable_info()->set_link_target(
          ReadLink(entry.directory, entry.name.c_str()));
    }
    if (request_.with_descriptors() && S_ISREG(entry.info.st_mode)) {
      os::Fd file;
      struct stat info = {};
      const auto open = request_.for_copy() ? OpenOwnRegularAt : OpenRegularAt;
      const FileResult opened =
          open(entry.directory, entry.name.c_str(), file, info);
      if (opened.ok()) {
        FillInfo(info, *change.mutable_info());
        change.mutable_info()->set_name(path);
        if (info.st_nlink > 1) change.mutable_info()->set_inode(info.st_ino);
        change.set_opened(true);
        files_.push_back(std::move(file));
        seen = SeenOf(info, look_);
      } else if (request_.for_copy() && opened.code != FileCode::kNotFound &&
                 opened.code != FileCode::kNotRegular) {
        // If the file has gone meanwhile, the next look reports that.
        left_out_ = true;
      }
    }
    return Added(change);
  }

  bool ReportGone() {
    for (auto it = seen_.begin(); it != seen_.end();) {
      if (it->second.look == look_) {
        ++it;
        continue;
      }
      if (const auto path = paths_.find(it->second.inode);
          path != paths_.end() && path->second == it->first) {
        paths_.erase(path);
      }
      internal::FileChange& change = *batch_.add_changes();
      change.set_kind(internal::CHANGE_REMOVED);
      change.mutable_info()->set_name(it->first);
      it = seen_.erase(it);
      if (!Added(change)) return false;
    }
    return true;
  }

  static int64_t NowNs() {
    struct timespec now = {};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return NanosOf(now);
  }

  bool Added(const internal::FileChange& change) {
    ++told_;
    batch_bytes_ += kChangeBytes + change.info().name().size() +
                    change.info().link_target().size() +
                    change.old_path().size();
    return (batch_bytes_ < kFileBatchBytes && files_.size() < kFileBatchFds) ||
           Flush();
  }

  bool Flush() {
    std::vector<int> fds;
    fds.reserve(files_.size());
    for (const os::Fd& file : files_) fds.push_back(file.get());
    const bool sent = task_.Send(batch_, fds);
    batch_bytes_ = 0;
    files_.clear();
    return sent;
  }

  FileTask& task_;
  const internal::TrackTree& request_;
  os::Fd start_;
  uint64_t look_ = 0;
  int64_t began_ns_ = 0;
  uint64_t told_ = 0;
  bool left_out_ = false;
  std::unordered_map<std::string, Seen> seen_;
  std::unordered_map<Inode, std::string, InodeHash> paths_;
  internal::FileReply batch_;
  size_t batch_bytes_ = 0;
  std::vector<os::Fd> files_;
};

}  // namespace

// Looks through the tree again and again, since jails have no inotify: a watch
// on a file of the image would be one on everybody's.
FileResult Track(FileTask& task, const internal::TrackTree& request,
                 internal::FileReply& /*reply*/) {
  constexpr uint32_t kShortestMillis = 20;
  constexpr uint32_t kLongestMillis = 3'600'000;
  const bool on_demand = request.interval_millis() == 0;
  const int pause = static_cast<int>(
      std::clamp(request.interval_millis(), kShortestMillis, kLongestMillis));
  Tracker tracker(task, request);
  FileResult result = tracker.Scan(true);
  while (result.ok()) {
    const std::optional<TaskNote> note = task.AwaitNote(on_demand ? -1 : pause);
    if (on_demand && !note.has_value()) return {FileCode::kCancelled, 0};
    if (task.Cancelled()) return {FileCode::kCancelled, 0};
    result = tracker.Scan(on_demand);
  }
  return result;
}

}  // namespace sandglass::sandbox
