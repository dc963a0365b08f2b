#include "tests/support/calls/files.h"

#include <memory>

namespace sandglass::testing {

grpc::Status TestFiles::Write(const std::string& path,
                              const std::string& content, v1::FileInfo* info) {
  v1::FileWriteStart start;
  start.set_path(path);
  start.set_make_parents(true);
  constexpr size_t kPiece = size_t{1} << 20;
  std::vector<std::string> pieces;
  for (size_t at = 0; at < content.size(); at += kPiece) {
    pieces.push_back(content.substr(at, kPiece));
  }
  return WriteAs(start, pieces, info);
}

grpc::Status TestFiles::WriteAs(const v1::FileWriteStart& start,
                                const std::vector<std::string>& pieces,
                                v1::FileInfo* info) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::WriteFileResponse response;
  const auto writer = client_.files().WriteFile(&context, &response);
  v1::WriteFileRequest request;
  *request.mutable_start() = start;
  request.mutable_start()->set_session_id(session_id_);
  request.set_finish(pieces.empty());
  bool goes_on = writer->Write(request);
  for (size_t i = 0; i < pieces.size() && goes_on; ++i) {
    request.set_data(pieces[i]);
    request.set_finish(i + 1 == pieces.size());
    goes_on = writer->Write(request);
  }
  grpc::Status status = writer->Finish();
  if (info != nullptr) *info = response.info();
  return status;
}

grpc::Status TestFiles::Read(const std::string& path, std::string* content,
                             uint64_t offset, uint64_t limit) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ReadFileRequest request;
  request.set_session_id(session_id_);
  request.set_path(path);
  request.set_offset(offset);
  request.set_limit(limit);
  content->clear();
  const auto reader = client_.files().ReadFile(&context, request);
  v1::ReadFileResponse part;
  while (reader->Read(&part)) content->append(part.data());
  return reader->Finish();
}

grpc::Status TestFiles::Snapshot(const std::string& path,
                                 std::string* archive) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::SnapshotFilesRequest request;
  request.set_session_id(session_id_);
  request.set_path(path);
  archive->clear();
  const auto reader = client_.files().SnapshotFiles(&context, request);
  v1::SnapshotFilesResponse part;
  while (reader->Read(&part)) archive->append(part.data());
  return reader->Finish();
}

grpc::Status TestFiles::Restore(v1::RestoreFilesStart start,
                                const std::string& archive,
                                v1::RestoreFilesResponse* response) {
  grpc::ClientContext context;
  SetDeadline(context);
  const auto writer = client_.files().RestoreFiles(&context, response);
  v1::RestoreFilesRequest request;
  start.set_session_id(session_id_);
  *request.mutable_start() = start;
  bool goes_on = writer->Write(request);
  constexpr size_t kPiece = size_t{1} << 20;
  for (size_t at = 0; at < archive.size() && goes_on; at += kPiece) {
    request.set_data(archive.substr(at, kPiece));
    goes_on = writer->Write(request);
  }
  writer->WritesDone();
  return writer->Finish();
}

grpc::Status TestFiles::List(const std::string& path,
                             v1::ListDirectoryResponse* response) {
  v1::ListDirectoryRequest request;
  request.set_path(path);
  return Named(&v1::FileService::Stub::ListDirectory, request, response);
}

}  // namespace sandglass::testing
