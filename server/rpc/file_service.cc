#include "server/rpc/file_service.h"

#include <memory>
#include <utility>

#include "server/files/file_methods.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/unary_call.h"

namespace sandglass::server {
namespace {

// A stream that ends before it began.
template <typename Reactor>
class Refused final : public Reactor {
 public:
  explicit Refused(const absl::Status& status) {
    this->Finish(ToGrpcStatus(status));
  }
  void OnDone() override { delete this; }
};

template <typename Request>
grpc::ServerUnaryReactor* Serve(const FileCallParts& parts,
                                const PeerTable& peers,
                                grpc::CallbackServerContext* context,
                                const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response) {
  // Shared, since a std::function must be copyable.
  auto message = std::make_shared<Request>();
  const absl::StatusOr<Caller> caller =
      Receive(peers, *context, *request, *message);
  if (!caller.ok()) return Refuse(context, caller.status());
  auto* call = new UnaryFileCall(parts, response);
  call->Start(*caller, message->session_id(), request->Length(),
              [message](FileSession& files) {
                return Serialize(Handle(files, *message));
              });
  return call;
}

// The same for methods that change files.
template <typename Request>
grpc::ServerUnaryReactor* ServeChange(const FileCallParts& parts,
                                      const PeerTable& peers,
                                      grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) {
  auto message = std::make_shared<Request>();
  const absl::StatusOr<Caller> caller =
      Receive(peers, *context, *request, *message);
  if (!caller.ok()) return Refuse(context, caller.status());
  auto* call = new UnaryFileCall(parts, response);
  call->Start(
      *caller, message->session_id(), request->Length(),
      [message](FileSession& files) -> absl::StatusOr<grpc::ByteBuffer> {
        auto answer = Serialize(Handle(files, *message));
        if (!answer.ok()) return answer;
        if (absl::Status saved = files.Save(); !saved.ok()) {
          return saved;
        }
        return answer;
      });
  return call;
}

// A stream of requests, and one answer.
template <typename Call>
grpc::ServerReadReactor<grpc::ByteBuffer>* StreamTo(
    const FileCallParts& parts, const PeerTable& peers,
    grpc::CallbackServerContext* context, grpc::ByteBuffer* response) {
  const absl::StatusOr<Caller> caller = CallerOf(peers, *context);
  if (!caller.ok()) {
    return new Refused<grpc::ServerReadReactor<grpc::ByteBuffer>>(
        caller.status());
  }
  auto* call = new Call(parts, response);
  call->Start(*caller);
  return call;
}

// A request, and a stream of answers.
template <typename Call, typename Request>
grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamFrom(
    const FileCallParts& parts, const PeerTable& peers,
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  Request message;
  const absl::StatusOr<Caller> caller =
      Receive(peers, *context, *request, message);
  if (!caller.ok()) {
    return new Refused<grpc::ServerWriteReactor<grpc::ByteBuffer>>(
        caller.status());
  }
  auto* call = new Call(parts);
  call->Start(*caller, std::move(message));
  return call;
}

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* FileServiceImpl::ReadFile(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return StreamFrom<ReadFileCall, v1::ReadFileRequest>(parts_, peers_, context,
                                                       request);
}

grpc::ServerReadReactor<grpc::ByteBuffer>* FileServiceImpl::WriteFile(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* response) {
  return StreamTo<WriteFileCall>(parts_, peers_, context, response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* FileServiceImpl::SnapshotFiles(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return StreamFrom<SnapshotFilesCall, v1::SnapshotFilesRequest>(
      parts_, peers_, context, request);
}

grpc::ServerReadReactor<grpc::ByteBuffer>* FileServiceImpl::RestoreFiles(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* response) {
  return StreamTo<RestoreFilesCall>(parts_, peers_, context, response);
}

grpc::ServerUnaryReactor* FileServiceImpl::UploadFiles(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return ServeChange<v1::UploadFilesRequest>(parts_, peers_, context, request,
                                             response);
}

grpc::ServerUnaryReactor* FileServiceImpl::DownloadFiles(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::DownloadFilesRequest>(parts_, peers_, context, request,
                                         response);
}

grpc::ServerUnaryReactor* FileServiceImpl::ListDirectory(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::ListDirectoryRequest>(parts_, peers_, context, request,
                                         response);
}

grpc::ServerUnaryReactor* FileServiceImpl::StatFile(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::StatFileRequest>(parts_, peers_, context, request, response);
}

grpc::ServerUnaryReactor* FileServiceImpl::RemoveFile(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return ServeChange<v1::RemoveFileRequest>(parts_, peers_, context, request,
                                            response);
}

grpc::ServerUnaryReactor* FileServiceImpl::MoveFile(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return ServeChange<v1::MoveFileRequest>(parts_, peers_, context, request,
                                          response);
}

grpc::ServerUnaryReactor* FileServiceImpl::MakeDirectory(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return ServeChange<v1::MakeDirectoryRequest>(parts_, peers_, context, request,
                                               response);
}

grpc::ServerUnaryReactor* FileServiceImpl::GlobFiles(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::GlobFilesRequest>(parts_, peers_, context, request,
                                     response);
}

grpc::ServerUnaryReactor* FileServiceImpl::GrepFiles(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return Serve<v1::GrepFilesRequest>(parts_, peers_, context, request,
                                     response);
}

grpc::ServerUnaryReactor* FileServiceImpl::EditFile(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  return ServeChange<v1::EditFileRequest>(parts_, peers_, context, request,
                                          response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* FileServiceImpl::WatchFiles(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return StreamFrom<WatchFilesCall, v1::WatchFilesRequest>(parts_, peers_,
                                                           context, request);
}

}  // namespace sandglass::server
