// Operations of a file agent that span several calls.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sandbox/files/file_agent_client.h"
#include "sandbox/files/file_replies.h"
#include "sandbox/os/clocks.h"

namespace sandglass::sandbox {

namespace {

// Waits until a pipe's end is ready, or until waiting is of no use any more.
FileResult AwaitPipe(const os::Fd& pipe, short events, const FileLimits& limits,
                     absl::Time deadline) {
  const int64_t left = absl::ToInt64Milliseconds(deadline - os::SteadyNow());
  if (left <= 0) return {FileCode::kTimedOut, 0};
  struct pollfd waits[] = {{pipe.get(), events, 0},
                           {limits.cancel_fd, POLLIN, 0}};
  constexpr int64_t kMaxMillis = 60'000;
  (void)::poll(waits, 2, static_cast<int>(std::min(left, kMaxMillis)));
  if (waits[1].revents != 0) return {FileCode::kCancelled, 0};
  return {};
}

// Fails with kIncomplete when nobody reads any more. Adds to `written`.
FileResult WritePipe(const os::Fd& pipe, absl::string_view data,
                     const FileLimits& limits, uint64_t& written) {
  const absl::Time deadline = limits.Deadline();
  while (!data.empty()) {
    const ssize_t put = ::write(pipe.get(), data.data(), data.size());
    if (put >= 0) {
      data.remove_prefix(static_cast<size_t>(put));
      written += static_cast<uint64_t>(put);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return {FileCode::kIncomplete, errno};
    if (FileResult waited = AwaitPipe(pipe, POLLOUT, limits, deadline);
        !waited.ok()) {
      return waited;
    }
  }
  return {};
}

// The result of a pack or an unpack.
FileAnswer<TreeCount> ReceiveCount(FileAgentChannel& channel, uint64_t id,
                                   const FileLimits& limits) {
  FileAnswer<TreeCount> answer;
  FileAgentChannel::Answer last;
  answer.result = channel.Next(id, limits, limits.Deadline(), last);
  if (answer.ok()) {
    answer.result = {static_cast<FileCode>(last.reply->code()),
                     last.reply->error()};
    answer.value = {last.reply->count(),
                    last.reply->bytes(),
                    last.reply->left_out(),
                    last.reply->missing_count(),
                    {}};
    for (const internal::MissingMember& member : last.reply->missing()) {
      answer.value.missing.push_back(
          {member.path(),
           {static_cast<FileCode>(member.code()), member.error()}});
    }
  }
  channel.Drop(id);
  return answer;
}

}  // namespace

FileUpload::FileUpload(FileUpload&& other) noexcept
    : channel_(std::exchange(other.channel_, nullptr)),
      id_(other.id_),
      pipe_(std::move(other.pipe_)),
      size_(other.size_) {}

FileUpload& FileUpload::operator=(FileUpload&& other) noexcept {
  std::swap(channel_, other.channel_);
  std::swap(id_, other.id_);
  std::swap(pipe_, other.pipe_);
  std::swap(size_, other.size_);
  return *this;
}

FileUpload::~FileUpload() {
  if (channel_ != nullptr) channel_->Drop(id_);
}

FileResult FileUpload::Append(absl::string_view data,
                              const FileLimits& limits) {
  return WritePipe(pipe_, data, limits, size_);
}

FileAnswer<FileFacts> FileUpload::Commit(const FileLimits& limits) {
  FileAnswer<FileFacts> answer;
  if (channel_ == nullptr) {
    answer.result = {FileCode::kBadRequest, 0};
    return answer;
  }
  const absl::Time deadline = limits.Deadline();
  pipe_.reset();
  internal::FileRequest note;
  note.mutable_commit()->set_size(size_);
  answer.result = channel_->SendNote(id_, note, limits, deadline);
  if (answer.ok()) {
    FileAgentChannel::Answer last;
    answer.result = channel_->Next(id_, limits, deadline, last);
    if (answer.ok()) {
      answer.result = {static_cast<FileCode>(last.reply->code()),
                       last.reply->error()};
      answer.value = FactsOf(*last.reply->mutable_info());
    }
  }
  std::exchange(channel_, nullptr)->Drop(id_);
  return answer;
}

TreeUpload::TreeUpload(TreeUpload&& other) noexcept
    : channel_(std::exchange(other.channel_, nullptr)),
      id_(other.id_),
      pipe_(std::move(other.pipe_)) {}

TreeUpload& TreeUpload::operator=(TreeUpload&& other) noexcept {
  std::swap(channel_, other.channel_);
  std::swap(id_, other.id_);
  std::swap(pipe_, other.pipe_);
  return *this;
}

TreeUpload::~TreeUpload() {
  if (channel_ != nullptr) channel_->Drop(id_);
}

FileResult TreeUpload::Append(absl::string_view data,
                              const FileLimits& limits) {
  uint64_t written = 0;
  return WritePipe(pipe_, data, limits, written);
}

FileAnswer<TreeCount> TreeUpload::Finish(const FileLimits& limits) {
  if (channel_ == nullptr) return {.result = {FileCode::kBadRequest, 0}};
  pipe_.reset();
  return ReceiveCount(*std::exchange(channel_, nullptr), id_, limits);
}

TreeDownload::TreeDownload(TreeDownload&& other) noexcept
    : channel_(std::exchange(other.channel_, nullptr)),
      id_(other.id_),
      pipe_(std::move(other.pipe_)) {}

TreeDownload& TreeDownload::operator=(TreeDownload&& other) noexcept {
  std::swap(channel_, other.channel_);
  std::swap(id_, other.id_);
  std::swap(pipe_, other.pipe_);
  return *this;
}

TreeDownload::~TreeDownload() {
  if (channel_ != nullptr) channel_->Drop(id_);
}

FileAnswer<size_t> TreeDownload::Read(char* data, size_t size,
                                      const FileLimits& limits) {
  FileAnswer<size_t> answer;
  const absl::Time deadline = limits.Deadline();
  while (answer.value < size) {
    const ssize_t got =
        ::read(pipe_.get(), data + answer.value, size - answer.value);
    if (got == 0) break;
    if (got > 0) {
      answer.value += static_cast<size_t>(got);
      continue;
    }
    if (errno == EINTR) continue;
    answer.result = errno == EAGAIN ? AwaitPipe(pipe_, POLLIN, limits, deadline)
                                    : ResultOfErrno(errno);
    if (!answer.ok()) break;
  }
  return answer;
}

FileAnswer<TreeCount> TreeDownload::Finish(const FileLimits& limits) {
  if (channel_ == nullptr) return {.result = {FileCode::kBadRequest, 0}};
  return ReceiveCount(*std::exchange(channel_, nullptr), id_, limits);
}

FileTracker::FileTracker(FileTracker&& other) noexcept
    : channel_(std::exchange(other.channel_, nullptr)),
      id_(other.id_),
      on_demand_(other.on_demand_),
      first_due_(other.first_due_) {}

FileTracker& FileTracker::operator=(FileTracker&& other) noexcept {
  std::swap(channel_, other.channel_);
  std::swap(id_, other.id_);
  std::swap(on_demand_, other.on_demand_);
  std::swap(first_due_, other.first_due_);
  return *this;
}

FileTracker::~FileTracker() {
  if (channel_ != nullptr) channel_->Drop(id_);
}

FileAnswer<bool> FileTracker::Next(const FileLimits& limits, const Sink& sink) {
  FileAnswer<bool> answer;
  if (channel_ == nullptr) {
    answer.result = {FileCode::kBadRequest, 0};
    return answer;
  }
  const absl::Time deadline = limits.Deadline();
  if (on_demand_ && !std::exchange(first_due_, false)) {
    internal::FileRequest note;
    note.mutable_rescan();
    answer.result = channel_->SendNote(id_, note, limits, deadline);
  }
  while (answer.ok()) {
    FileAgentChannel::Answer batch;
    answer.result = channel_->Next(id_, limits, deadline, batch);
    if (!answer.ok()) break;
    size_t file = 0;
    for (internal::FileChange& change : *batch.reply->mutable_changes()) {
      FileChanged told;
      told.type = static_cast<ChangeType>(change.kind());
      told.facts = FactsOf(*change.mutable_info());
      told.old_path = std::move(*change.mutable_old_path());
      if (change.opened()) told.file = std::move(batch.fds[file++]);
      sink(std::move(told));
    }
    answer.value |= batch.reply->truncated();
    if (batch.reply->last()) {
      answer.result = {static_cast<FileCode>(batch.reply->code()),
                       batch.reply->error()};
      // The operation ended by itself, which a tracker only does for a reason.
      if (answer.ok()) answer.result = {FileCode::kFailed, 0};
      break;
    }
    if (batch.reply->scan_done()) return answer;
  }
  // That nothing changed within the time isn't a failure of the tracker.
  if (!on_demand_ && (answer.result.code == FileCode::kTimedOut ||
                      answer.result.code == FileCode::kCancelled)) {
    return answer;
  }
  // A comparison that was left halfway can't be continued.
  std::exchange(channel_, nullptr)->Drop(id_);
  return answer;
}

}  // namespace sandglass::sandbox
