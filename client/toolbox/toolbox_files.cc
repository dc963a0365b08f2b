#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/base/utf8_check.h"
#include "client/toolbox/daemon_calls.h"
#include "client/toolbox/toolbox.h"

namespace sandglass::client {
namespace {

constexpr uint64_t kMaxEntries = 500;
// The most entries that are counted without being shown.
constexpr uint64_t kMaxCounted = 100'000;

absl::Status CheckPath(const std::string& sandbox_id, const std::string& path) {
  absl::Status status = CheckUtf8("the sandbox's id", sandbox_id);
  status.Update(CheckUtf8("the path", path));
  return status;
}

std::string Times(uint64_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// A line such as "src/", "main.py  1.2 KiB", "latest -> run-3".
std::string EntryLine(const v1::FileInfo& entry) {
  const std::string name = VisibleText(entry.path());
  switch (entry.type()) {
    case v1::FILE_TYPE_DIRECTORY:
      return absl::StrCat(name, "/");
    case v1::FILE_TYPE_SYMLINK:
      return absl::StrCat(name, " -> ", VisibleText(entry.link_target()));
    case v1::FILE_TYPE_REGULAR:
      return absl::StrCat(name, "  ", FormatByteSize(entry.size()));
    default:
      return absl::StrCat(name, "  (no regular file)");
  }
}

}  // namespace

ToolAnswer Toolbox::WriteFile(const std::string& sandbox_id,
                              const std::string& path,
                              const std::string& content,
                              CallCancel& cancel) const {
  if (const absl::Status status = CheckPath(sandbox_id, path); !status.ok()) {
    return BadArgument(status);
  }
  const grpc::Status status =
      WriteWhole(daemon_, sandbox_id, path, content, cancel);
  if (!status.ok()) return CallErrorAnswer(status, daemon_, bounds_, cancel);
  ToolAnswer answer;
  answer.text = absl::StrCat("wrote ", Times(content.size(), "byte"), " to ",
                             VisibleText(path));
  return answer;
}

ToolAnswer Toolbox::EditFile(const std::string& sandbox_id,
                             const std::string& path, const std::string& from,
                             const std::string& to, bool all,
                             CallCancel& cancel) const {
  if (const absl::Status status = CheckPath(sandbox_id, path); !status.ok()) {
    return BadArgument(status);
  }
  v1::EditFileRequest request;
  request.set_session_id(sandbox_id);
  request.set_path(path);
  request.set_old_text(from);
  request.set_new_text(to);
  request.set_replace_all(all);
  v1::EditFileResponse response;
  const grpc::Status status =
      MakeCancellableCall(*daemon_.files, &v1::FileService::Stub::EditFile,
                          request, response, cancel, kToolPatience);
  if (!status.ok()) return CallErrorAnswer(status, daemon_, bounds_, cancel);
  ToolAnswer answer;
  answer.text =
      absl::StrCat("replaced ", Times(response.replacements(), "place"), " in ",
                   VisibleText(path));
  return answer;
}

ToolAnswer Toolbox::InsertLines(const std::string& sandbox_id,
                                const std::string& path, uint64_t line,
                                const std::string& text,
                                CallCancel& cancel) const {
  if (const absl::Status status = CheckPath(sandbox_id, path); !status.ok()) {
    return BadArgument(status);
  }
  v1::DownloadFilesRequest request;
  request.set_session_id(sandbox_id);
  request.add_paths(path);
  v1::DownloadFilesResponse response;
  grpc::Status status =
      MakeCancellableCall(*daemon_.files, &v1::FileService::Stub::DownloadFiles,
                          request, response, cancel, kToolPatience);
  if (!status.ok()) return CallErrorAnswer(status, daemon_, bounds_, cancel);
  if (response.files_size() != 1 ||
      response.files(0).error() != v1::FILE_ERROR_CODE_UNSPECIFIED) {
    return BadArgument(absl::InvalidArgumentError(absl::StrCat(
        VisibleText(path), ": ",
        response.files_size() == 1 ? VisibleText(response.files(0).message())
                                   : "it can't be read")));
  }
  std::string content = response.files(0).content();
  size_t place = 0;
  for (uint64_t i = 0; i < line; ++i) {
    const size_t end = content.find('\n', place);
    if (place == content.size()) {
      return BadArgument(absl::InvalidArgumentError(
          absl::StrCat(VisibleText(path), " has only ", Times(i, "line"))));
    }
    place = end == std::string::npos ? content.size() : end + 1;
  }
  if (place > 0 && content[place - 1] != '\n') {
    content += '\n';
    ++place;
  }
  const bool whole = text.empty() || text.back() == '\n';
  content.insert(place, absl::StrCat(text, whole ? "" : "\n"));
  status = WriteWhole(daemon_, sandbox_id, path, content, cancel);
  if (!status.ok()) return CallErrorAnswer(status, daemon_, bounds_, cancel);
  ToolAnswer answer;
  answer.text = absl::StrCat("put ", Times(text.size(), "byte"),
                             " behind line ", line, " of ", VisibleText(path));
  return answer;
}

ToolAnswer Toolbox::ListFiles(const std::string& sandbox_id,
                              const std::string& path,
                              CallCancel& cancel) const {
  if (const absl::Status status = CheckPath(sandbox_id, path); !status.ok()) {
    return BadArgument(status);
  }
  std::string lines;
  uint64_t entries = 0;
  v1::ListDirectoryResponse page;
  do {
    v1::ListDirectoryRequest request;
    request.set_session_id(sandbox_id);
    request.set_path(path);
    request.set_page_token(page.next_page_token());
    page.Clear();
    const grpc::Status status = MakeCancellableCall(
        *daemon_.files, &v1::FileService::Stub::ListDirectory, request, page,
        cancel, kToolPatience);
    if (!status.ok()) return CallErrorAnswer(status, daemon_, bounds_, cancel);
    for (const v1::FileInfo& entry : page.entries()) {
      if (entries++ < kMaxEntries) {
        absl::StrAppend(&lines, EntryLine(entry), "\n");
      }
    }
  } while (!page.next_page_token().empty() && entries < kMaxCounted);
  const bool more = !page.next_page_token().empty();
  AnswerText text(absl::StrCat(
      VisibleText(path.empty() ? "/workspace" : path), ": ",
      more ? "more than " : "",
      entries == 1 ? "1 entry" : absl::StrCat(entries, " entries")));
  text.Add("", lines);
  if (entries > kMaxEntries) {
    text.AddNote(absl::StrCat("the first ", kMaxEntries, " of ",
                              more ? "more than " : "", entries, " entries"));
  }
  ToolAnswer answer;
  answer.text = text.Render(bounds_.text_bytes, "list a directory below it");
  return answer;
}

}  // namespace sandglass::client
