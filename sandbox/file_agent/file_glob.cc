// Finds files by patterns of their paths.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sandbox/file_agent/file_ops.h"
#include "sandbox/file_agent/file_paths.h"
#include "sandbox/file_agent/file_search.h"
#include "sandbox/os/open_beneath.h"

namespace sandglass::sandbox {
namespace {

constexpr size_t kMaxExpansions = 1000;

class Globber : public TreeVisitor {
 public:
  Globber(FileTask& task, const internal::Glob& request)
      : task_(task), request_(request), clock_(request.max_millis()) {}

  // Searches below one base; false when the search is over.
  bool Search(const std::string& base,
              const std::vector<PathPattern>& patterns) {
    base_ = base;
    patterns_ = &patterns;
    os::Fd directory;
    if (!OpenDirectory(task_.root(), base, directory).ok()) return true;
    const size_t left = request_.max_visited() - visited_;
    if (WalkTree(directory, left, *this) == WalkEnd::kBound) truncated_ = true;
    return result_.ok() && !truncated_;
  }

  Next Enter(const TreeEntry& entry) override {
    ++visited_;
    if (task_.Cancelled()) result_ = {FileCode::kCancelled, 0};
    if (clock_.Over()) truncated_ = true;
    if (!result_.ok() || truncated_) return Next::kStop;
    if (entry.path.size() > kMaxToldPath) return Next::kSkip;
    if (AnyMatches(*patterns_, entry.path) && !Add(entry)) return Next::kStop;
    return AnyMayHold(*patterns_, entry.path, entry.depth + 1) ? Next::kGoOn
                                                               : Next::kSkip;
  }

  FileResult Finish(internal::FileReply& reply) {
    if (!result_.ok()) return result_;
    reply.Swap(&batch_);
    reply.set_truncated(truncated_);
    reply.set_count(seen_.size());
    return {};
  }

 private:
  // Returns false when the search is to end.
  bool Add(const TreeEntry& entry) {
    const std::string path = JoinPath(base_, entry.path);
    if (request_.files_only() && !LeadsToFile(entry, path)) return true;
    if (seen_.contains(path)) return true;
    if (seen_.size() >= request_.max_matches()) {
      truncated_ = true;
      return false;
    }
    internal::FileInfo& told = *batch_.add_entries();
    FillInfo(entry.info, told);
    told.set_name(path);
    if (S_ISLNK(entry.info.st_mode)) {
      told.set_link_target(ReadLink(entry.directory, entry.name.c_str()));
    }
    batch_bytes_ += kFileEntryBytes + path.size() + told.link_target().size();
    seen_.insert(path);
    if (batch_bytes_ < kFileBatchBytes) return true;
    batch_bytes_ = 0;
    if (!task_.Send(batch_)) result_ = {FileCode::kCancelled, 0};
    return result_.ok();
  }

  bool LeadsToFile(const TreeEntry& entry, const std::string& path) const {
    if (!S_ISLNK(entry.info.st_mode)) return S_ISREG(entry.info.st_mode);
    const os::Fd target = os::OpenInRoot(task_.root(), path.c_str(), O_PATH);
    struct stat info = {};
    return target.valid() && ::fstat(target.get(), &info) == 0 &&
           S_ISREG(info.st_mode);
  }

  FileTask& task_;
  const internal::Glob& request_;
  const SearchClock clock_;
  std::string base_;
  const std::vector<PathPattern>* patterns_ = nullptr;
  std::set<std::string> seen_;
  internal::FileReply batch_;
  size_t batch_bytes_ = 0;
  size_t visited_ = 0;
  bool truncated_ = false;
  FileResult result_;
};

}  // namespace

FileResult ParsePatterns(const std::string& path, const std::string& pattern,
                         bool hidden, PatternsByBase& patterns) {
  std::vector<std::string> expanded;
  if (!ExpandBraces(pattern, kMaxExpansions, expanded)) {
    return {FileCode::kInvalidPattern, 0};
  }
  for (const std::string& one : expanded) {
    PathPattern parsed;
    if (FileResult result = PathPattern::Parse(path, one, hidden, parsed);
        !result.ok()) {
      return result;
    }
    patterns[parsed.base()].push_back(std::move(parsed));
  }
  return {};
}

bool AnyMatches(const std::vector<PathPattern>& patterns,
                absl::string_view path) {
  return std::any_of(
      patterns.begin(), patterns.end(),
      [path](const PathPattern& pattern) { return pattern.Matches(path); });
}

bool AnyMayHold(const std::vector<PathPattern>& patterns,
                absl::string_view path, size_t depth) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [path, depth](const PathPattern& pattern) {
                       return pattern.MayHold(path, depth);
                     });
}

std::string JoinPath(absl::string_view base, absl::string_view path) {
  return absl::StrCat(base, absl::EndsWith(base, "/") ? "" : "/", path);
}

FileResult FindByGlob(FileTask& task, const internal::Glob& request,
                      internal::FileReply& reply) {
  // Whether the path is a directory is checked for the path itself, not for the
  // bases that patterns make of it.
  os::Fd directory;
  if (FileResult result = OpenDirectory(task.root(), request.path(), directory);
      !result.ok()) {
    return result;
  }
  PatternsByBase patterns;
  if (FileResult result = ParsePatterns(request.path(), request.pattern(),
                                        request.hidden(), patterns);
      !result.ok()) {
    return result;
  }
  Globber globber(task, request);
  for (const auto& [base, list] : patterns) {
    if (!globber.Search(base, list)) break;
  }
  return globber.Finish(reply);
}

}  // namespace sandglass::sandbox
