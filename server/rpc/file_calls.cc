#include "server/rpc/file_calls.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "server/base/errors.h"
#include "server/files/file_methods.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/message_codec.h"
#include "server/session/file_status.h"

namespace sandglass::server {
namespace {

using sandbox::FileCode;
using Work = FileSession::Work;

constexpr uint64_t kChunkBytes = uint64_t{256} << 10;
constexpr std::string_view kReadOn = "what was read so far is whole";

absl::Status Cut() {
  return FileStatus({FileCode::kIncomplete, 0},
                    "the stream ended without `finish`");
}

}  // namespace

void UnaryFileCall::Start(const Caller& caller, const std::string& session_id,
                          uint64_t bytes, Method method) {
  const absl::Status added = parts_.threads->Add(
      {caller.name, session_id}, bytes,
      [this, caller, session_id, method = std::move(method)] {
        if (stop_->stopped()) return Finish(ToGrpcStatus(CallerGone()));
        absl::StatusOr<std::unique_ptr<FileSession>> files =
            FileSession::Open(*parts_.sessions, caller, session_id, stop_);
        if (!files.ok()) return Finish(ToGrpcStatus(files.status()));
        absl::StatusOr<grpc::ByteBuffer> answer = method(**files);
        // Whoever gets the answer may rely on the session being free again.
        files->reset();
        Finish(
            ToGrpcStatus(held_.Put(caller.name, std::move(answer), response_)));
      });
  if (!added.ok()) Finish(ToGrpcStatus(added));
}

void ReadFileCall::Start(const Caller& caller, v1::ReadFileRequest&& request) {
  caller_ = caller;
  request_ = std::move(request);
  const absl::Status added = parts_.threads->Add(
      {caller.name, request_.session_id()}, request_.ByteSizeLong(),
      [this, caller] { Open(caller); });
  if (!added.ok()) End(added);
}

void ReadFileCall::Open(const Caller& caller) {
  absl::StatusOr<std::string> path = AgentPath(request_.path());
  if (!path.ok()) return End(path.status());
  absl::StatusOr<std::unique_ptr<FileSession>> files =
      FileSession::Open(*parts_.sessions, caller, request_.session_id(), stop_);
  if (!files.ok()) return End(files.status());
  files_ = *std::move(files);
  sandbox::FileAnswer<sandbox::OpenedFile> opened =
      files_->agent().Open(*path, files_->Limits());
  if (absl::Status done = files_->Check(opened.result, *path); !done.ok()) {
    return End(done);
  }
  const uint64_t size = opened.value.facts.size;
  next_ = std::min(request_.offset(), size);
  const uint64_t left = size - next_;
  end_ =
      next_ + (request_.limit() == 0 ? left : std::min(request_.limit(), left));
  stop_->Hold(std::move(opened.value.file));
  v1::ReadFileResponse response;
  *response.mutable_info() = ToProto(std::move(opened.value.facts), *path);
  Send(response);
}

void ReadFileCall::OnWriteDone(bool ok) {
  current_.Clear();
  held_.Release();
  parts_.threads->Continue({caller_.name, request_.session_id()}, [this, ok] {
    if (!ok) return End(CallerGone());
    ReadNext();
  });
}

void ReadFileCall::ReadNext() {
  if (next_ == end_) return End(absl::OkStatus());
  v1::ReadFileResponse response;
  std::string& data = *response.mutable_data();
  data.resize(static_cast<size_t>(std::min(kChunkBytes, end_ - next_)));
  const std::optional<ssize_t> got =
      stop_->Read(data.data(), data.size(), next_);
  if (!got.has_value()) {
    return End(files_->Check({FileCode::kCancelled, 0}, request_.path()));
  }
  if (*got < 0) {
    return End(files_->Check(sandbox::ResultOfErrno(errno), request_.path()));
  }
  // The file was made shorter meanwhile.
  if (*got == 0) return End(absl::OkStatus());
  data.resize(static_cast<size_t>(*got));
  next_ += data.size();
  Send(response);
}

void ReadFileCall::Send(const v1::ReadFileResponse& response) {
  if (absl::Status put = held_.Put(caller_.name, SerializeMessage(response),
                                   &current_, kReadOn);
      !put.ok()) {
    return End(put);
  }
  StartWrite(&current_);
}

void ReadFileCall::End(const absl::Status& status) {
  files_.reset();
  stop_->Stop();
  Finish(ToGrpcStatus(status));
}

void WriteFileCall::Start(const Caller& caller) {
  caller_ = caller;
  StartRead(&incoming_);
}

void WriteFileCall::OnReadDone(bool ok) {
  if (files_ == nullptr) {
    if (!ok) return End(Cut());
    return HandleFirst();
  }
  parts_.threads->Continue({caller_.name, session_id_}, [this, ok] {
    if (!ok) return End(Cut());
    HandleNext();
  });
}

void WriteFileCall::HandleFirst() {
  auto message = std::make_shared<v1::WriteFileRequest>();
  if (absl::Status parsed = ParseMessage(incoming_, *message); !parsed.ok()) {
    return End(parsed);
  }
  incoming_.Clear();
  if (!message->has_start()) {
    return End(InvalidRequest({{"start", "must come first"}}));
  }
  session_id_ = message->start().session_id();
  const absl::Status added = parts_.threads->Add(
      {caller_.name, session_id_}, message->ByteSizeLong(), [this, message] {
        bool finished = false;
        absl::Status done = HandleMessage(*message, finished);
        if (!done.ok() || finished) return End(done);
        StartRead(&incoming_);
      });
  if (!added.ok()) End(added);
}

void WriteFileCall::HandleNext() {
  v1::WriteFileRequest message;
  absl::Status done = ParseMessage(incoming_, message);
  incoming_.Clear();
  bool finished = false;
  if (done.ok()) done = HandleMessage(message, finished);
  if (!done.ok() || finished) return End(done);
  StartRead(&incoming_);
}

absl::Status WriteFileCall::HandleMessage(const v1::WriteFileRequest& message,
                                          bool& finished) {
  absl::Status done;
  if (message.has_start()) {
    if (files_ != nullptr) {
      return InvalidRequest({{"start", "came already"}});
    }
    done = Begin(message.start());
  } else {
    const sandbox::FileResult appended =
        upload_.Append(message.data(), files_->Limits());
    // How the upload ends says why.
    if (appended.code == FileCode::kIncomplete) return Commit();
    done = files_->Check(appended, path_);
  }
  if (!done.ok() || !message.finish()) return done;
  finished = true;
  return Commit();
}

absl::Status WriteFileCall::Begin(const v1::FileWriteStart& start) {
  absl::StatusOr<std::string> path = AgentPath(start.path());
  if (!path.ok()) return path.status();
  const absl::StatusOr<sandbox::WriteOptions> options = WriteOptionsOf(start);
  if (!options.ok()) return options.status();
  absl::StatusOr<std::unique_ptr<FileSession>> files =
      FileSession::Open(*parts_.sessions, caller_, session_id_, stop_);
  if (!files.ok()) return files.status();
  files_ = *std::move(files);
  path_ = *std::move(path);
  sandbox::FileAnswer<sandbox::FileUpload> begun =
      files_->agent().BeginWrite(path_, *options, files_->Limits());
  upload_ = std::move(begun.value);
  return files_->Check(begun.result, path_);
}

absl::Status WriteFileCall::Commit() {
  sandbox::FileAnswer<sandbox::FileFacts> written =
      upload_.Commit(files_->Limits());
  if (absl::Status done = files_->Check(written.result, path_); !done.ok()) {
    return done;
  }
  if (absl::Status saved = files_->Save(); !saved.ok()) return saved;
  v1::WriteFileResponse response;
  *response.mutable_info() = ToProto(std::move(written.value), path_);
  absl::StatusOr<grpc::ByteBuffer> bytes = SerializeMessage(response);
  if (!bytes.ok()) return bytes.status();
  *response_ = *std::move(bytes);
  return absl::OkStatus();
}

void WriteFileCall::End(const absl::Status& status) {
  upload_ = sandbox::FileUpload();
  files_.reset();
  Finish(ToGrpcStatus(status));
}

}  // namespace sandglass::server
