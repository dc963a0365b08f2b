// Searches the lines of files.
#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <utility>

#include "sandbox/file_agent/file_ops.h"
#include "sandbox/file_agent/file_paths.h"
#include "sandbox/file_agent/file_search.h"
#include "sandbox/file_agent/line_search.h"

namespace sandglass::sandbox {
namespace {

constexpr size_t kLineBytes = 32;
constexpr uint32_t kMaxContext = 1000;
constexpr size_t kMaxLineText = 64 * 1024;

class Grepper : public TreeVisitor {
 public:
  Grepper(FileTask& task, const internal::Grep& request)
      : task_(task),
        request_(request),
        clock_(request.max_millis()),
        before_(std::min(request.context_before(), kMaxContext)),
        after_(std::min(request.context_after(), kMaxContext)),
        line_bytes_(
            request.max_line_bytes() == 0
                ? kMaxLineText
                : std::min<size_t>(request.max_line_bytes(), kMaxLineText)) {}

  FileResult Parse() {
    return pattern_.Parse(request_.pattern(), request_.regex(),
                          request_.ignore_case());
  }

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
    if (!GoesOn()) return Next::kStop;
    if (entry.path.size() > kMaxToldPath) return Next::kSkip;
    if (S_ISDIR(entry.info.st_mode)) {
      return AnyMayHold(*patterns_, entry.path, entry.depth + 1) ? Next::kGoOn
                                                                 : Next::kSkip;
    }
    if (!S_ISREG(entry.info.st_mode) || !AnyMatches(*patterns_, entry.path)) {
      return Next::kSkip;
    }
    os::Fd file;
    struct stat info = {};
    const std::string path = JoinPath(base_, entry.path);
    if (seen_.insert(path).second &&
        OpenRegularAt(entry.directory, entry.name.c_str(), file, info).ok()) {
      SearchFile(path, file);
    }
    return GoesOn() ? Next::kSkip : Next::kStop;
  }

  void SearchFile(const std::string& path, const os::Fd& file) {
    LineReader reader(file);
    if (reader.IsBinary()) return;
    past_.clear();
    behind_ = 0;
    LinePiece piece;
    for (uint64_t number = 1; reader.Next(piece); ++number) {
      constexpr uint64_t kLookEach = 1024;
      if (number % kLookEach == 0 && !GoesOn()) return;
      size_t begin = 0, length = 0;
      std::string beginning;
      const bool found = FindIn(reader, piece, beginning, begin, length);
      if (found) {
        if (matches_ >= request_.max_matches()) {
          truncated_ = true;
          return;
        }
        ++matches_;
        for (internal::GrepLine& earlier : past_) {
          ReportLine(std::move(earlier));
        }
        past_.clear();
        behind_ = after_;
        ReportLine(Line(path, number, piece, begin, length));
      } else if (behind_ > 0) {
        --behind_;
        ReportLine(Context(path, number, piece));
      } else if (before_ > 0) {
        if (past_.size() >= before_) past_.pop_front();
        past_.push_back(Context(path, number, piece));
      }
      if (!result_.ok()) return;
    }
  }

  FileResult Finish(internal::FileReply& reply) {
    if (!result_.ok()) return result_;
    reply.Swap(&batch_);
    reply.set_truncated(truncated_ || left_out_);
    reply.set_count(matches_);
    return {};
  }

 private:
  bool GoesOn() {
    if (task_.Cancelled()) result_ = {FileCode::kCancelled, 0};
    if (clock_.Over()) truncated_ = true;
    return result_.ok() && !truncated_;
  }

  // Searches a line piece by piece. Afterwards `piece` is the one with the
  // match, or else has the line's beginning, for which `beginning` is room.
  bool FindIn(LineReader& reader, LinePiece& piece, std::string& beginning,
              size_t& begin, size_t& length) {
    bool found = pattern_.Find(piece, begin, length);
    if (found || piece.last) return found;
    beginning = std::string(CutLine(piece.text, 0, 0, line_bytes_));
    while (!found && !piece.last && GoesOn()) {
      reader.Continue(piece);
      found = pattern_.Find(piece, begin, length);
    }
    if (found) return true;
    if (!pattern_.FindsAllInPieces()) left_out_ = true;
    piece = {.text = beginning, .offset = 0, .last = false};
    return false;
  }

  internal::GrepLine Line(const std::string& path, uint64_t number,
                          const LinePiece& piece, size_t begin,
                          size_t length) const {
    internal::GrepLine told;
    told.set_path(path);
    told.set_line(number);
    told.set_column(piece.offset + begin + 1);
    const absl::string_view text =
        CutLine(piece.text, begin, length, line_bytes_);
    told.set_text(std::string(text));
    told.set_cut(piece.offset > 0 || !piece.last ||
                 text.size() < piece.text.size());
    return told;
  }

  internal::GrepLine Context(const std::string& path, uint64_t number,
                             const LinePiece& piece) const {
    internal::GrepLine told = Line(path, number, piece, 0, 0);
    told.set_column(0);
    return told;
  }

  void ReportLine(internal::GrepLine line) {
    batch_bytes_ += kLineBytes + line.path().size() + line.text().size();
    *batch_.add_lines() = std::move(line);
    if (batch_bytes_ < kFileBatchBytes - kMaxLineText) return;
    batch_bytes_ = 0;
    if (!task_.Send(batch_)) result_ = {FileCode::kCancelled, 0};
  }

  FileTask& task_;
  const internal::Grep& request_;
  const SearchClock clock_;
  const uint32_t before_;
  const uint32_t after_;
  const size_t line_bytes_;
  LinePattern pattern_;
  std::string base_;
  const std::vector<PathPattern>* patterns_ = nullptr;
  std::set<std::string> seen_;
  // The last lines, in case a match comes, and how many lines after a match are
  // still to be reported.
  std::deque<internal::GrepLine> past_;
  uint32_t behind_ = 0;
  internal::FileReply batch_;
  size_t batch_bytes_ = 0;
  size_t visited_ = 0;
  uint64_t matches_ = 0;
  bool truncated_ = false;
  // A longer match than what the pieces of a line share may be in one.
  bool left_out_ = false;
  FileResult result_;
};

}  // namespace

FileResult SearchText(FileTask& task, const internal::Grep& request,
                      internal::FileReply& reply) {
  Grepper grepper(task, request);
  if (FileResult result = grepper.Parse(); !result.ok()) return result;
  // The path may be that of a file.
  os::Fd file;
  struct stat info = {};
  const FileResult opened =
      OpenRegular(task.root(), request.path(), file, info);
  if (opened.ok()) {
    grepper.SearchFile(request.path(), file);
    return grepper.Finish(reply);
  }
  if (opened.code != FileCode::kIsDirectory) return opened;
  if (FileResult result = OpenDirectory(task.root(), request.path(), file);
      !result.ok()) {
    return result;
  }
  PatternsByBase patterns;
  const std::string everything = "*";
  FileResult result;
  if (request.include().empty()) {
    result =
        ParsePatterns(request.path(), everything, request.hidden(), patterns);
  }
  for (const std::string& include : request.include()) {
    if (!result.ok()) break;
    result = ParsePatterns(request.path(), include, request.hidden(), patterns);
  }
  if (!result.ok()) return result;
  for (const auto& [base, list] : patterns) {
    if (!grepper.Search(base, list)) break;
  }
  return grepper.Finish(reply);
}

}  // namespace sandglass::sandbox
