#include "tests/client/fake/fake_files.h"

#include <algorithm>
#include <utility>

#include "google/rpc/error_details.pb.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

constexpr size_t kPiece = 1000;

std::string Absolute(const std::string& path) {
  std::string whole = path;
  if (path.empty() || path == ".") whole = "/workspace";
  if (whole[0] != '/') whole = "/workspace/" + whole;
  while (whole.size() > 1 && whole.back() == '/') whole.pop_back();
  return whole;
}

grpc::Status FileError(grpc::StatusCode code, const std::string& reason,
                       const std::string& path) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("sandglass");
  return RichStatus(code, path + ": " + reason, {&info});
}

grpc::Status NotFound(const std::string& path) {
  return FileError(grpc::StatusCode::NOT_FOUND, "FILE_NOT_FOUND", path);
}

v1::FileInfo InfoOf(const std::string& path, const FakeFile& file) {
  v1::FileInfo info;
  info.set_path(path);
  info.set_type(file.type);
  info.set_size(file.content.size());
  info.set_mode(file.mode);
  info.mutable_modify_time()->set_seconds(1700000000);
  if (file.type == v1::FILE_TYPE_SYMLINK) info.set_link_target(file.content);
  return info;
}

}  // namespace

FakeFiles::FakeFiles() {
  files_["/workspace"] = {v1::FILE_TYPE_DIRECTORY, "", 0755};
}

std::map<std::string, FakeFile> FakeFiles::all() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return files_;
}

void FakeFiles::Put(const std::string& path, const FakeFile& file) {
  const std::lock_guard<std::mutex> lock(mutex_);
  files_[Absolute(path)] = file;
}

grpc::Status FakeFiles::StatFile(grpc::ServerContext*,
                                 const v1::StatFileRequest* request,
                                 v1::StatFileResponse* response) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = files_.find(Absolute(request->path()));
  if (found == files_.end()) return NotFound(request->path());
  *response->mutable_info() = InfoOf(found->first, found->second);
  return grpc::Status::OK;
}

grpc::Status FakeFiles::ListDirectory(grpc::ServerContext*,
                                      const v1::ListDirectoryRequest* request,
                                      v1::ListDirectoryResponse* response) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string top = Absolute(request->path());
  const auto found = files_.find(top);
  if (found == files_.end()) return NotFound(request->path());
  if (found->second.type != v1::FILE_TYPE_DIRECTORY) {
    return FileError(grpc::StatusCode::FAILED_PRECONDITION,
                     "FILE_NOT_DIRECTORY", request->path());
  }
  // One entry a page: clients have to ask for the next.
  const std::string& after = request->page_token();
  for (const auto& [path, file] : files_) {
    if (path.rfind(top + "/", 0) != 0) continue;
    const std::string name = path.substr(top.size() + 1);
    if (name.find('/') != std::string::npos || name <= after) continue;
    *response->add_entries() = InfoOf(name, file);
    response->set_next_page_token(name);
    return grpc::Status::OK;
  }
  for (const v1::FileInfo& lie : lies.Get()) *response->add_entries() = lie;
  return grpc::Status::OK;
}

grpc::Status FakeFiles::MakeDirectory(grpc::ServerContext*,
                                      const v1::MakeDirectoryRequest* request,
                                      v1::MakeDirectoryResponse*) {
  Put(request->path(), {v1::FILE_TYPE_DIRECTORY, "", request->mode()});
  return grpc::Status::OK;
}

grpc::Status FakeFiles::UploadFiles(grpc::ServerContext*,
                                    const v1::UploadFilesRequest* request,
                                    v1::UploadFilesResponse* response) {
  for (const v1::FileUpload& file : request->files()) {
    v1::UploadedFile& result = *response->add_files();
    result.set_path(file.path());
    if (file.content() == "no room") {
      result.set_error(v1::FILE_ERROR_CODE_NO_SPACE);
      result.set_message("the session's disk is full");
    } else {
      Put(file.path(), {v1::FILE_TYPE_REGULAR, file.content(), file.mode()});
    }
  }
  return grpc::Status::OK;
}

grpc::Status FakeFiles::DownloadFiles(grpc::ServerContext*,
                                      const v1::DownloadFilesRequest* request,
                                      v1::DownloadFilesResponse* response) {
  const std::map<std::string, FakeFile> files = all();
  for (const std::string& path : request->paths()) {
    v1::DownloadedFile& result = *response->add_files();
    result.set_path(path);
    const auto found = files.find(Absolute(path));
    if (found == files.end()) {
      result.set_error(v1::FILE_ERROR_CODE_FILE_NOT_FOUND);
      result.set_message(path + " is not there");
    } else {
      *result.mutable_info() = InfoOf(found->first, found->second);
      result.set_content(found->second.content);
    }
  }
  return grpc::Status::OK;
}

grpc::Status FakeFiles::ReadFile(
    grpc::ServerContext*, const v1::ReadFileRequest* request,
    grpc::ServerWriter<v1::ReadFileResponse>* writer) {
  const std::map<std::string, FakeFile> files = all();
  const auto found = files.find(Absolute(request->path()));
  if (found == files.end()) return NotFound(request->path());
  v1::ReadFileResponse response;
  *response.mutable_info() = InfoOf(found->first, found->second);
  writer->Write(response);
  const std::string& content = found->second.content;
  for (size_t at = 0; at < content.size(); at += kPiece) {
    response.set_data(content.substr(at, kPiece));
    writer->Write(response);
    if (cut_reads) {
      return FileError(grpc::StatusCode::FAILED_PRECONDITION,
                       "FILE_BUSY_CHANGED", request->path());
    }
  }
  return grpc::Status::OK;
}

grpc::Status FakeFiles::WriteFile(
    grpc::ServerContext*, grpc::ServerReader<v1::WriteFileRequest>* reader,
    v1::WriteFileResponse*) {
  v1::WriteFileRequest request;
  v1::FileWriteStart start;
  std::string content;
  bool finished = false;
  while (reader->Read(&request)) {
    if (request.has_start()) start = request.start();
    content += request.data();
    largest_piece = std::max(largest_piece.load(), request.data().size());
    finished = request.finish();
  }
  if (!finished) {
    return FileError(grpc::StatusCode::INVALID_ARGUMENT, "FILE_INCOMPLETE",
                     start.path());
  }
  Put(start.path(), {v1::FILE_TYPE_REGULAR, std::move(content),
                     start.has_mode() ? start.mode() : 0644});
  return grpc::Status::OK;
}

grpc::Status FakeFiles::SnapshotFiles(
    grpc::ServerContext*, const v1::SnapshotFilesRequest* request,
    grpc::ServerWriter<v1::SnapshotFilesResponse>* writer) {
  v1::SnapshotFilesResponse response;
  response.set_data("archive of ");
  writer->Write(response);
  response.set_data(Absolute(request->path()));
  writer->Write(response);
  return cut_reads ? NotFound(request->path()) : grpc::Status::OK;
}

grpc::Status FakeFiles::RestoreFiles(
    grpc::ServerContext*, grpc::ServerReader<v1::RestoreFilesRequest>* reader,
    v1::RestoreFilesResponse* response) {
  v1::RestoreFilesRequest request;
  std::string content;
  while (reader->Read(&request)) {
    if (request.has_start()) restored_start = request.start();
    content += request.data();
  }
  response->set_files(2);
  response->set_bytes(content.size());
  response->set_skipped(1);
  restored = content;
  return grpc::Status::OK;
}

}  // namespace sandglass::client
