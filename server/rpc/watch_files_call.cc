#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/alarm.h"
#include "server/base/strings.h"
#include "server/rpc/file_calls.h"

namespace sandglass::server {
namespace {

using Work = FileSession::Work;

constexpr absl::Duration kDefaultInterval = absl::Milliseconds(500);
constexpr absl::Duration kMinInterval = absl::Milliseconds(100);
constexpr absl::Duration kMaxInterval = absl::Minutes(1);
constexpr std::string_view kAdvice = "changes from here on were not told";

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

v1::FileChangeType TypeOf(sandbox::ChangeType type) {
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

// One WatchFiles: looks at the files, reports what has changed, and looks again
// a while later.
class WatchFilesCall final : public FileAnswersCall<v1::WatchFilesRequest> {
 public:
  using FileAnswersCall::FileAnswersCall;

 private:
  // The steps of the call.
  void Open() override {
    absl::StatusOr<absl::Duration> interval = IntervalOf(request_);
    if (!interval.ok()) return End(interval.status());
    interval_ = *interval;
    if (absl::Status found = OpenAt(request_.path(), EmptyPath::kWorkspace);
        !found.ok()) {
      return End(found);
    }
    sandbox::FileAnswer<sandbox::FileTracker> tracker =
        files_->agent().Track(path_, {}, files_->Limits(Work::kLong));
    tracker_ = std::move(tracker.value);
    if (absl::Status done = files_->Check(tracker.result, path_, Work::kLong);
        !done.ok()) {
      return End(done);
    }
    Send(v1::WatchFilesResponse(), kAdvice);
  }
  void CheckChanges() {
    if (stop_->stopped()) {
      return End(files_->Check({sandbox::FileCode::kCancelled, 0}, path_,
                               Work::kLong));
    }
    v1::WatchFilesResponse response;
    uint64_t bytes = 0;
    const sandbox::FileAnswer<bool> looked = tracker_.Next(
        files_->Limits(Work::kLong), [&](sandbox::FileChanged change) {
          if (bytes > kMaxListedBytes) return response.set_truncated(true);
          v1::FileChange& out = *response.add_changes();
          out.set_type(TypeOf(change.type));
          *out.mutable_info() = ToProto(change.facts);
          out.set_old_path(AsUtf8(change.old_path));
          bytes += out.ByteSizeLong();
        });
    if (absl::Status done = files_->Check(looked.result, path_, Work::kLong);
        !done.ok()) {
      return End(done);
    }
    if (looked.value) response.set_truncated(true);
    if (response.changes().empty() && !response.truncated()) return GoOn();
    Send(response, kAdvice);
  }

  void GoOn() override ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    // A call that is cancelled goes on at once as well, and then sees that it
    // is to stop.
    const auto wait = stop_->stopped() ? absl::ZeroDuration() : interval_;
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(
        std::chrono::system_clock::now() + absl::ToChronoMilliseconds(wait),
        [this](bool) { Continue([this] { CheckChanges(); }); });
  }
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mutex_) {
    stop_->Stop();
    absl::MutexLock lock(&mutex_);
    if (alarm_ != nullptr) alarm_->Cancel();
  }
  void LetGo() override { tracker_ = sandbox::FileTracker(); }

  absl::Duration interval_;
  // It must end before the agent that it asks.
  sandbox::FileTracker tracker_;
  absl::Mutex mutex_;
  // There is a new alarm for each wait, since the callback of the last one may
  // not be done yet.
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

WriteReactor* BeginWatchFiles(const FileCallParts& parts,
                              const Identity& caller,
                              v1::WatchFilesRequest&& request) {
  auto* call = new WatchFilesCall(parts, caller, std::move(request));
  call->Start();
  return call;
}

}  // namespace sandglass::server
