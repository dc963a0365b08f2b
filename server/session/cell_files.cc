#include "server/session/cell_files.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "policy/text/paths.h"
#include "sandbox/os/clocks.h"
#include "server/base/clock.h"
#include "server/base/strings.h"
#include "server/job/collect_files.h"
#include "server/session/file_status.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kFetchTimeout = absl::Seconds(10);

bool IsBrought(const Job::File& file) {
  return file.shared == nullptr && !file.of_language;
}

// Names in patterns are relative to /workspace, or absolute.
bool IsAbsolute(const std::string& name) { return name[0] == '/'; }

std::string AbsolutePath(const std::string& name) {
  return IsAbsolute(name) ? name : absl::StrCat(kWorkspacePrefix, name);
}

// To the agent, a brace outside of a bracket expression means something.
std::string WithPlainBraces(absl::string_view pattern) {
  std::string plain;
  while (!pattern.empty()) {
    const size_t length =
        std::max<size_t>(policy::BracketLength(StdView(pattern)), 1);
    const absl::string_view element = pattern.substr(0, length);
    absl::StrAppend(&plain, element == "{" ? "[{]" : element);
    pattern.remove_prefix(length);
  }
  return plain;
}

bool Matches(const std::string& pattern, const std::string& name) {
  const size_t start = IsAbsolute(pattern) ? 1 : 0;
  return policy::GlobMatch(pattern.substr(start), name.substr(start));
}

FileError ErrorOf(sandbox::FileCode code) {
  switch (code) {
    case sandbox::FileCode::kOk:
      return FileError::kNone;
    case sandbox::FileCode::kNotFound:
    case sandbox::FileCode::kNotDirectory:
    case sandbox::FileCode::kInvalidPath:
      return FileError::kNotFound;
    case sandbox::FileCode::kPermissionDenied:
      return FileError::kPermissionDenied;
    case sandbox::FileCode::kIsDirectory:
      return FileError::kIsDirectory;
    case sandbox::FileCode::kNotRegular:
      return FileError::kNotRegular;
    default:
      return FileError::kUnavailable;
  }
}

class Fetcher {
 public:
  Fetcher(const Job& job, sandbox::FileAgent& agent, JobResult& result)
      : job_(job),
        agent_(agent),
        result_(result),
        end_(os::SteadyNow() + kFetchTimeout),
        budget_(job.max_collected_bytes) {}

  void Fetch(const std::string& pattern) {
    // A file of that very name is what is meant; with a star also what matches.
    const bool glob = policy::IsGlob(pattern);
    bool any = Add(pattern, /*also_missing=*/!glob);
    if (!glob || (any && !absl::StrContains(pattern, '*'))) return;
    sandbox::GlobOptions options;
    options.hidden = true;
    const auto found = agent_.Glob("/", WithPlainBraces(AbsolutePath(pattern)),
                                   options, Limits());
    if (!found.ok()) return Miss(pattern, ErrorOf(found.result.code));
    result_.files_left_out |= found.value.truncated;
    for (const sandbox::FileFacts& facts : found.value.entries) {
      std::string name = facts.name;
      if (!IsAbsolute(pattern)) {
        if (!absl::StartsWith(name, kWorkspacePrefix)) continue;
        name.erase(0, sizeof(kWorkspacePrefix) - 1);
      }
      if (!Matches(pattern, name)) continue;
      any = true;
      Add(name, /*also_missing=*/true);
    }
    if (!any) Miss(pattern, FileError::kNotFound);
  }

 private:
  sandbox::FileLimits Limits() const {
    return sandbox::FileLimits{.timeout = kFetchTimeout}.Until(end_);
  }

  void Miss(const std::string& name, FileError error) {
    result_.files.push_back({.path = name, .error = error});
  }

  // Adds the file of that name, each only once. False: there is none, and
  // nothing was added.
  bool Add(const std::string& name, bool also_missing) {
    if (seen_.contains(name)) return true;
    auto opened = agent_.Open(AbsolutePath(name), Limits());
    const FileError error = ErrorOf(opened.result.code);
    if (error == FileError::kNotFound && !also_missing) return false;
    seen_.insert(name);
    if (seen_.size() > job_.max_collected_files) {
      result_.files_left_out = true;
    } else if (error != FileError::kNone) {
      Miss(name, error);
    } else {
      result_.files.push_back(
          ReadCollectedFile({.path = name,
                             .problem = sandbox::FileProblem::kNone,
                             .file = std::move(opened.value.file)},
                            budget_));
    }
    return true;
  }

  const Job& job_;
  sandbox::FileAgent& agent_;
  JobResult& result_;
  const absl::Time end_;
  uint64_t budget_;
  std::set<std::string> seen_;
};

}  // namespace

bool BringsFiles(const Job& job) {
  return std::ranges::any_of(job.files, IsBrought);
}

absl::Status PutFiles(const Job& job, sandbox::FileAgent& agent,
                      const CancelToken& cancel) {
  for (const Job::File& file : job.files) {
    if (!IsBrought(file)) continue;
    sandbox::WriteOptions options;
    options.make_parents = true;
    options.mode = file.executable ? 0755 : 0644;
    const std::string path = absl::StrCat(kWorkspacePrefix, file.path);
    const auto written =
        agent.Write(path, file.content, options, {.cancel_fd = cancel.fd()});
    if (!written.ok()) return FileStatus(written.result, path);
  }
  return absl::OkStatus();
}

void FetchFiles(const Job& job, sandbox::FileAgent* agent, JobResult& result) {
  const MonotonicTime began = Now();
  if (agent == nullptr) {
    for (const std::string& pattern : job.fetch) {
      result.files.push_back(
          {.path = pattern, .error = FileError::kUnavailable});
    }
    return;
  }
  Fetcher fetcher(job, *agent, result);
  for (const std::string& pattern : job.fetch) fetcher.Fetch(pattern);
  result.timings.stage_out = Between(began, Now());
}

}  // namespace sandglass::server
