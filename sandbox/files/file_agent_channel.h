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

// How long one operation may take, and a descriptor that ends it early once it
// is readable or hangs up (-1: none).
struct FileLimits {
  absl::Duration timeout = absl::Seconds(30);
  int cancel_fd = -1;

  // The deadline of an operation that begins now. Like all deadlines here it is
  // a time of os::SteadyNow().
  absl::Time Deadline() const { return os::SteadyNow() + timeout; }
  // Limits for a part of an operation that has to be over at `end`: the timeout
  // is cut to the time that is left.
  FileLimits Until(absl::Time end) const;
  // Fails with kTimedOut when `end` has passed, and with kCancelled when
  // `cancel_fd` has ended the operation.
  FileResult Check(absl::Time end) const;
};

// The daemon's end of a file agent's socket, for any number of threads. The
// agent is presumed hostile: after the first message that no correct agent
// sends, it is given up and every call on it fails.
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
  // Whether a correct agent could answer the operation so.
  using Check = std::function<bool(const internal::FileReply& reply,
                                   const std::vector<os::Fd>& fds)>;

  explicit FileAgentChannel(os::Fd socket);
  ~FileAgentChannel();
  FileAgentChannel(const FileAgentChannel&) = delete;
  FileAgentChannel& operator=(const FileAgentChannel&) = delete;

  // False once the agent is gone or was given up.
  bool alive() const;

  // Begins an operation and sets `id`, which names it from then on. If this
  // succeeds, Drop has to be called in the end.
  FileResult Begin(internal::FileRequest& request, absl::Span<const int> fds,
                   Check check, const FileLimits& limits, absl::Time deadline,
                   uint64_t& id);
  // Waits for the operation's next reply, and acknowledges it unless it is the
  // last.
  FileResult Next(uint64_t id, const FileLimits& limits, absl::Time deadline,
                  Answer& answer);
  // Sends a note about an operation.
  FileResult SendNote(uint64_t id, internal::FileRequest& note,
                      const FileLimits& limits, absl::Time deadline);
  // Says that no more replies are wanted. Cancels the operation if it isn't
  // over.
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
  // The same as Dispatch, for a reply for whose descriptors this process had no
  // room.
  bool DispatchLost(const internal::FileReply& reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveUp(FileCode why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeReader() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  os::Fd socket_;  // the same until the end
  mutable absl::Mutex mutex_;
  std::map<uint64_t, std::unique_ptr<Call>> calls_ ABSL_GUARDED_BY(mutex_);
  // Operations that were dropped before they were over: replies may still
  // arrive.
  std::map<uint64_t, int> dropped_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  FileCode broken_ ABSL_GUARDED_BY(mutex_) = FileCode::kOk;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILES_FILE_AGENT_CHANNEL_H_
