#ifndef SANDGLASS_SERVER_RPC_FILE_SERVICE_H_
#define SANDGLASS_SERVER_RPC_FILE_SERVICE_H_

#include "sandglass/v1/file_service.grpc.pb.h"
#include "server/rpc/file_calls.h"
#include "server/rpc/peers.h"

namespace sandglass::server {

using RawFileService = v1::FileService::WithRawCallbackMethod_SnapshotFiles<
    v1::FileService::WithRawCallbackMethod_RestoreFiles<v1::FileService::WithRawCallbackMethod_ReadFile<
        v1::FileService::WithRawCallbackMethod_WriteFile<v1::FileService::WithRawCallbackMethod_UploadFiles<
            v1::FileService::WithRawCallbackMethod_DownloadFiles<
                v1::FileService::WithRawCallbackMethod_ListDirectory<
                    v1::FileService::WithRawCallbackMethod_StatFile<
                        v1::FileService::WithRawCallbackMethod_RemoveFile<
                            v1::FileService::WithRawCallbackMethod_MoveFile<
                                v1::FileService::WithRawCallbackMethod_MakeDirectory<
                                    v1::FileService::WithRawCallbackMethod_GlobFiles<
                                        v1::FileService::WithRawCallbackMethod_GrepFiles<
                                            v1::FileService::WithRawCallbackMethod_EditFile<
                                                v1::FileService::
                                                    WithRawCallbackMethod_WatchFiles<
                                                        v1::FileService::
                                                            Service>>>>>>>>>>>>>>>;

// The public service of sessions' files. Its methods run on gRPC's threads and
// never block.
class FileServiceImpl final : public RawFileService {
 public:
  // Whatever the arguments point to must outlive the service.
  FileServiceImpl(const FileCallParts& parts, const PeerTable& peers)
      : parts_(parts), peers_(peers) {}

  grpc::ServerWriteReactor<grpc::ByteBuffer>* ReadFile(
      grpc::CallbackServerContext* context,
      const grpc::ByteBuffer* request) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* WriteFile(
      grpc::CallbackServerContext* context,
      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* UploadFiles(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DownloadFiles(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListDirectory(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* StatFile(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* RemoveFile(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* MoveFile(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* MakeDirectory(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GlobFiles(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GrepFiles(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* EditFile(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* SnapshotFiles(
      grpc::CallbackServerContext* context,
      const grpc::ByteBuffer* request) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* RestoreFiles(
      grpc::CallbackServerContext* context,
      grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchFiles(
      grpc::CallbackServerContext* context,
      const grpc::ByteBuffer* request) override;

 private:
  const FileCallParts parts_;
  const PeerTable& peers_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_FILE_SERVICE_H_
