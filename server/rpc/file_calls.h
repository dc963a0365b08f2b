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
// deletes. Work that waits for a jail is done step by step on separate threads.
// Only one thing is under way at a time, either a step or gRPC's reaction to
// one, so a call needs no lock and a slow client holds no thread.

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

  // `parts` and `response` must outlive the call.
  UnaryFileCall(const FileCallParts& parts, grpc::ByteBuffer* response)
      : parts_(parts), response_(response) {}

  // `bytes` is how much the request holds while it waits.
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

  // The steps of the call.
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
  uint64_t next_ = 0;  // the offset from which to read on
  uint64_t end_ = 0;
  grpc::ByteBuffer current_;  // belongs to gRPC while it is written
};

// One WriteFile: the next message is taken when the last one was written.
class WriteFileCall final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  // `response` must outlive the call.
  WriteFileCall(const FileCallParts& parts, grpc::ByteBuffer* response)
      : parts_(parts), response_(response) {}

  void Start(const Caller& caller);

 private:
  void OnReadDone(bool ok) override;
  void OnCancel() override { stop_->Stop(); }
  void OnDone() override { delete this; }

  // The steps of the call; the first message's step begins on gRPC's thread.
  void HandleFirst();
  void HandleNext();

  absl::Status Begin(const v1::FileWriteStart& start);
  // Handles the start or more data, and then the end, if this is the last
  // message.
  absl::Status HandleMessage(const v1::WriteFileRequest& message,
                             bool& finished);
  absl::Status Commit();
  void End(const absl::Status& status);

  const FileCallParts parts_;
  grpc::ByteBuffer* const response_;
  Caller caller_;
  const std::shared_ptr<FileCallStop> stop_ = std::make_shared<FileCallStop>();
  grpc::ByteBuffer incoming_;  // belongs to gRPC while it is read
  std::string session_id_;
  std::string path_;
  // The order matters: the upload must end before the agent that does it.
  std::unique_ptr<FileSession> files_;
  sandbox::FileUpload upload_;
};

// One SnapshotFiles: the next piece of the archive is taken when the last one
// was written, and the jail makes no more of it in advance.
class SnapshotFilesCall final
    : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit SnapshotFilesCall(const FileCallParts& parts) : parts_(parts) {}

  void Start(const Caller& caller, v1::SnapshotFilesRequest&& request);

 private:
  void OnWriteDone(bool ok) override;
  void OnCancel() override { stop_->Stop(); }
  void OnDone() override { delete this; }

  // The steps of the call.
  void Open(const Caller& caller);
  void ReadNext();

  void End(const absl::Status& status);

  const FileCallParts parts_;
  HeldAnswer held_{*parts_.answers};
  Caller caller_;
  v1::SnapshotFilesRequest request_;
  std::string path_;
  const std::shared_ptr<FileCallStop> stop_ = std::make_shared<FileCallStop>();
  // The order matters: the archive must end before the agent that makes it.
  std::unique_ptr<FileSession> files_;
  sandbox::TreeDownload archive_;
  bool last_ = false;         // `current_` is the archive's end
  grpc::ByteBuffer current_;  // belongs to gRPC while it is written
};

// One RestoreFiles: the next message is taken when the jail has the last one.
class RestoreFilesCall final
    : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  // `response` must outlive the call.
  RestoreFilesCall(const FileCallParts& parts, grpc::ByteBuffer* response)
      : parts_(parts), response_(response) {}

  void Start(const Caller& caller);

 private:
  void OnReadDone(bool ok) override;
  void OnCancel() override { stop_->Stop(); }
  void OnDone() override { delete this; }

  // The steps of the call; the first message's step begins on gRPC's thread.
  void HandleFirst();
  void HandleNext();

  absl::Status Begin(const v1::RestoreFilesStart& start);
  // Called when all messages have come.
  absl::Status Commit();
  void End(const absl::Status& status);

  const FileCallParts parts_;
  grpc::ByteBuffer* const response_;
  Caller caller_;
  const std::shared_ptr<FileCallStop> stop_ = std::make_shared<FileCallStop>();
  grpc::ByteBuffer incoming_;  // belongs to gRPC while it is read
  std::string session_id_;
  std::string path_;
  // The order matters: the archive must end before the agent that unpacks it.
  std::unique_ptr<FileSession> files_;
  sandbox::TreeUpload archive_;
};

// One WatchFiles: looks at the files, reports what has changed, and looks again
// a while later.
class WatchFilesCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit WatchFilesCall(const FileCallParts& parts) : parts_(parts) {}

  void Start(const Caller& caller, v1::WatchFilesRequest&& request);

 private:
  void OnWriteDone(bool ok) override;
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone() override { delete this; }

  // The steps of the call.
  void Open(const Caller& caller);
  void CheckChanges();

  void CheckChangesLater() ABSL_LOCKS_EXCLUDED(mutex_);
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
  // There is a new alarm for each wait, since the callback of the last one may
  // not be done yet.
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_FILE_CALLS_H_
