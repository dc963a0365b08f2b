#ifndef SANDGLASS_SERVER_RPC_FILE_CALLS_H_
#define SANDGLASS_SERVER_RPC_FILE_CALLS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "sandglass/v1/files.pb.h"
#include "server/base/call_threads.h"
#include "server/files/file_session.h"
#include "server/identity/caller.h"
#include "server/rpc/answer_room.h"
#include "server/session/session_table.h"

namespace sandglass::server {

// The calls of the file service. Each object is one call, which gRPC's OnDone
// deletes. What waits on a jail is done step by step on threads of their own;
// of the steps and gRPC's answers to them only one is under way at a time, so
// that a call needs no lock and a slow client holds no thread.

struct FileCallParts {
  SessionTable* sessions = nullptr;
  CallThreads* threads = nullptr;
  AnswerRoom* answers = nullptr;
};

// One request and one answer.
class UnaryFileCall final : public grpc::ServerUnaryReactor {
 public:
  using Method =
      std::function<absl::StatusOr<grpc::ByteBuffer>(FileSession& files)>;

  // `parts` and `response` outlive the call.
  UnaryFileCall(const FileCallParts& parts, grpc::ByteBuffer* response)
      : parts_(parts), response_(response) {}

  // `bytes` is what the request holds while it waits.
  void Start(const Caller& caller, const std::string& session_id,
             uint64_t bytes, Method method);

 private:
  void OnCancel() override { stop_->Stop(); }
  void OnDone() override { delete this; }

  const FileCallParts parts_;
  HeldAnswer held_{*parts_.answers};
  grpc::ByteBuffer* const response_;
  const std::shared_ptr<FileCallStop> stop_ = std::make_shared<FileCallStop>();
};

// One ReadFile: the next chunk is read when the last one was written.
class ReadFileCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit ReadFileCall(const FileCallParts& parts) : parts_(parts) {}

  void Start(const Caller& caller, v1::ReadFileRequest&& request);

 private:
  void OnWriteDone(bool ok) override;
  void OnCancel() override { stop_->Stop(); }
  void OnDone() override { delete this; }

  // Steps.
  void Open(const Caller& caller);
  void ReadNext();

  void Send(const v1::ReadFileResponse& response);
  void End(const absl::Status& status);

  const FileCallParts parts_;
  HeldAnswer held_{*parts_.answers};
  Caller caller_;
  v1::ReadFileRequest request_;
  const std::shared_ptr<FileCallStop> stop_ = std::make_shared<FileCallStop>();
  std::unique_ptr<FileSession> files_;
  uint64_t next_ = 0;  // what is read from here on
  uint64_t end_ = 0;
  grpc::ByteBuffer current_;  // belongs to gRPC while it is written
};

// One WriteFile: the next message is taken when the last one was written.
class WriteFileCall final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  // `response` outlives the call.
  WriteFileCall(const FileCallParts& parts, grpc::ByteBuffer* response)
      : parts_(parts), response_(response) {}

  void Start(const Caller& caller);

 private:
  void OnReadDone(bool ok) override;
  void OnCancel() override { stop_->Stop(); }
  void OnDone() override { delete this; }

  // Steps; the first message's begins on gRPC's thread.
  void TakeFirst();
  void Take();

  absl::Status Begin(const v1::FileWriteStart& start);
  // Begin, or more data; then the end, if this is the last message.
  absl::Status TakeMessage(const v1::WriteFileRequest& message, bool& finished);
  absl::Status Commit();
  void End(const absl::Status& status);

  const FileCallParts parts_;
  grpc::ByteBuffer* const response_;
  Caller caller_;
  const std::shared_ptr<FileCallStop> stop_ = std::make_shared<FileCallStop>();
  grpc::ByteBuffer incoming_;  // belongs to gRPC while it is read
  std::string session_id_;
  std::string path_;
  // In this order: the upload ends before the agent that does it.
  std::unique_ptr<FileSession> files_;
  sandbox::FileUpload upload_;
};

// One SnapshotFiles: the next piece of the archive is taken when the last one
// was written, and the jail makes no more of it than that.
class SnapshotFilesCall final
    : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit SnapshotFilesCall(const FileCallParts& parts) : parts_(parts) {}

  void Start(const Caller& caller, v1::SnapshotFilesRequest&& request);

 private:
  void OnWriteDone(bool ok) override;
  void OnCancel() override { stop_->Stop(); }
  void OnDone() override { delete this; }

  // Steps.
  void Open(const Caller& caller);
  void ReadNext();

  void End(const absl::Status& status);

  const FileCallParts parts_;
  HeldAnswer held_{*parts_.answers};
  Caller caller_;
  v1::SnapshotFilesRequest request_;
  std::string path_;
  const std::shared_ptr<FileCallStop> stop_ = std::make_shared<FileCallStop>();
  // In this order: the archive ends before the agent that makes it.
  std::unique_ptr<FileSession> files_;
  sandbox::TreeDownload archive_;
  bool last_ = false;         // `current_` is the archive's end
  grpc::ByteBuffer current_;  // belongs to gRPC while it is written
};

// One RestoreFiles: the next message is taken when the jail has the last one.
class RestoreFilesCall final
    : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  // `response` outlives the call.
  RestoreFilesCall(const FileCallParts& parts, grpc::ByteBuffer* response)
      : parts_(parts), response_(response) {}

  void Start(const Caller& caller);

 private:
  void OnReadDone(bool ok) override;
  void OnCancel() override { stop_->Stop(); }
  void OnDone() override { delete this; }

  // Steps; the first message's begins on gRPC's thread.
  void TakeFirst();
  void Take();

  absl::Status Begin(const v1::RestoreFilesStart& start);
  // All messages have come.
  absl::Status Commit();
  void End(const absl::Status& status);

  const FileCallParts parts_;
  grpc::ByteBuffer* const response_;
  Caller caller_;
  const std::shared_ptr<FileCallStop> stop_ = std::make_shared<FileCallStop>();
  grpc::ByteBuffer incoming_;  // belongs to gRPC while it is read
  std::string session_id_;
  std::string path_;
  // In this order: the archive ends before the agent that unpacks it.
  std::unique_ptr<FileSession> files_;
  sandbox::TreeUpload archive_;
};

// One WatchFiles: looks, tells what is other, and looks again a while later.
class WatchFilesCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit WatchFilesCall(const FileCallParts& parts) : parts_(parts) {}

  void Start(const Caller& caller, v1::WatchFilesRequest&& request);

 private:
  void OnWriteDone(bool ok) override;
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone() override { delete this; }

  // Steps.
  void Open(const Caller& caller);
  void Look();

  void LookLater() ABSL_LOCKS_EXCLUDED(mutex_);
  void Send(const v1::WatchFilesResponse& response);
  void End(const absl::Status& status);

  const FileCallParts parts_;
  HeldAnswer held_{*parts_.answers};
  Caller caller_;
  v1::WatchFilesRequest request_;
  absl::Duration interval_;
  std::string path_;
  const std::shared_ptr<FileCallStop> stop_ = std::make_shared<FileCallStop>();
  std::unique_ptr<FileSession> files_;
  sandbox::FileTracker tracker_;
  grpc::ByteBuffer current_;
  absl::Mutex mutex_;
  // A new one for each wait: the last one's callback may not be done yet.
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_FILE_CALLS_H_
