#ifndef SANDGLASS_SERVER_RPC_FILE_CALLS_H_
#define SANDGLASS_SERVER_RPC_FILE_CALLS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandglass/v1/files.pb.h"
#include "server/base/call_threads.h"
#include "server/base/errors.h"
#include "server/edge/answer_room.h"
#include "server/edge/grpc_status.h"
#include "server/edge/message_codec.h"
#include "server/edge/unary_call.h"
#include "server/files/file_session.h"
#include "server/identity/identity.h"
#include "server/session/file_status.h"
#include "server/session/session_table.h"

namespace sandglass::server {

// What one message of a stream of bytes has at most.
inline constexpr uint64_t kChunkBytes = uint64_t{256} << 10;

// The streaming calls of the file service. Each object is one call, which
// gRPC's OnDone deletes. Work that waits for a jail is done step by step on
// separate threads. Only one thing is under way at a time, either a step or
// gRPC's reaction to one, so a call needs no lock and a slow client holds no
// thread.

// All of these outlive the calls.
struct FileCallParts {
  SessionTable& sessions;
  CallThreads& threads;
  AnswerRoom& answers;
};

// Each of these begins a call. `response` must outlive it.
WriteReactor* BeginReadFile(const FileCallParts& parts, const Identity& caller,
                            v1::ReadFileRequest&& request);
WriteReactor* BeginSnapshotFiles(const FileCallParts& parts,
                                 const Identity& caller,
                                 v1::SnapshotFilesRequest&& request);
WriteReactor* BeginWatchFiles(const FileCallParts& parts,
                              const Identity& caller,
                              v1::WatchFilesRequest&& request);
ReadReactor* BeginWriteFile(const FileCallParts& parts, const Identity& caller,
                            Bytes* response);
ReadReactor* BeginRestoreFiles(const FileCallParts& parts,
                               const Identity& caller, Bytes* response);

// What all of them have.
template <typename Reactor>
class FileCall : public Reactor {
 protected:
  FileCall(const FileCallParts& parts, const Identity& caller)
      : parts_(parts), caller_(caller) {}

  // Does the first step on a thread, or ends the call when too much waits.
  // `bytes` is how much the request holds meanwhile.
  void Begin(const std::string& session_id, uint64_t bytes,
             CallThreads::Task step) {
    session_id_ = session_id;
    const absl::Status added =
        parts_.threads.Add({caller_.name, session_id}, bytes, std::move(step));
    if (!added.ok()) End(added);
  }
  void Continue(CallThreads::Task step) {
    parts_.threads.Continue({caller_.name, session_id_}, std::move(step));
  }
  // Waits for the session's jail and its agent, and sets files_.
  absl::Status OpenSession() {
    absl::StatusOr<std::unique_ptr<FileSession>> files =
        FileSession::Open(parts_.sessions, caller_, session_id_, stop_);
    if (!files.ok()) return files.status();
    files_ = *std::move(files);
    return absl::OkStatus();
  }
  // Checks the path first, and sets path_.
  absl::Status OpenAt(const std::string& path, EmptyPath empty) {
    absl::StatusOr<std::string> checked = AgentPath(path, empty);
    if (!checked.ok()) return checked.status();
    path_ = *std::move(checked);
    return OpenSession();
  }
  void End(const absl::Status& status) {
    LetGo();
    files_.reset();
    this->Finish(ToGrpcStatus(status));
  }
  // Ends what the call does with the agent.
  virtual void LetGo() = 0;

  void OnCancel() override { stop_->Stop(); }
  void OnDone() override { delete this; }

  const FileCallParts parts_;
  const Identity caller_;
  const std::shared_ptr<FileCallStop> stop_ = std::make_shared<FileCallStop>();
  std::string session_id_;
  std::string path_;  // the agent's name for what the call is about
  // Null until the first step is done.
  std::unique_ptr<FileSession> files_;
};

// A call with one request, and a stream of answers, of which the next one is
// made when the last one was written.
template <typename Request>
class FileAnswersCall : public FileCall<WriteReactor> {
 public:
  FileAnswersCall(const FileCallParts& parts, const Identity& caller,
                  Request&& request)
      : FileCall(parts, caller),
        request_(std::move(request)),
        held_(parts.answers) {}

  void Start() {
    Begin(request_.session_id(), request_.ByteSizeLong(), [this] { Open(); });
  }

 protected:
  // The first step.
  virtual void Open() = 0;
  // `advice` is as for HeldAnswer::Put. Ends the call on an error.
  void Send(const google::protobuf::Message& response,
            std::string_view advice) {
    if (const absl::Status put = held_.Put(
            caller_.name, SerializeMessage(response), &current_, advice);
        !put.ok()) {
      return End(put);
    }
    StartWrite(&current_);
  }
  // The last answer was written. Called on gRPC's thread.
  virtual void GoOn() = 0;

  const Request request_;

 private:
  void OnWriteDone(bool ok) override {
    current_.Clear();
    held_.Release();
    if (ok) return GoOn();
    Continue([this] { End(CallerGone()); });
  }

  HeldAnswer held_;
  Bytes current_;  // belongs to gRPC while it is written
};

// A call with a stream of requests, the first of which has a field `start` with
// the session, and one answer.
template <typename Request>
class FileRequestsCall : public FileCall<ReadReactor> {
 public:
  FileRequestsCall(const FileCallParts& parts, const Identity& caller,
                   Bytes* response)
      : FileCall(parts, caller), response_(response) {}

  void Start() { StartRead(&incoming_); }

 protected:
  // Handles a request; the first one has a start, and no other. Sets `finished`
  // when the call is done.
  virtual absl::Status Handle(const Request& message, bool& finished) = 0;
  // The client sends nothing more, and perhaps has sent nothing. Returns the
  // status with which the call ends.
  virtual absl::Status HandleEnd() = 0;
  absl::Status Answer(const google::protobuf::Message& response) {
    absl::StatusOr<Bytes> bytes = SerializeMessage(response);
    if (!bytes.ok()) return bytes.status();
    *response_ = *std::move(bytes);
    return absl::OkStatus();
  }

 private:
  void OnReadDone(bool ok) override {
    if (files_ == nullptr) return ok ? HandleFirst() : End(HandleEnd());
    Continue([this, ok] {
      if (!ok) return End(HandleEnd());
      Request message;
      if (absl::Status parsed = Parse(message); !parsed.ok()) {
        return End(parsed);
      }
      if (message.has_start()) {
        return End(InvalidRequest({{"start", "came already"}}));
      }
      HandleOne(message);
    });
  }
  void HandleFirst() {
    auto message = std::make_shared<Request>();
    if (absl::Status parsed = Parse(*message); !parsed.ok()) {
      return End(parsed);
    }
    if (!message->has_start()) {
      return End(InvalidRequest({{"start", "must come first"}}));
    }
    Begin(message->start().session_id(), message->ByteSizeLong(),
          [this, message] { HandleOne(*message); });
  }
  void HandleOne(const Request& message) {
    bool finished = false;
    const absl::Status done = Handle(message, finished);
    if (!done.ok() || finished) return End(done);
    StartRead(&incoming_);
  }
  absl::Status Parse(Request& message) {
    absl::Status parsed = ParseMessage(incoming_, message);
    incoming_.Clear();
    return parsed;
  }

  Bytes* const response_;
  Bytes incoming_;  // belongs to gRPC while it is read
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_FILE_CALLS_H_
