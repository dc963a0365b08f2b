#include "server/rpc/file_calls.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "server/files/file_methods.h"

namespace sandglass::server {
namespace {

using sandbox::FileCode;

constexpr std::string_view kReadOn = "what was read so far is whole";

// One ReadFile: the next chunk is read when the last one was written.
class ReadFileCall final : public FileAnswersCall<v1::ReadFileRequest> {
 public:
  using FileAnswersCall::FileAnswersCall;

 private:
  // The steps of the call.
  void Open() override {
    if (absl::Status found = OpenAt(request_.path(), EmptyPath::kInvalid);
        !found.ok()) {
      return End(found);
    }
    sandbox::FileAnswer<sandbox::OpenedFile> opened =
        files_->agent().Open(path_, files_->Limits());
    if (absl::Status done = files_->Check(opened.result, path_); !done.ok()) {
      return End(done);
    }
    const uint64_t size = opened.value.facts.size;
    next_ = std::min(request_.offset(), size);
    const uint64_t left = size - next_;
    end_ = next_ +
           (request_.limit() == 0 ? left : std::min(request_.limit(), left));
    stop_->Hold(std::move(opened.value.file));
    v1::ReadFileResponse response;
    *response.mutable_info() = ToProto(std::move(opened.value.facts), path_);
    Send(response, kReadOn);
  }
  void ReadNext() {
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
    Send(response, kReadOn);
  }

  void GoOn() override {
    Continue([this] { ReadNext(); });
  }
  void LetGo() override {
    files_.reset();
    stop_->Stop();
  }

  uint64_t next_ = 0;  // the offset from which to read on
  uint64_t end_ = 0;
};

// One WriteFile: the next message is taken when the last one was written.
class WriteFileCall final : public FileRequestsCall<v1::WriteFileRequest> {
 public:
  using FileRequestsCall::FileRequestsCall;

 private:
  absl::Status Handle(const v1::WriteFileRequest& message,
                      bool& finished) override {
    absl::Status done;
    if (message.has_start()) {
      done = Open(message.start());
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
  absl::Status Open(const v1::FileWriteStart& start) {
    absl::StatusOr<std::string> path = AgentPath(start.path());
    if (!path.ok()) return path.status();
    const absl::StatusOr<sandbox::WriteOptions> options = WriteOptionsOf(start);
    if (!options.ok()) return options.status();
    if (absl::Status found = OpenSession(); !found.ok()) return found;
    path_ = *std::move(path);
    sandbox::FileAnswer<sandbox::FileUpload> begun =
        files_->agent().BeginWrite(path_, *options, files_->Limits());
    upload_ = std::move(begun.value);
    return files_->Check(begun.result, path_);
  }
  absl::Status Commit() {
    sandbox::FileAnswer<sandbox::FileFacts> written =
        upload_.Commit(files_->Limits());
    if (absl::Status done = files_->Check(written.result, path_); !done.ok()) {
      return done;
    }
    if (absl::Status saved = files_->Save(); !saved.ok()) return saved;
    v1::WriteFileResponse response;
    *response.mutable_info() = ToProto(std::move(written.value), path_);
    return Answer(response);
  }
  absl::Status HandleEnd() override {
    return FileStatus({FileCode::kIncomplete, 0},
                      "the stream ended without `finish`");
  }
  void LetGo() override { upload_ = sandbox::FileUpload(); }

  // It must end before the agent that does it.
  sandbox::FileUpload upload_;
};

}  // namespace

WriteReactor* BeginReadFile(const FileCallParts& parts, const Identity& caller,
                            v1::ReadFileRequest&& request) {
  auto* call = new ReadFileCall(parts, caller, std::move(request));
  call->Start();
  return call;
}

ReadReactor* BeginWriteFile(const FileCallParts& parts, const Identity& caller,
                            Bytes* response) {
  auto* call = new WriteFileCall(parts, caller, response);
  call->Start();
  return call;
}

}  // namespace sandglass::server
