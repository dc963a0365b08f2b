#include <chrono>
#include <memory>
#include <utility>

#include "server/base/errors.h"
#include "server/base/strings.h"
#include "server/rpc/file_calls.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/message_codec.h"
#include "server/session/file_status.h"

namespace sandglass::server {
namespace {

using Work = FileSession::Work;

constexpr absl::Duration kDefaultInterval = absl::Milliseconds(500);
constexpr absl::Duration kMinInterval = absl::Milliseconds(100);
constexpr absl::Duration kMaxInterval = absl::Minutes(1);

absl::StatusOr<absl::Duration> IntervalOf(
    const v1::WatchFilesRequest& request) {
  if (!request.has_interval()) return kDefaultInterval;
  const absl::Duration interval = absl::Seconds(request.interval().seconds()) +
                                  absl::Nanoseconds(request.interval().nanos());
  if (interval == absl::ZeroDuration()) return kDefaultInterval;
  if (interval < kMinInterval || interval > kMaxInterval) {
    return InvalidRequest({{"interval", "must be 100 ms to 1 min"}});
  }
  return interval;
}

v1::FileChangeType ToProto(sandbox::ChangeType type) {
  switch (type) {
    case sandbox::ChangeType::kCreated:
      return v1::FILE_CHANGE_TYPE_CREATED;
    case sandbox::ChangeType::kModified:
      return v1::FILE_CHANGE_TYPE_MODIFIED;
    case sandbox::ChangeType::kRemoved:
      return v1::FILE_CHANGE_TYPE_REMOVED;
    case sandbox::ChangeType::kRenamed:
      return v1::FILE_CHANGE_TYPE_RENAMED;
  }
  return v1::FILE_CHANGE_TYPE_UNSPECIFIED;
}

}  // namespace

void WatchFilesCall::Start(const Caller& caller,
                           v1::WatchFilesRequest&& request) {
  caller_ = caller;
  request_ = std::move(request);
  const absl::Status added = parts_.threads->Add(
      {caller.name, request_.session_id()}, request_.ByteSizeLong(),
      [this, caller] { Open(caller); });
  if (!added.ok()) End(added);
}

void WatchFilesCall::Open(const Caller& caller) {
  absl::StatusOr<absl::Duration> interval = IntervalOf(request_);
  if (!interval.ok()) return End(interval.status());
  interval_ = *interval;
  absl::StatusOr<std::string> path =
      AgentPath(request_.path(), EmptyPath::kWorkspace);
  if (!path.ok()) return End(path.status());
  path_ = *std::move(path);
  absl::StatusOr<std::unique_ptr<FileSession>> files =
      FileSession::Open(*parts_.sessions, caller, request_.session_id(), stop_);
  if (!files.ok()) return End(files.status());
  files_ = *std::move(files);
  sandbox::FileAnswer<sandbox::FileTracker> tracker =
      files_->agent().Track(path_, {}, files_->Limits(Work::kLong));
  tracker_ = std::move(tracker.value);
  if (absl::Status done = files_->Check(tracker.result, path_, Work::kLong);
      !done.ok()) {
    return End(done);
  }
  Send(v1::WatchFilesResponse());
}

void WatchFilesCall::OnWriteDone(bool ok) {
  current_.Clear();
  held_.Release();
  if (ok) return CheckChangesLater();
  parts_.threads->Continue({caller_.name, request_.session_id()},
                           [this] { End(CallerGone()); });
}

void WatchFilesCall::CheckChangesLater() {
  absl::MutexLock lock(&mutex_);
  // A call that is cancelled goes on at once as well, and then sees that it is
  // to stop.
  const auto wait = stop_->stopped() ? absl::ZeroDuration() : interval_;
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(
      std::chrono::system_clock::now() + absl::ToChronoMilliseconds(wait),
      [this](bool) {
        parts_.threads->Continue({caller_.name, request_.session_id()},
                                 [this] { CheckChanges(); });
      });
}

void WatchFilesCall::OnCancel() {
  stop_->Stop();
  absl::MutexLock lock(&mutex_);
  if (alarm_ != nullptr) alarm_->Cancel();
}

void WatchFilesCall::CheckChanges() {
  if (stop_->stopped()) {
    return End(
        files_->Check({sandbox::FileCode::kCancelled, 0}, path_, Work::kLong));
  }
  v1::WatchFilesResponse response;
  uint64_t bytes = 0;
  const sandbox::FileAnswer<bool> looked = tracker_.Next(
      files_->Limits(Work::kLong), [&](sandbox::FileChanged change) {
        if (bytes > kMaxListedBytes) return response.set_truncated(true);
        v1::FileChange& out = *response.add_changes();
        out.set_type(ToProto(change.type));
        *out.mutable_info() = server::ToProto(change.facts);
        out.set_old_path(AsUtf8(change.old_path));
        bytes += out.ByteSizeLong();
      });
  if (absl::Status done = files_->Check(looked.result, path_, Work::kLong);
      !done.ok()) {
    return End(done);
  }
  if (looked.value) response.set_truncated(true);
  if (response.changes().empty() && !response.truncated())
    return CheckChangesLater();
  Send(response);
}

void WatchFilesCall::Send(const v1::WatchFilesResponse& response) {
  if (absl::Status put =
          held_.Put(caller_.name, SerializeMessage(response), &current_,
                    "changes from here on were not told");
      !put.ok()) {
    return End(put);
  }
  StartWrite(&current_);
}

void WatchFilesCall::End(const absl::Status& status) {
  tracker_ = sandbox::FileTracker();
  files_.reset();
  Finish(ToGrpcStatus(status));
}

}  // namespace sandglass::server
