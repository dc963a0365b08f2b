#include <memory>
#include <utility>

#include "sandglass/v1/file_service.grpc.pb.h"
#include "server/edge/unary_call.h"
#include "server/files/file_methods.h"
#include "server/rpc/file_calls.h"
#include "server/rpc/services.h"

namespace sandglass::server {
namespace {

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

class FileServiceImpl final : public RawFileService {
 public:
  FileServiceImpl(SessionTable& sessions, CallThreads& threads,
                  const PeerTable& peers)
      : parts_{sessions, threads, peers.answers()}, peers_(peers) {}

  WriteReactor* ReadFile(CallContext* context, const Bytes* request) override {
    return StreamFrom(BeginReadFile, context, request);
  }

  ReadReactor* WriteFile(CallContext* context, Bytes* response) override {
    return StreamTo<v1::WriteFileRequest>(BeginWriteFile, context, response);
  }

  WriteReactor* SnapshotFiles(CallContext* context,
                              const Bytes* request) override {
    return StreamFrom(BeginSnapshotFiles, context, request);
  }

  ReadReactor* RestoreFiles(CallContext* context, Bytes* response) override {
    return StreamTo<v1::RestoreFilesRequest>(BeginRestoreFiles, context,
                                             response);
  }

  UnaryReactor* UploadFiles(CallContext* context, const Bytes* request,
                            Bytes* response) override {
    return ServeFiles<v1::UploadFilesRequest, Effect::kChange>(context, request,
                                                               response);
  }

  UnaryReactor* DownloadFiles(CallContext* context, const Bytes* request,
                              Bytes* response) override {
    return ServeFiles<v1::DownloadFilesRequest>(context, request, response);
  }

  UnaryReactor* ListDirectory(CallContext* context, const Bytes* request,
                              Bytes* response) override {
    return ServeFiles<v1::ListDirectoryRequest>(context, request, response);
  }

  UnaryReactor* StatFile(CallContext* context, const Bytes* request,
                         Bytes* response) override {
    return ServeFiles<v1::StatFileRequest>(context, request, response);
  }

  UnaryReactor* RemoveFile(CallContext* context, const Bytes* request,
                           Bytes* response) override {
    return ServeFiles<v1::RemoveFileRequest, Effect::kChange>(context, request,
                                                              response);
  }

  UnaryReactor* MoveFile(CallContext* context, const Bytes* request,
                         Bytes* response) override {
    return ServeFiles<v1::MoveFileRequest, Effect::kChange>(context, request,
                                                            response);
  }

  UnaryReactor* MakeDirectory(CallContext* context, const Bytes* request,
                              Bytes* response) override {
    return ServeFiles<v1::MakeDirectoryRequest, Effect::kChange>(
        context, request, response);
  }

  UnaryReactor* GlobFiles(CallContext* context, const Bytes* request,
                          Bytes* response) override {
    return ServeFiles<v1::GlobFilesRequest>(context, request, response);
  }

  UnaryReactor* GrepFiles(CallContext* context, const Bytes* request,
                          Bytes* response) override {
    return ServeFiles<v1::GrepFilesRequest>(context, request, response);
  }

  UnaryReactor* EditFile(CallContext* context, const Bytes* request,
                         Bytes* response) override {
    return ServeFiles<v1::EditFileRequest, Effect::kChange>(context, request,
                                                            response);
  }

  WriteReactor* WatchFiles(CallContext* context,
                           const Bytes* request) override {
    return StreamFrom(BeginWatchFiles, context, request);
  }

 private:
  enum class Effect { kNone, kChange };

  template <typename Request, Effect effect = Effect::kNone>
  UnaryReactor* ServeFiles(CallContext* context, const Bytes* request,
                           Bytes* response) {
    // Shared, since a std::function must be copyable.
    auto message = std::make_shared<Request>();
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, *message);
    if (!caller.ok()) return Refuse(context, caller.status());
    const auto stop = std::make_shared<FileCallStop>();
    auto* call =
        new AnsweredCall(peers_, *caller, response, [stop] { stop->Stop(); });
    // Whoever gets the answer may rely on the session being free again, as it
    // is when this function has returned.
    call->EndOn(
        parts_.threads, {caller->name, message->session_id()},
        message->ByteSizeLong(),
        [this, caller = *caller, message, stop]() -> absl::StatusOr<Bytes> {
          if (stop->stopped()) return CallerGone();
          const absl::StatusOr<std::unique_ptr<FileSession>> files =
              FileSession::Open(parts_.sessions, caller, message->session_id(),
                                stop);
          if (!files.ok()) return files.status();
          absl::StatusOr<Bytes> answer = Serialize(Handle(**files, *message));
          if (effect == Effect::kNone || !answer.ok()) return answer;
          if (absl::Status saved = (*files)->Save(); !saved.ok()) return saved;
          return answer;
        });
    return call;
  }

  // A stream of requests, and one answer.
  template <typename Request, typename Begin>
  ReadReactor* StreamTo(const Begin& begin, CallContext* context,
                        Bytes* response) {
    const absl::StatusOr<Identity> caller = CallerOf<Request>(peers_, *context);
    if (!caller.ok()) return new RefusedCall<ReadReactor>(caller.status());
    return begin(parts_, *caller, response);
  }

  // A request, and a stream of answers.
  template <typename Request>
  WriteReactor* StreamFrom(WriteReactor* begin(const FileCallParts&,
                                               const Identity&, Request&&),
                           CallContext* context, const Bytes* request) {
    Request message;
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, message);
    if (!caller.ok()) return new RefusedCall<WriteReactor>(caller.status());
    return begin(parts_, *caller, std::move(message));
  }

  const FileCallParts parts_;
  const PeerTable& peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFileService(SessionTable& sessions,
                                               CallThreads& threads,
                                               const PeerTable& peers) {
  return std::make_unique<FileServiceImpl>(sessions, threads, peers);
}

}  // namespace sandglass::server
