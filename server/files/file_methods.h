#ifndef SANDGLASS_SERVER_FILES_FILE_METHODS_H_
#define SANDGLASS_SERVER_FILES_FILE_METHODS_H_

#include "absl/status/statusor.h"
#include "sandglass/v1/files.pb.h"
#include "server/files/file_session.h"

namespace sandglass::server {

// The unary methods of the file service. They block until the session's jail is
// there.

absl::StatusOr<v1::UploadFilesResponse> Handle(
    FileSession& files, const v1::UploadFilesRequest& request);
absl::StatusOr<v1::DownloadFilesResponse> Handle(
    FileSession& files, const v1::DownloadFilesRequest& request);
absl::StatusOr<v1::ListDirectoryResponse> Handle(
    FileSession& files, const v1::ListDirectoryRequest& request);
absl::StatusOr<v1::StatFileResponse> Handle(FileSession& files,
                                            const v1::StatFileRequest& request);
absl::StatusOr<v1::RemoveFileResponse> Handle(
    FileSession& files, const v1::RemoveFileRequest& request);
absl::StatusOr<v1::MoveFileResponse> Handle(FileSession& files,
                                            const v1::MoveFileRequest& request);
absl::StatusOr<v1::MakeDirectoryResponse> Handle(
    FileSession& files, const v1::MakeDirectoryRequest& request);
absl::StatusOr<v1::GlobFilesResponse> Handle(
    FileSession& files, const v1::GlobFilesRequest& request);
absl::StatusOr<v1::GrepFilesResponse> Handle(
    FileSession& files, const v1::GrepFilesRequest& request);
absl::StatusOr<v1::EditFileResponse> Handle(FileSession& files,
                                            const v1::EditFileRequest& request);

// The options that a write asks for. INVALID_ARGUMENT when there is no such
// mode.
absl::StatusOr<sandbox::WriteOptions> WriteOptionsOf(
    const v1::FileWriteStart& start);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_FILES_FILE_METHODS_H_
