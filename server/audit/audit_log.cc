#include "server/audit/audit_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "sandbox/os/clocks.h"
#include "server/audit/audit_segments.h"
#include "server/base/durable_log.h"
#include "server/base/log.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr auto kBetweenTries = std::chrono::milliseconds(500);
// So many bytes must be free before the log counts as writable again. With room
// for only the line "resumed", programs would be run whose lines can't be
// written.
constexpr off_t kRoomBytes = 64 << 10;
constexpr char kRestart[] =
    "; put it back or make it anew, and restart sandglassd";

bool IsSameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

absl::Status WithAdvice(const absl::Status& status, const std::string& path) {
  return absl::Status(
      status.code(),
      absl::StrCat("the audit log in ", Quoted(path, 256), ": ",
                   status.message(),
                   "; look at it with sandglass audit verify, keep its files "
                   "elsewhere, and start again with an empty directory"));
}

}  // namespace

AuditLog::AuditLog(os::Fd directory, std::string path,
                   const AuditLogOptions& options)
    : directory_(std::move(directory)),
      path_(std::move(path)),
      options_(options) {}

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(
    os::Fd directory, const std::string& path, const AuditLogOptions& options) {
  struct stat info = {};
  if (::fstat(directory.get(), &info) != 0) {
    return DiskError(absl::StrCat("look at ", Quoted(path, 256)));
  }
  if (info.st_uid != ::geteuid()) {
    return absl::FailedPreconditionError(absl::StrCat(
        Quoted(path, 256), " belongs to uid ", info.st_uid, ", not to uid ",
        ::geteuid(), ", this daemon's; set another \"audit.dir\""));
  }
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return DiskError(absl::StrCat("lock ", Quoted(path, 256)));
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "another sandglassd writes its audit log to ", Quoted(path, 256),
        "; stop it, or give this one another \"audit.dir\""));
  }
  std::unique_ptr<AuditLog> log(
      new AuditLog(std::move(directory), path, options));
  if (absl::Status status = log->GoOn(); !status.ok()) return status;
  if (options.fsync == AuditFsync::kInterval) {
    log->sync_thread_ = std::thread([log = log.get()] { log->SyncLoop(); });
  }
  return log;
}

AuditLog::~AuditLog() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (sync_thread_.joinable()) sync_thread_.join();
  absl::MutexLock lock(&mutex_);
  if (options_.fsync != AuditFsync::kOff) Sync(written_).IgnoreError();
}

absl::Status AuditLog::GoOn() {
  absl::StatusOr<AuditTail> tail = OpenAuditTail(directory_);
  if (!tail.ok()) return WithAdvice(tail.status(), path_);
  absl::MutexLock lock(&mutex_);
  head_ = tail->head;
  if (!tail->file.valid()) return absl::OkStatus();
  file_ = std::make_shared<const os::Fd>(std::move(tail->file));
  file_seq_ = tail->file_seq;
  bytes_ = tail->bytes;
  if (tail->torn.empty() && tail->ends_line) return absl::OkStatus();
  Log(LogLevel::kWarning, "audit_recovered",
      {{"dir", path_}, {"torn_bytes", uint64_t{tail->torn.size()}}});
  policy::AuditHead head = head_;
  absl::Status written = WriteHere(
      absl::StrCat(tail->ends_line ? "" : "\n",
                   policy::MakeAuditLine(policy::RecoveredBody(tail->torn),
                                         os::WallNow(), head)));
  if (!written.ok()) return WithAdvice(written, path_);
  head_ = std::move(head);
  return absl::OkStatus();
}

absl::Status AuditLog::CheckDirectory() const {
  struct stat ours = {};
  if (::fstat(directory_.get(), &ours) != 0 || ours.st_nlink == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(Quoted(path_, 256), " was removed", kRestart));
  }
  struct stat named = {};
  const bool found = ::stat(path_.c_str(), &named) == 0;
  // A process that may not look along the path can't tell, so that is no
  // failure.
  if (found ? IsSameFile(ours, named) : errno != ENOENT) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("what the log is written to is ", Quoted(path_, 256),
                   " no more: it was renamed",
                   found ? ", and another is there" : "", kRestart));
}

absl::Status AuditLog::Check() {
  if (absl::Status status = CheckDirectory(); !status.ok()) return status;
  looked_ = Now();
  if (file_ == nullptr) return absl::OkStatus();
  const std::string name = policy::AuditFileName(file_seq_);
  struct stat ours = {};
  struct stat named = {};
  if (::fstat(file_->get(), &ours) != 0 ||
      ::fstatat(directory_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) !=
          0 ||
      !IsSameFile(ours, named)) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " was removed or replaced by somebody"));
  }
  if (static_cast<uint64_t>(ours.st_size) != bytes_) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " was changed by somebody: it has ", ours.st_size,
                     " bytes, and was left with ", bytes_));
  }
  return absl::OkStatus();
}

absl::Status AuditLog::Append(std::string_view event,
                              const nlohmann::ordered_json& fields,
                              std::string_view first_members) {
  const absl::StatusOr<std::string> body =
      policy::AuditBody(AbslView(event), fields, AbslView(first_members));
  if (!body.ok()) return body.status();
  absl::MutexLock lock(&mutex_);
  if (!failure_.ok()) TryAgain();
  absl::Status status = failure_;
  if (status.ok()) status = Check();
  if (status.ok()) status = Write(*body);
  if (absl::IsInvalidArgument(status)) return status;
  if (!status.ok()) {
    ++lost_;
    return Fail(std::move(status));
  }
  UpdateState();
  return options_.fsync == AuditFsync::kAlways ? Sync(written_) : status;
}

absl::Status AuditLog::Ready(std::chrono::milliseconds at_most_ago) {
  absl::MutexLock lock(&mutex_);
  if (!failure_.ok()) {
    TryAgain();
  } else if (Now() - looked_ < at_most_ago) {
    return absl::OkStatus();
  } else if (absl::Status status = Check(); !status.ok()) {
    return Fail(std::move(status));
  }
  return failure_;
}

AuditLog::State AuditLog::state() const {
  absl::MutexLock lock(&state_mutex_);
  return state_;
}

void AuditLog::UpdateState() {
  absl::MutexLock lock(&state_mutex_);
  state_ = {written_, lost_, failure_};
}

absl::Duration AuditLog::SyncTime() const {
  absl::MutexLock lock(&state_mutex_);
  return sync_began_ ? Since(*sync_began_) : absl::ZeroDuration();
}

int AuditLog::SyncData(const os::Fd& file) {
  {
    absl::MutexLock lock(&state_mutex_);
    sync_began_ = Now();
  }
  const int result = ::fdatasync(file.get());
  const int error = errno;
  absl::MutexLock lock(&state_mutex_);
  sync_began_.reset();
  errno = error;
  return result;
}

policy::AuditHead AuditLog::Head() const {
  absl::MutexLock lock(&mutex_);
  return head_;
}

absl::Status AuditLog::Write(absl::string_view body) {
  policy::AuditHead head = head_;
  const std::string line = policy::MakeAuditLine(body, os::WallNow(), head);
  if (line.size() > policy::kMaxAuditLineBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a line of ", line.size(), " bytes is too long for the ",
                     "audit log; at most ", policy::kMaxAuditLineBytes));
  }
  if (file_ == nullptr ||
      (bytes_ > 0 && bytes_ + line.size() > options_.max_file_bytes)) {
    if (absl::Status begun = BeginFile(); !begun.ok()) return begun;
    DeleteOldest();
  }
  if (absl::Status written = WriteHere(line); !written.ok()) return written;
  head_ = std::move(head);
  ++written_;
  return absl::OkStatus();
}

absl::Status AuditLog::WriteHere(absl::string_view bytes) {
  const ssize_t put = ::write(file_->get(), bytes.data(), bytes.size());
  if (put == static_cast<ssize_t>(bytes.size())) {
    bytes_ += bytes.size();
    return absl::OkStatus();
  }
  // Only a part was written: the disk is full, as the next write(2) would say.
  if (put >= 0) errno = ENOSPC;
  absl::Status failure = DiskError("write a line");
  if (put > 0 && ::ftruncate(file_->get(), static_cast<off_t>(bytes_)) != 0) {
    leftover_ = static_cast<uint64_t>(put);
  }
  return failure;
}

absl::Status AuditLog::BeginFile() {
  const bool durable = options_.fsync != AuditFsync::kOff;
  if (durable && file_ != nullptr && !doubtful_) {
    if (SyncData(*file_) != 0) return SyncFailed();
    synced_ = written_;
  }
  const uint64_t seq = head_.seq + 1;
  absl::StatusOr<os::Fd> file = MakeAuditFile(directory_, seq);
  if (!file.ok()) return file.status();
  file_ = std::make_shared<const os::Fd>(*std::move(file));
  file_seq_ = seq;
  bytes_ = leftover_ = 0;
  doubtful_ = false;
  if (durable && ::fsync(directory_.get()) != 0) {
    return DiskError("sync the directory");
  }
  return absl::OkStatus();
}

void AuditLog::DeleteOldest() {
  if (options_.max_files == 0) return;
  const absl::StatusOr<std::vector<uint64_t>> files =
      ListAuditFiles(directory_);
  if (!files.ok()) return;
  for (size_t i = 0; i + options_.max_files < files->size(); ++i) {
    const std::string name = policy::AuditFileName((*files)[i]);
    if (::unlinkat(directory_.get(), name.c_str(), 0) == 0) {
      Log(LogLevel::kInfo, "audit_file_deleted",
          {{"dir", path_}, {"file", name}});
    } else {
      Log(LogLevel::kWarning, "audit_file_not_deleted",
          {{"dir", path_}, {"file", name}, {"error", ErrorText(errno)}});
    }
  }
}

absl::Status AuditLog::Fail(absl::Status why) {
  if (failure_.ok()) {
    Log(LogLevel::kError, "audit_unwritable",
        {{"dir", path_}, {"error", std::string(why.message())}});
    failure_ = why;
    next_try_ = Now() + kBetweenTries;
  }
  UpdateState();
  return why;
}

void AuditLog::TryAgain() {
  // Resume() lets go of the lock while the disk is busy.
  if (resuming_ || Now() < next_try_) return;
  resuming_ = true;
  absl::Status resumed = Resume();
  resuming_ = false;
  next_try_ = Now() + kBetweenTries;
  if (!resumed.ok()) {
    failure_ = std::move(resumed);
    UpdateState();
    return;
  }
  Log(LogLevel::kWarning, "audit_resumed",
      {{"dir", path_},
       {"lost", lost_ - lost_before_},
       {"head", FormatAuditHead(head_)}});
  failure_ = absl::OkStatus();
  lost_before_ = lost_;
  UpdateState();
}

absl::Status AuditLog::Resume() {
  struct stat info = {};
  if (leftover_ > 0 && ::fstat(file_->get(), &info) == 0 &&
      static_cast<uint64_t>(info.st_size) == bytes_ + leftover_ &&
      ::ftruncate(file_->get(), static_cast<off_t>(bytes_)) == 0) {
    leftover_ = 0;
  }
  // Don't write into a directory that was removed.
  if (absl::Status status = CheckDirectory(); !status.ok()) return status;
  if (!doubtful_) {
    const bool anew = !Check().ok();
    if (anew) {
      if (absl::Status begun = BeginFile(); !begun.ok()) return begun;
      DeleteOldest();
    }
    const absl::Status resumed = WriteResumed();
    return resumed.ok() && options_.fsync == AuditFsync::kAlways
               ? Sync(written_)
               : resumed;
  }
  // While the disk takes nothing, a try that fails must leave no file behind
  // and make no old one go.
  const auto old_file = file_;
  const auto old = std::tuple(file_seq_, bytes_, leftover_, head_, written_);
  absl::Status resumed = BeginFile();
  const bool begun = file_ != old_file;
  if (resumed.ok()) resumed = WriteResumed();
  if (resumed.ok()) resumed = Sync(written_);
  if (resumed.ok()) {
    DeleteOldest();
    return resumed;
  }
  if (begun) {
    ::unlinkat(directory_.get(), policy::AuditFileName(file_seq_).c_str(), 0);
  }
  // The line "resumed" itself doesn't count as lost.
  lost_ -= written_ - std::get<4>(old);
  file_ = old_file;
  std::tie(file_seq_, bytes_, leftover_, head_, written_) = old;
  synced_ = written_;
  doubtful_ = true;
  return resumed;
}

absl::Status AuditLog::WriteResumed() {
  if (file_ != nullptr &&
      ::fallocate(file_->get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(bytes_),
                  kRoomBytes) != 0 &&
      (errno == ENOSPC || errno == EDQUOT)) {
    return DiskError("write a line");
  }
  const absl::StatusOr<std::string> body =
      policy::AuditBody("resumed", {{"reason", std::string(failure_.message())},
                                    {"lost", lost_ - lost_before_}});
  if (!body.ok()) return body.status();
  return Write(*body);
}

absl::Status AuditLog::Sync(uint64_t lines) {
  const uint64_t failures = sync_failures_;
  while (synced_ < lines) {
    if (syncing_) {
      mutex_.Await(absl::Condition(this, &AuditLog::NotSyncing));
      if (sync_failures_ != failures) {
        return absl::InternalError("the line may not be on the disk");
      }
      continue;
    }
    syncing_ = true;
    const uint64_t target = written_;
    const uint64_t before = synced_;
    const std::shared_ptr<const os::Fd> file = file_;
    mutex_.Unlock();
    const int result = SyncData(*file);
    const int error = errno;
    mutex_.Lock();
    syncing_ = false;
    if (result != 0) {
      errno = error;
      if (file == file_) return Fail(SyncFailed());
      // The next file was begun meanwhile; the lines in doubt are in the file
      // that was synced here, the one before.
      ++sync_failures_;
      lost_ += target - before;
      return Fail(DiskError("sync a file"));
    }
    synced_ = std::max(synced_, target);
  }
  return absl::OkStatus();
}

absl::Status AuditLog::SyncFailed() {
  absl::Status failure = DiskError("sync a file");
  ++sync_failures_;
  // The system reports a failure only once and from then on considers the pages
  // written (fsync(2), "EIO").
  doubtful_ = true;
  lost_ += written_ - synced_;
  synced_ = written_;
  return failure;
}

void AuditLog::SyncLoop() {
  absl::MutexLock lock(&mutex_);
  while (!mutex_.AwaitWithTimeout(absl::Condition(&stopping_),
                                  options_.fsync_interval)) {
    Sync(written_).IgnoreError();
  }
}

}  // namespace sandglass::server
