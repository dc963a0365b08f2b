#ifndef SANDGLASS_TESTS_CLIENT_FAKE_FAKE_FILES_H_
#define SANDGLASS_TESTS_CLIENT_FAKE_FAKE_FILES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "sandglass/v1/file_service.grpc.pb.h"
#include "tests/client/fake/shared.h"

namespace sandglass::client {

struct FakeFile {
  v1::FileType type = v1::FILE_TYPE_REGULAR;
  std::string content;
  uint32_t mode = 0644;
};

// A FileService whose files are a map by absolute path; those of a relative
// path are below /workspace.
class FakeFiles final : public v1::FileService::Service {
 public:
  FakeFiles();

  std::map<std::string, FakeFile> all() const;
  void Put(const std::string& path, const FakeFile& file);

  // Added to what is listed of every directory.
  Shared<std::vector<v1::FileInfo>> lies;
  // Set: a file that is read breaks off after a part.
  std::atomic<bool> cut_reads{false};
  // The largest piece that came in a stream.
  std::atomic<size_t> largest_piece{0};
  // What the last RestoreFiles got.
  Shared<v1::RestoreFilesStart> restored_start;
  Shared<std::string> restored;

 private:
  grpc::Status StatFile(grpc::ServerContext*,
                        const v1::StatFileRequest* request,
                        v1::StatFileResponse* response) override;
  grpc::Status ListDirectory(grpc::ServerContext*,
                             const v1::ListDirectoryRequest* request,
                             v1::ListDirectoryResponse* response) override;
  grpc::Status MakeDirectory(grpc::ServerContext*,
                             const v1::MakeDirectoryRequest* request,
                             v1::MakeDirectoryResponse*) override;
  grpc::Status UploadFiles(grpc::ServerContext*,
                           const v1::UploadFilesRequest* request,
                           v1::UploadFilesResponse* response) override;
  grpc::Status DownloadFiles(grpc::ServerContext*,
                             const v1::DownloadFilesRequest* request,
                             v1::DownloadFilesResponse* response) override;
  grpc::Status ReadFile(
      grpc::ServerContext*, const v1::ReadFileRequest* request,
      grpc::ServerWriter<v1::ReadFileResponse>* writer) override;
  grpc::Status WriteFile(grpc::ServerContext*,
                         grpc::ServerReader<v1::WriteFileRequest>* reader,
                         v1::WriteFileResponse*) override;
  grpc::Status SnapshotFiles(
      grpc::ServerContext*, const v1::SnapshotFilesRequest* request,
      grpc::ServerWriter<v1::SnapshotFilesResponse>* writer) override;
  grpc::Status RestoreFiles(grpc::ServerContext*,
                            grpc::ServerReader<v1::RestoreFilesRequest>* reader,
                            v1::RestoreFilesResponse* response) override;

  mutable std::mutex mutex_;
  std::map<std::string, FakeFile> files_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_TESTS_CLIENT_FAKE_FAKE_FILES_H_
