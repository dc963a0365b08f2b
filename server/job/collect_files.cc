#include "server/job/collect_files.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/os/files.h"
#include "server/base/clock.h"
#include "server/base/poll_until.h"

namespace sandglass::server {

FileResult ReadCollectedFile(const sandbox::FileEvent& event,
                             uint64_t& budget) {
  FileResult result;
  result.path = event.path;
  result.error = static_cast<FileError>(event.problem);
  if (result.error != FileError::kNone) return result;
  const int fd = event.file.get();
  struct stat info = {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || !os::IsTmpfs(fd)) {
    result.error = FileError::kNotRegular;
    return result;
  }
  result.mode = info.st_mode & 07777;
  result.size = static_cast<uint64_t>(info.st_size);
  if (result.size > budget) {
    result.error = FileError::kTooLarge;
    return result;
  }
  result.content.resize(result.size);
  size_t done = 0;
  bool readable = true;
  while (done < result.content.size()) {
    const ssize_t size =
        ::pread(fd, result.content.data() + done, result.content.size() - done,
                static_cast<off_t>(done));
    if (size < 0 && errno == EINTR) continue;
    readable = size >= 0;
    if (size <= 0) break;
    done += static_cast<size_t>(size);
  }
  if (done < result.content.size()) {
    // The file shrank or can't be read; the memory that was set aside for it is
    // given back.
    if (!readable) result.error = FileError::kUnavailable;
    result.content.resize(readable ? done : 0);
    result.content.shrink_to_fit();
    result.size = result.content.size();
  }
  budget -= result.content.size();
  return result;
}

void CollectFiles(sandbox::Jail* jail, const Job& job, RunListener* listener,
                  JobResult& result) {
  if (job.fetch.empty()) return;
  if (jail == nullptr ||
      !jail->CollectFiles(job.fetch, job.max_collected_files).ok()) {
    for (const std::string& path : job.fetch) {
      result.files.push_back({.path = path, .error = FileError::kUnavailable});
    }
    return;
  }
  constexpr absl::Duration kCollectTimeout = absl::Seconds(10);
  const MonotonicTime deadline = After(Now(), kCollectTimeout);
  uint64_t budget = job.max_collected_bytes;
  result.files_left_out = true;  // until init says that it has sent all
  while (Now() < deadline) {
    struct pollfd fd = {jail->control_fd(), POLLIN, 0};
    if (!PollUntil(&fd, 1, deadline)) break;
    absl::StatusOr<std::optional<sandbox::JailEvent>> event = jail->NextEvent();
    if (!event.ok()) break;
    if (!event->has_value()) continue;
    if (auto* file = std::get_if<sandbox::FileEvent>(&**event)) {
      if (listener != nullptr && listener->OnFile(*file)) continue;
      result.files.push_back(ReadCollectedFile(*file, budget));
      continue;
    }
    if (std::holds_alternative<sandbox::ExitedEvent>(**event)) continue;
    const auto* end = std::get_if<sandbox::CollectDoneEvent>(&**event);
    result.files_left_out = end == nullptr || end->truncated;
    break;
  }
}

}  // namespace sandglass::server
