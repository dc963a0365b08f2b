// The calls that download a session's files as an archive, and upload them.
#include <string>
#include <string_view>
#include <utility>

#include "server/base/errors.h"
#include "server/rpc/file_calls.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/message_codec.h"
#include "server/session/file_status.h"

namespace sandglass::server {
namespace {

using sandbox::FileAgent;
using sandbox::FileCode;
using Work = FileSession::Work;

constexpr size_t kChunkBytes = size_t{256} << 10;
constexpr std::string_view kIncomplete = "the archive is incomplete";
constexpr uint64_t kAnySize = uint64_t{1} << 62;
constexpr uint32_t kMaxEntries = 1'000'000;
constexpr uint32_t kListedAtOnce = 1'000;

// Removes what is in a directory; it is fine when there is no directory. The
// program's code may make more files meanwhile, so this ends after the time of
// one call.
absl::Status Empty(FileSession& files, const std::string& path) {
  const sandbox::FileLimits limits = files.Limits(Work::kLong);
  const absl::Time end = limits.Deadline();
  while (true) {
    const sandbox::FileAnswer<sandbox::FileList> list =
        files.agent().List(path, "", kListedAtOnce, limits.Until(end));
    if (list.result.code == FileCode::kNotFound) return absl::OkStatus();
    if (absl::Status done = files.Check(list.result, path, Work::kLong);
        !done.ok()) {
      return done;
    }
    for (const sandbox::FileFacts& entry : list.value.entries) {
      const std::string name = path + "/" + entry.name;
      const sandbox::FileResult removed =
          files.agent()
              .Remove(name, FileAgent::Depth::kRecursive, limits.Until(end))
              .result;
      // Another process removed it first.
      if (removed.code == FileCode::kNotFound) continue;
      if (absl::Status done = files.Check(removed, name, Work::kLong);
          !done.ok()) {
        return done;
      }
    }
    if (list.value.entries.empty()) return absl::OkStatus();
  }
}

}  // namespace

void SnapshotFilesCall::Start(const Caller& caller,
                              v1::SnapshotFilesRequest&& request) {
  caller_ = caller;
  request_ = std::move(request);
  const absl::Status added = parts_.threads->Add(
      {caller.name, request_.session_id()}, request_.ByteSizeLong(),
      [this, caller] { Open(caller); });
  if (!added.ok()) End(added);
}

void SnapshotFilesCall::Open(const Caller& caller) {
  absl::StatusOr<std::string> path =
      AgentPath(request_.path(), EmptyPath::kWorkspace);
  if (!path.ok()) return End(path.status());
  path_ = *std::move(path);
  absl::StatusOr<std::unique_ptr<FileSession>> files =
      FileSession::Open(*parts_.sessions, caller, request_.session_id(), stop_);
  if (!files.ok()) return End(files.status());
  files_ = *std::move(files);
  sandbox::FileAnswer<sandbox::TreeDownload> begun = files_->agent().BeginPack(
      path_, FileAgent::Which::kReadable, files_->Limits());
  if (absl::Status done = files_->Check(begun.result, path_); !done.ok()) {
    return End(done);
  }
  archive_ = std::move(begun.value);
  ReadNext();
}

void SnapshotFilesCall::OnWriteDone(bool ok) {
  current_.Clear();
  held_.Release();
  parts_.threads->Continue({caller_.name, request_.session_id()}, [this, ok] {
    if (!ok) return End(CallerGone());
    if (last_) return End(absl::OkStatus());
    ReadNext();
  });
}

void SnapshotFilesCall::ReadNext() {
  v1::SnapshotFilesResponse response;
  std::string& data = *response.mutable_data();
  data.resize(kChunkBytes);
  const sandbox::FileAnswer<size_t> got =
      archive_.Read(data.data(), data.size(), files_->Limits(Work::kLong));
  if (absl::Status done = files_->Check(got.result, path_, Work::kLong);
      !done.ok()) {
    return End(done);
  }
  last_ = got.value < data.size();
  if (last_) {
    // Find out whether this was the end, or the jail broke off.
    const sandbox::FileResult result = archive_.Finish(files_->Limits()).result;
    if (absl::Status done = files_->Check(result, path_); !done.ok()) {
      return End(done);
    }
  }
  data.resize(got.value);
  if (absl::Status put = held_.Put(caller_.name, SerializeMessage(response),
                                   &current_, kIncomplete);
      !put.ok()) {
    return End(put);
  }
  StartWrite(&current_);
}

void SnapshotFilesCall::End(const absl::Status& status) {
  archive_ = sandbox::TreeDownload();
  files_.reset();
  Finish(ToGrpcStatus(status));
}

void RestoreFilesCall::Start(const Caller& caller) {
  caller_ = caller;
  StartRead(&incoming_);
}

void RestoreFilesCall::OnReadDone(bool ok) {
  if (files_ == nullptr) {
    if (!ok) return End(InvalidRequest({{"start", "must come first"}}));
    return HandleFirst();
  }
  parts_.threads->Continue({caller_.name, session_id_}, [this, ok] {
    if (ok) return HandleNext();
    // When a client goes away, its stream ends as well.
    End(stop_->stopped() ? CallerGone() : Commit());
  });
}

void RestoreFilesCall::HandleFirst() {
  auto message = std::make_shared<v1::RestoreFilesRequest>();
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
        if (absl::Status done = Begin(message->start()); !done.ok()) {
          return End(done);
        }
        StartRead(&incoming_);
      });
  if (!added.ok()) End(added);
}

absl::Status RestoreFilesCall::Begin(const v1::RestoreFilesStart& start) {
  absl::StatusOr<std::string> path =
      AgentPath(start.path(), EmptyPath::kWorkspace);
  if (!path.ok()) return path.status();
  path_ = *std::move(path);
  absl::StatusOr<std::unique_ptr<FileSession>> files =
      FileSession::Open(*parts_.sessions, caller_, session_id_, stop_);
  if (!files.ok()) return files.status();
  files_ = *std::move(files);
  if (start.replace()) {
    if (absl::Status done = Empty(*files_, path_); !done.ok()) return done;
  }
  sandbox::FileAnswer<sandbox::TreeUpload> begun =
      files_->agent().BeginUnpack(path_, FileAgent::Parents::kMake, kAnySize,
                                  kMaxEntries, files_->Limits());
  archive_ = std::move(begun.value);
  return files_->Check(begun.result, path_);
}

void RestoreFilesCall::HandleNext() {
  v1::RestoreFilesRequest message;
  absl::Status done = ParseMessage(incoming_, message);
  incoming_.Clear();
  if (done.ok() && message.has_start()) {
    done = InvalidRequest({{"start", "came already"}});
  }
  if (!done.ok()) return End(done);
  const sandbox::FileResult sent =
      archive_.Append(message.data(), files_->Limits(Work::kLong));
  // How the archive ends says why it took no more.
  if (sent.code == FileCode::kIncomplete) return End(Commit());
  done = files_->Check(sent, path_, Work::kLong);
  if (!done.ok()) return End(done);
  StartRead(&incoming_);
}

absl::Status RestoreFilesCall::Commit() {
  const sandbox::FileAnswer<sandbox::TreeCount> count =
      archive_.Finish(files_->Limits(Work::kLong));
  if (absl::Status done = files_->Check(count.result, path_, Work::kLong);
      !done.ok()) {
    return done;
  }
  if (absl::Status saved = files_->Save(); !saved.ok()) return saved;
  v1::RestoreFilesResponse response;
  response.set_files(count.value.entries);
  response.set_bytes(count.value.bytes);
  response.set_skipped(count.value.left_out);
  absl::StatusOr<grpc::ByteBuffer> bytes = SerializeMessage(response);
  if (!bytes.ok()) return bytes.status();
  *response_ = *std::move(bytes);
  return absl::OkStatus();
}

void RestoreFilesCall::End(const absl::Status& status) {
  archive_ = sandbox::TreeUpload();
  files_.reset();
  Finish(ToGrpcStatus(status));
}

}  // namespace sandglass::server
