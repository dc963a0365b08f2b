#include "client/session/session_file_commands.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/base/text_table.h"
#include "client/base/units.h"
#include "client/base/utf8_check.h"
#include "client/connection/error_text.h"
#include "client/session/remote_files.h"
#include "client/session/session_calls.h"
#include "client/terminal/interrupt_watcher.h"
#include "client/terminal/terminal_look.h"

namespace sandglass::client {
namespace {

using FileStub = v1::FileService::Stub;

constexpr int kNamesPerPage = 10000;
// Keeps a session that has names without end from filling our memory.
constexpr int kMaxNamePages = 100;

// The kind and the permission bits in the form of ls: "-rw-r--r--".
std::string ModeText(const v1::FileInfo& info) {
  std::string text = "?";
  if (info.type() == v1::FILE_TYPE_REGULAR) text = "-";
  if (info.type() == v1::FILE_TYPE_DIRECTORY) text = "d";
  if (info.type() == v1::FILE_TYPE_SYMLINK) text = "l";
  for (int bit = 8; bit >= 0; --bit) {
    const bool set = (info.mode() & (1u << bit)) != 0;
    text.push_back(set ? "xwr"[bit % 3] : '-');
  }
  return text;
}

std::string NameText(const v1::FileInfo& info) {
  return info.link_target().empty()
             ? info.path()
             : absl::StrCat(info.path(), " -> ", info.link_target());
}

grpc::Status CollectNames(const Daemon& daemon, const SessionLsOptions& options,
                          v1::ListDirectoryResponse& all) {
  v1::ListDirectoryRequest request;
  request.set_session_id(options.session_id);
  request.set_path(options.path);
  request.set_page_size(kNamesPerPage);
  for (int i = 0; i < kMaxNamePages; ++i) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kSessionPatience);
    v1::ListDirectoryResponse page;
    grpc::Status status = daemon.files->ListDirectory(&context, request, &page);
    if (!status.ok()) return status;
    for (v1::FileInfo& entry : *page.mutable_entries()) {
      if (options.all || !absl::StartsWith(entry.path(), ".")) {
        *all.add_entries() = std::move(entry);
      }
    }
    if (page.next_page_token().empty()) break;
    request.set_page_token(page.next_page_token());
  }
  return grpc::Status::OK;
}

// A file is listed as if it were the only one in its directory.
grpc::Status CollectFile(const Daemon& daemon, const SessionLsOptions& options,
                         v1::ListDirectoryResponse& all) {
  v1::StatFileRequest request;
  request.set_session_id(options.session_id);
  request.set_path(options.path);
  request.set_no_follow(true);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kSessionPatience);
  v1::StatFileResponse response;
  grpc::Status status = daemon.files->StatFile(&context, request, &response);
  if (status.ok()) *all.add_entries() = std::move(*response.mutable_info());
  return status;
}

}  // namespace

std::string EntriesText(const v1::ListDirectoryResponse& entries,
                        const SessionLsOptions& options) {
  if (!options.details) {
    std::string text;
    for (const v1::FileInfo& entry : entries.entries()) {
      absl::StrAppend(&text, VisibleText(entry.path()), "\n");
    }
    return text;
  }
  std::vector<std::vector<std::string>> rows;
  for (const v1::FileInfo& entry : entries.entries()) {
    rows.push_back(
        {ModeText(entry), FormatByteSize(entry.size()),
         absl::FormatTime("%Y-%m-%d %H:%M:%S", FromProto(entry.modify_time()),
                          absl::LocalTimeZone()),
         NameText(entry)});
  }
  return TextTable(rows, "");
}

int Run(const Daemon& daemon, const SessionLsOptions& options) {
  absl::Status checked = CheckId(options.session_id);
  checked.Update(CheckUtf8("PATH", options.path));
  if (!checked.ok()) return Fail(checked);
  v1::ListDirectoryResponse entries;
  grpc::Status status = CollectNames(daemon, options, entries);
  if (ErrorReason(status) == "FILE_NOT_DIRECTORY") {
    status = CollectFile(daemon, options, entries);
  }
  if (!status.ok()) return FailCall(status, daemon);
  return options.json ? PrintJson(entries)
                      : PrintText(EntriesText(entries, options));
}

int SessionRestoreCommand(const Endpoint& endpoint,
                          const SessionRestoreOptions& options) {
  absl::Status checked = CheckId(options.session_id);
  checked.Update(CheckUtf8("PATH", options.path));
  if (!checked.ok()) return Fail(checked);
  UniqueFd file;
  if (options.input != "-") {
    file = UniqueFd(open(options.input.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) {
      return Fail(absl::ErrnoToStatus(
          errno,
          absl::StrCat("cannot open '", VisibleText(options.input), "'")));
    }
  }
  // ORDER: before the channel, whose threads inherit the signal mask.
  absl::StatusOr<std::unique_ptr<InterruptWatcher>> interrupts =
      InterruptWatcher::Start();
  if (!interrupts.ok()) return Fail(interrupts.status());
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  const RemoteFiles remote(*daemon, options.session_id, **interrupts);
  v1::RestoreFilesStart start;
  start.set_path(options.path);
  start.set_replace(options.replace);
  v1::RestoreFilesResponse response;
  WaitLine waiting("unpacking");
  const CopyEnd end = remote.Restore(
      std::move(start), file.valid() ? file.get() : STDIN_FILENO, response);
  waiting.End();
  if (!end.ok()) {
    const int code = remote.Explain(end, options.input);
    const std::string reason = ErrorReason(end.call);
    if (end.local.ok() &&
        (reason == "FILE_BAD_ARCHIVE" || reason == "FILE_INCOMPLETE")) {
      WriteAll(STDERR_FILENO,
               "  FILE must be a whole tar archive, not compressed; one that "
               "is: gzip -dc FILE | sandglass session restore ID -\n");
    }
    return code;
  }
  if (options.json) return PrintJson(response);
  return PrintText(absl::StrCat(
      response.files(), response.files() == 1 ? " file" : " files", ", ",
      FormatByteSize(response.bytes()),
      response.skipped() > 0
          ? absl::StrCat("; ", response.skipped(), " entries left out")
          : "",
      "\n"));
}

}  // namespace sandglass::client
