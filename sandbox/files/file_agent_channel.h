#ifndef SANDGLASS_SANDBOX_FILES_FILE_AGENT_CHANNEL_H_
#define SANDGLASS_SANDBOX_FILES_FILE_AGENT_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::internal {
class FileReply;
class FileRequest;
}  // namespace sandglass::internal

namespace sandglass::sandbox {

// How long one operation may take, and a descriptor that ends it early: when it
// can be read from or hangs up (-1: none).
struct FileLimits {
  absl::Duration timeout = absl::Seconds(30);
  int cancel_fd = -1;

  // Of one that begins now, by os::SteadyNow(), as all deadlines here are.
  absl::Time Deadline() const { return os::SteadyNow() + timeout; }
  // For a part of what has to be over at `end`: no more time than is left.
  FileLimits Until(absl::Time end) const;
  // Whether there is time left until then, and nobody has ended it: kTimedOut
  // or kCancelled.
  FileResult Check(absl::Time end) const;
};

// The daemon's end of a file agent's socket, for any number of threads. The
// agent is taken for hostile: with the first word that no honest agent says it
// is given up, and every call on it fails.
class FileAgentChannel {
 public:
  struct Answer {
    std::unique_ptr<internal::FileReply> reply;
    std::vector<os::Fd> fds;

    Answer();
    Answer(Answer&&) noexcept;
    Answer& operator=(Answer&&) noexcept;
    ~Answer();
  };
  // Whether an honest agent answers so to the operation.
  using Check = std::function<bool(const internal::FileReply& reply,
                                   const std::vector<os::Fd>& fds)>;

  explicit FileAgentChannel(os::Fd socket);
  ~FileAgentChannel();
  FileAgentChannel(const FileAgentChannel&) = delete;
  FileAgentChannel& operator=(const FileAgentChannel&) = delete;

  // False once the agent is gone or given up.
  bool alive() const;

  // Begins an operation; `id` names it from then on. When it began it must be
  // followed by Drop.
  FileResult Begin(internal::FileRequest& request, absl::Span<const int> fds,
                   Check check, const FileLimits& limits, absl::Time deadline,
                   uint64_t& id);
  // The operation's next reply; it was acknowledged when it isn't the last.
  FileResult Next(uint64_t id, const FileLimits& limits, absl::Time deadline,
                  Answer& answer);
  // A note about an operation.
  FileResult Tell(uint64_t id, internal::FileRequest& note,
                  const FileLimits& limits, absl::Time deadline);
  // No more replies are wanted; an operation that isn't over is cancelled.
  void Drop(uint64_t id);

 private:
  struct Call;

  FileResult Put(const std::string& data, absl::Span<const int> fds,
                 const FileLimits& limits, absl::Time deadline);
  FileResult Wait(Call* call, bool to_send, const FileLimits& limits,
                  absl::Time deadline);
  void Receive() ABSL_LOCKS_EXCLUDED(mutex_);
  bool Dispatch(internal::FileReply& reply, std::vector<os::Fd>& fds)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // As Dispatch, of a reply whose descriptors found no room in this process.
  bool DispatchLost(const internal::FileReply& reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveUp(FileCode why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeReader() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  os::Fd socket_;  // the same until the end
  mutable absl::Mutex mutex_;
  std::map<uint64_t, std::unique_ptr<Call>> calls_ ABSL_GUARDED_BY(mutex_);
  // Dropped before they were over: replies may still be on their way.
  std::map<uint64_t, int> dropped_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  FileCode broken_ ABSL_GUARDED_BY(mutex_) = FileCode::kOk;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILES_FILE_AGENT_CHANNEL_H_
