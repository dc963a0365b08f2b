#include "server/files/file_methods.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/strings.h"
#include "server/job/job.h"
#include "server/session/file_status.h"

namespace sandglass::server {
namespace {

using sandbox::FileAgent;
using sandbox::FileCode;
using Work = FileSession::Work;

constexpr int kMaxInBatch = 1000;
constexpr int kDefaultPage = 1000;
constexpr int kMaxInPage = 10'000;
constexpr uint32_t kDefaultMatches = 1000;
constexpr uint32_t kMaxMatches = 10'000;
constexpr uint32_t kMaxContext = 100;
constexpr int kMaxIncludes = 64;
constexpr uint32_t kMaxMode = 07777;
constexpr uint32_t kDirectoryMode = 0755;
constexpr size_t kMaxPatternBytes = 4096;
// The bytes that surround an entry in its list.
constexpr uint64_t kEntryBytes = 8;

absl::Status Invalid(const std::string& field, const std::string& why) {
  return InvalidRequest({{field, why}});
}

absl::Status CheckMode(const std::string& field, uint32_t mode) {
  if (mode <= kMaxMode) return absl::OkStatus();
  return Invalid(field, "must be permission bits, at most 07777");
}

absl::StatusOr<uint32_t> MatchesOf(uint32_t wanted) {
  if (wanted > kMaxMatches) {
    return Invalid("max_matches",
                   absl::StrCat("must be at most ", kMaxMatches));
  }
  return wanted == 0 ? kDefaultMatches : wanted;
}

absl::Status CheckPattern(const std::string& field, const std::string& text) {
  if (!text.empty() && text.size() <= kMaxPatternBytes) {
    return absl::OkStatus();
  }
  return Invalid(field,
                 absl::StrCat("must have 1 to ", kMaxPatternBytes, " bytes"));
}

// Records the result of one item of a batch: usually as the item's own error;
// as the error of the whole call when it makes no sense to go on.
template <typename Result>
absl::Status RecordResult(FileSession& files, sandbox::FileResult result,
                          Result& out) {
  if (result.ok()) return absl::OkStatus();
  absl::Status error = files.Check(result, out.path(), Work::kLong);
  const bool of_all = result.code == FileCode::kCancelled ||
                      result.code == FileCode::kTimedOut ||
                      result.code == FileCode::kAgentGone ||
                      result.code == FileCode::kAgentBroken;
  if (of_all) return error;
  out.set_error(ToProto(result.code));
  out.set_message(std::string(error.message()));
  return absl::OkStatus();
}

template <typename Result>
void RecordInvalid(const absl::Status& error, Result& out) {
  out.set_error(v1::FILE_ERROR_CODE_INVALID_PATH);
  out.set_message(std::string(error.message()));
}

// Adds those of a list's entries that fit into a message; returns false when
// these aren't all.
bool AddEntries(const sandbox::FileList& list,
                google::protobuf::RepeatedPtrField<v1::FileInfo>& entries) {
  uint64_t bytes = 0;
  for (const sandbox::FileFacts& facts : list.entries) {
    v1::FileInfo info = ToProto(facts);
    bytes += info.ByteSizeLong() + kEntryBytes;
    if (bytes > kMaxListedBytes) return false;
    *entries.Add() = std::move(info);
  }
  return !list.truncated;
}

// Reads an opened file completely if it has at most `room` bytes; otherwise
// says why not.
sandbox::FileResult ReadWhole(const sandbox::OpenedFile& opened, uint64_t room,
                              std::string& content) {
  if (opened.facts.size > room) return {FileCode::kTooLarge, 0};
  content.resize(static_cast<size_t>(opened.facts.size));
  size_t size = 0;
  while (size < content.size()) {
    const ssize_t got =
        ::pread(opened.file.get(), &content[size], content.size() - size,
                static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return sandbox::ResultOfErrno(errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  content.resize(size);
  return {};
}

}  // namespace

absl::StatusOr<sandbox::WriteOptions> WriteOptionsOf(
    const v1::FileWriteStart& start) {
  sandbox::WriteOptions options;
  switch (start.write_mode()) {
    case v1::FILE_WRITE_MODE_UNSPECIFIED:
    case v1::FILE_WRITE_MODE_REPLACE:
      break;
    case v1::FILE_WRITE_MODE_CREATE_NEW:
      options.how = sandbox::WriteMode::kCreateNew;
      break;
    case v1::FILE_WRITE_MODE_APPEND:
      options.how = sandbox::WriteMode::kAppend;
      break;
    default:
      return Invalid("start.write_mode", "is none that this server knows");
  }
  options.make_parents = start.make_parents();
  if (start.has_mode()) {
    if (absl::Status mode = CheckMode("start.mode", start.mode()); !mode.ok()) {
      return mode;
    }
    options.mode = start.mode();
  }
  return options;
}

absl::StatusOr<v1::UploadFilesResponse> Handle(
    FileSession& files, const v1::UploadFilesRequest& request) {
  if (request.files_size() > kMaxInBatch) {
    return Invalid("files", absl::StrCat("has more than ", kMaxInBatch));
  }
  v1::UploadFilesResponse response;
  for (const v1::FileUpload& file : request.files()) {
    v1::UploadedFile& out = *response.add_files();
    out.set_path(file.path());
    const absl::StatusOr<std::string> path = AgentPath(file.path());
    if (!path.ok()) {
      RecordInvalid(path.status(), out);
      continue;
    }
    sandbox::WriteOptions options;
    options.make_parents = true;
    if (file.has_mode()) {
      if (absl::Status mode = CheckMode("files.mode", file.mode());
          !mode.ok()) {
        return mode;
      }
      options.mode = file.mode();
    }
    sandbox::FileAnswer<sandbox::FileFacts> written = files.agent().Write(
        *path, file.content(), options, files.Limits(Work::kLong));
    if (absl::Status noted = RecordResult(files, written.result, out);
        !noted.ok()) {
      return noted;
    }
    if (written.ok()) {
      *out.mutable_info() = ToProto(std::move(written.value), *path);
    }
  }
  return response;
}

absl::StatusOr<v1::DownloadFilesResponse> Handle(
    FileSession& files, const v1::DownloadFilesRequest& request) {
  if (request.paths_size() > kMaxInBatch) {
    return Invalid("paths", absl::StrCat("has more than ", kMaxInBatch));
  }
  v1::DownloadFilesResponse response;
  uint64_t room = kMaxCollectedBytes;
  for (const std::string& wanted : request.paths()) {
    v1::DownloadedFile& out = *response.add_files();
    out.set_path(wanted);
    const absl::StatusOr<std::string> path = AgentPath(wanted);
    if (!path.ok()) {
      RecordInvalid(path.status(), out);
      continue;
    }
    sandbox::FileAnswer<sandbox::OpenedFile> opened =
        files.agent().Open(*path, files.Limits());
    sandbox::FileResult result = opened.result;
    if (result.ok()) {
      *out.mutable_info() = ToProto(opened.value.facts, *path);
      result = ReadWhole(opened.value, room, *out.mutable_content());
      room -= out.content().size();
    }
    if (absl::Status noted = RecordResult(files, result, out); !noted.ok()) {
      return noted;
    }
  }
  return response;
}

absl::StatusOr<v1::ListDirectoryResponse> Handle(
    FileSession& files, const v1::ListDirectoryRequest& request) {
  const absl::StatusOr<std::string> path =
      AgentPath(request.path(), EmptyPath::kWorkspace);
  if (!path.ok()) return path.status();
  if (request.page_size() < 0 || request.page_size() > kMaxInPage) {
    return Invalid("page_size", absl::StrCat("must be 0 to ", kMaxInPage));
  }
  constexpr size_t kLongestName = 255;
  if (request.page_token().size() > kLongestName) {
    return Invalid("page_token", "is none of this server's");
  }
  const int max = request.page_size() == 0 ? kDefaultPage : request.page_size();
  const sandbox::FileAnswer<sandbox::FileList> list =
      files.agent().List(*path, request.page_token(),
                         static_cast<uint32_t>(max), files.Limits(Work::kLong));
  if (absl::Status done = files.Check(list.result, *path, Work::kLong);
      !done.ok()) {
    return done;
  }
  v1::ListDirectoryResponse response;
  const bool all = AddEntries(list.value, *response.mutable_entries());
  const auto count = static_cast<size_t>(response.entries_size());
  if (!all && count > 0) {
    response.set_next_page_token(list.value.entries[count - 1].name);
  }
  return response;
}

absl::StatusOr<v1::StatFileResponse> Handle(
    FileSession& files, const v1::StatFileRequest& request) {
  const absl::StatusOr<std::string> path = AgentPath(request.path());
  if (!path.ok()) return path.status();
  sandbox::FileAnswer<sandbox::FileFacts> facts =
      files.agent().Stat(*path,
                         request.no_follow() ? FileAgent::Links::kNoFollow
                                             : FileAgent::Links::kFollow,
                         files.Limits());
  if (absl::Status done = files.Check(facts.result, *path); !done.ok()) {
    return done;
  }
  v1::StatFileResponse response;
  *response.mutable_info() = ToProto(std::move(facts.value), *path);
  return response;
}

absl::StatusOr<v1::RemoveFileResponse> Handle(
    FileSession& files, const v1::RemoveFileRequest& request) {
  const absl::StatusOr<std::string> path = AgentPath(request.path());
  if (!path.ok()) return path.status();
  const Work work = request.recursive() ? Work::kLong : Work::kShort;
  const sandbox::FileAnswer<uint64_t> removed =
      files.agent().Remove(*path,
                           request.recursive() ? FileAgent::Depth::kRecursive
                                               : FileAgent::Depth::kOne,
                           files.Limits(work));
  if (absl::Status done = files.Check(removed.result, *path, work);
      !done.ok()) {
    return done;
  }
  v1::RemoveFileResponse response;
  response.set_removed(removed.value);
  return response;
}

absl::StatusOr<v1::MoveFileResponse> Handle(
    FileSession& files, const v1::MoveFileRequest& request) {
  const absl::StatusOr<std::string> from = AgentPath(request.source());
  if (!from.ok()) return from.status();
  const absl::StatusOr<std::string> to = AgentPath(request.destination());
  if (!to.ok()) return to.status();
  const sandbox::FileResult moved = files.agent().Move(
      *from, *to,
      request.overwrite() ? FileAgent::Overwrite::kYes
                          : FileAgent::Overwrite::kNo,
      request.make_parents() ? FileAgent::Parents::kMake
                             : FileAgent::Parents::kMustExist,
      files.Limits(Work::kLong));
  if (absl::Status done =
          files.Check(moved, absl::StrCat(*from, " to ", *to), Work::kLong);
      !done.ok()) {
    return done;
  }
  return v1::MoveFileResponse();
}

absl::StatusOr<v1::MakeDirectoryResponse> Handle(
    FileSession& files, const v1::MakeDirectoryRequest& request) {
  const absl::StatusOr<std::string> path = AgentPath(request.path());
  if (!path.ok()) return path.status();
  if (absl::Status mode = CheckMode("mode", request.mode()); !mode.ok()) {
    return mode;
  }
  const sandbox::FileResult made = files.agent().MakeDirectory(
      *path,
      request.make_parents() ? FileAgent::Parents::kMake
                             : FileAgent::Parents::kMustExist,
      request.has_mode() ? request.mode() : kDirectoryMode, files.Limits());
  if (absl::Status done = files.Check(made, *path); !done.ok()) return done;
  return v1::MakeDirectoryResponse();
}

absl::StatusOr<v1::GlobFilesResponse> Handle(
    FileSession& files, const v1::GlobFilesRequest& request) {
  const absl::StatusOr<std::string> path =
      AgentPath(request.path(), EmptyPath::kWorkspace);
  if (!path.ok()) return path.status();
  const absl::StatusOr<uint32_t> max = MatchesOf(request.max_matches());
  if (!max.ok()) return max.status();
  if (absl::Status pattern = CheckPattern("pattern", request.pattern());
      !pattern.ok()) {
    return pattern;
  }
  sandbox::GlobOptions options;
  options.files_only = !request.directories();
  options.hidden = request.hidden();
  options.max_matches = *max;
  const sandbox::FileAnswer<sandbox::FileList> found = files.agent().Glob(
      *path, request.pattern(), options, files.Limits(Work::kLong));
  if (absl::Status done = files.Check(found.result, *path, Work::kLong);
      !done.ok()) {
    return done;
  }
  v1::GlobFilesResponse response;
  response.set_truncated(!AddEntries(found.value, *response.mutable_entries()));
  return response;
}

namespace {

absl::StatusOr<sandbox::GrepOptions> GrepOptionsOf(
    const v1::GrepFilesRequest& request) {
  const absl::StatusOr<uint32_t> max = MatchesOf(request.max_matches());
  if (!max.ok()) return max.status();
  if (absl::Status pattern = CheckPattern("pattern", request.pattern());
      !pattern.ok()) {
    return pattern;
  }
  if (std::max(request.context_before(), request.context_after()) >
      kMaxContext) {
    return Invalid("context_before", absl::StrCat("and context_after must be "
                                                  "at most ",
                                                  kMaxContext));
  }
  if (request.include_size() > kMaxIncludes) {
    return Invalid("include", absl::StrCat("has more than ", kMaxIncludes));
  }
  sandbox::GrepOptions options;
  options.regex = request.regex();
  options.ignore_case = request.ignore_case();
  for (const std::string& include : request.include()) {
    if (absl::Status pattern = CheckPattern("include", include);
        !pattern.ok()) {
      return pattern;
    }
    options.include.push_back(include);
  }
  options.hidden = request.hidden();
  options.context_before = request.context_before();
  options.context_after = request.context_after();
  options.max_matches = *max;
  return options;
}

}  // namespace

absl::StatusOr<v1::GrepFilesResponse> Handle(
    FileSession& files, const v1::GrepFilesRequest& request) {
  const absl::StatusOr<std::string> path =
      AgentPath(request.path(), EmptyPath::kWorkspace);
  if (!path.ok()) return path.status();
  const absl::StatusOr<sandbox::GrepOptions> options = GrepOptionsOf(request);
  if (!options.ok()) return options.status();
  sandbox::FileAnswer<sandbox::TextMatches> found = files.agent().Grep(
      *path, request.pattern(), *options, files.Limits(Work::kLong));
  if (absl::Status done = files.Check(found.result, *path, Work::kLong);
      !done.ok()) {
    return done;
  }
  v1::GrepFilesResponse response;
  response.set_truncated(found.value.truncated);
  uint64_t bytes = 0;
  for (sandbox::TextLine& line : found.value.lines) {
    v1::GrepLine out;
    out.set_path(AsUtf8(line.path));
    out.set_line(line.line);
    out.set_column(line.column);
    out.set_text(AsUtf8(line.text));
    out.set_cut(line.cut);
    bytes += out.ByteSizeLong() + kEntryBytes;
    if (bytes > kMaxListedBytes) {
      response.set_truncated(true);
      break;
    }
    *response.add_lines() = std::move(out);
    if (line.column > 0) response.set_matches(response.matches() + 1);
  }
  return response;
}

absl::StatusOr<v1::EditFileResponse> Handle(
    FileSession& files, const v1::EditFileRequest& request) {
  const absl::StatusOr<std::string> path = AgentPath(request.path());
  if (!path.ok()) return path.status();
  if (request.old_text().empty()) return Invalid("old_text", "is empty");
  const sandbox::FileAnswer<uint64_t> edited =
      files.agent().Edit(*path, request.old_text(), request.new_text(),
                         request.replace_all() ? FileAgent::Occurrences::kAll
                                               : FileAgent::Occurrences::kOne,
                         files.Limits(Work::kLong));
  const std::string what =
      edited.result.code == FileCode::kMultiple
          ? absl::StrCat("the text is ", edited.value, " times in ", *path)
          : *path;
  if (absl::Status done = files.Check(edited.result, what, Work::kLong);
      !done.ok()) {
    return done;
  }
  v1::EditFileResponse response;
  response.set_replacements(edited.value);
  return response;
}

}  // namespace sandglass::server
