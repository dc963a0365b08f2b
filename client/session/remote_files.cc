#include "client/session/remote_files.h"

#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/connection/error_text.h"
#include "client/session/session_calls.h"

namespace sandglass::client {
namespace {

constexpr size_t kFilePieceBytes = 256 * 1024;

using FileStub = v1::FileService::Stub;

template <typename Request, typename Response>
grpc::Status Ask(const Daemon& daemon, InterruptWatcher& interrupts,
                 grpc::Status (FileStub::*method)(grpc::ClientContext*,
                                                  const Request&, Response*),
                 const Request& request, Response& response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kSessionPatience);
  const InterruptWatcher::Scope scope(interrupts, context);
  return ((*daemon.files).*method)(&context, request, &response);
}

// Sends what comes from `fd` to a stream that has begun, and ends the stream
// with `last`. If the file can't be read to its end, the call is cancelled,
// because half of it must not look like the whole.
template <typename Request, typename SetData>
CopyEnd Feed(grpc::ClientContext& context, grpc::ClientWriter<Request>& writer,
             int fd, SetData set_data, const Request* last) {
  CopyEnd end;
  std::vector<char> buffer(kFilePieceBytes);
  Request request;
  for (bool open = true; open;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      end.local = absl::ErrnoToStatus(errno, "cannot read it");
      context.TryCancel();
    }
    if (got <= 0) break;
    set_data(request, std::string(buffer.data(), static_cast<size_t>(got)));
    open = writer.Write(request);
  }
  if (end.local.ok() && last != nullptr) writer.Write(*last);
  writer.WritesDone();
  end.call = writer.Finish();
  return end;
}

// Passes the data of a stream of answers to `sink`.
template <typename Response, typename Handle>
CopyEnd Drain(grpc::ClientContext& context,
              grpc::ClientReader<Response>& reader, Handle handle) {
  CopyEnd end;
  Response response;
  while (reader.Read(&response)) {
    // After a cancellation the rest is read and dropped, because Finish needs
    // the stream's end.
    if (!end.local.ok()) continue;
    end.local = handle(response);
    if (!end.local.ok()) context.TryCancel();
  }
  end.call = reader.Finish();
  return end;
}

}  // namespace

grpc::Status RemoteFiles::Stat(const std::string& path,
                               v1::FileInfo& info) const {
  v1::StatFileRequest request;
  request.set_session_id(session_id_);
  request.set_path(path);
  v1::StatFileResponse response;
  grpc::Status status =
      Ask(daemon_, interrupts_, &FileStub::StatFile, request, response);
  if (status.ok()) info = std::move(*response.mutable_info());
  return status;
}

grpc::Status RemoteFiles::MakeDirectory(const std::string& path,
                                        uint32_t mode) const {
  v1::MakeDirectoryRequest request;
  request.set_session_id(session_id_);
  request.set_path(path);
  request.set_make_parents(true);
  request.set_mode(mode);
  v1::MakeDirectoryResponse response;
  return Ask(daemon_, interrupts_, &FileStub::MakeDirectory, request, response);
}

grpc::Status RemoteFiles::List(const std::string& path,
                               v1::ListDirectoryResponse& page) const {
  v1::ListDirectoryRequest request;
  request.set_session_id(session_id_);
  request.set_path(path);
  request.set_page_token(page.next_page_token());
  return Ask(daemon_, interrupts_, &FileStub::ListDirectory, request, page);
}

grpc::Status RemoteFiles::Upload(v1::UploadFilesRequest request,
                                 v1::UploadFilesResponse& response) const {
  request.set_session_id(session_id_);
  return Ask(daemon_, interrupts_, &FileStub::UploadFiles, request, response);
}

grpc::Status RemoteFiles::Download(v1::DownloadFilesRequest request,
                                   v1::DownloadFilesResponse& response) const {
  request.set_session_id(session_id_);
  return Ask(daemon_, interrupts_, &FileStub::DownloadFiles, request, response);
}

CopyEnd RemoteFiles::Read(const std::string& path, const Sink& sink,
                          v1::FileInfo& info) const {
  v1::ReadFileRequest request;
  request.set_session_id(session_id_);
  request.set_path(path);
  grpc::ClientContext context;
  const InterruptWatcher::Scope scope(interrupts_, context);
  const auto reader = daemon_.files->ReadFile(&context, request);
  return Drain(context, *reader, [&](const v1::ReadFileResponse& response) {
    if (response.has_info()) info = response.info();
    return sink(response.data());
  });
}

CopyEnd RemoteFiles::Write(const std::string& path, int fd, int mode) const {
  grpc::ClientContext context;
  const InterruptWatcher::Scope scope(interrupts_, context);
  v1::WriteFileResponse response;
  const auto writer = daemon_.files->WriteFile(&context, &response);
  v1::WriteFileRequest first;
  v1::FileWriteStart& start = *first.mutable_start();
  start.set_session_id(session_id_);
  start.set_path(path);
  start.set_make_parents(true);
  if (mode >= 0) start.set_mode(static_cast<uint32_t>(mode));
  writer->Write(first);
  v1::WriteFileRequest last;
  last.set_data("");
  last.set_finish(true);
  return Feed(
      context, *writer, fd,
      [](v1::WriteFileRequest& request, std::string data) {
        request.set_data(std::move(data));
      },
      &last);
}

CopyEnd RemoteFiles::Snapshot(const std::string& path, const Sink& sink) const {
  v1::SnapshotFilesRequest request;
  request.set_session_id(session_id_);
  request.set_path(path);
  grpc::ClientContext context;
  const InterruptWatcher::Scope scope(interrupts_, context);
  const auto reader = daemon_.files->SnapshotFiles(&context, request);
  return Drain(context, *reader,
               [&](const v1::SnapshotFilesResponse& response) {
                 return sink(response.data());
               });
}

CopyEnd RemoteFiles::Restore(v1::RestoreFilesStart start, int fd,
                             v1::RestoreFilesResponse& response) const {
  grpc::ClientContext context;
  const InterruptWatcher::Scope scope(interrupts_, context);
  const auto writer = daemon_.files->RestoreFiles(&context, &response);
  start.set_session_id(session_id_);
  v1::RestoreFilesRequest first;
  *first.mutable_start() = std::move(start);
  writer->Write(first);
  return Feed(
      context, *writer, fd,
      [](v1::RestoreFilesRequest& request, std::string data) {
        request.set_data(std::move(data));
      },
      static_cast<const v1::RestoreFilesRequest*>(nullptr));
}

int RemoteFiles::Explain(const CopyEnd& end, absl::string_view name) const {
  if (end.ok()) return kExitOk;
  if (interrupts_.signal() != 0) return kExitSignalBase + interrupts_.signal();
  if (end.local.ok()) return FailCall(end.call, daemon_);
  return Fail(absl::Status(
      end.local.code(),
      absl::StrCat(VisibleText(name), ": ", VisibleText(end.local.message()))));
}

bool RemoteFiles::EndsAll(const CopyEnd& end) {
  if (!end.local.ok() || end.call.ok()) return false;
  const std::string reason = ErrorReason(end.call);
  return !absl::StartsWith(reason, "FILE_") ||
         absl::StartsWith(reason, "FILE_AGENT_");
}

}  // namespace sandglass::client
