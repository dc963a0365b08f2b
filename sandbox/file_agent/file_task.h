#ifndef SANDGLASS_SANDBOX_FILE_AGENT_FILE_TASK_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_FILE_TASK_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "internal/files.pb.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// What the agent tells the process that works on one operation, as a packet.
// The agent's end being closed means that nobody wants the operation any more.
struct TaskNote {
  enum Kind : uint64_t { kGoOn = 1, kCommit = 2, kRescan = 3 };
  uint64_t kind = 0;
  uint64_t value = 0;
};

// What a reply's lists may hold by their own sizes, below the datagram's bound.
inline constexpr size_t kFileBatchBytes = 128 * 1024;
// What an entry of a list takes of that beside its texts.
inline constexpr size_t kFileEntryBytes = 48;

// As os::SendDatagram, for what has to be said: where there is no memory for
// it, or as many descriptors are on their way as may be, it is tried again for
// two seconds. False with errno.
bool SendPatiently(const os::Fd& socket, absl::string_view data,
                   absl::Span<const int> fds, int flags = 0);
// Whether an errno says that there was no memory for a datagram.
bool IsMemoryShortage(int error);

// One operation, from within the process that it has to itself.
class FileTask {
 public:
  FileTask(uint64_t id, const os::Fd& root, const os::Fd& socket,
           const os::Fd& notes)
      : id_(id), root_(root), socket_(socket), notes_(notes) {}

  const os::Fd& root() const { return root_; }

  // Nobody wants the operation any more. Cheap enough to be asked often.
  bool Cancelled();
  // Waits until `fd` can be read from; false when cancelled.
  bool AwaitReadable(int fd);
  // The same for writing.
  bool AwaitWritable(int fd);
  // The next note but kGoOn; empty when `timeout_ms` (-1: none) passed or the
  // operation is cancelled.
  std::optional<TaskNote> AwaitNote(int timeout_ms);

  // Sends a reply that isn't the last and empties it. Waits while the daemon is
  // behind; false when cancelled.
  bool Send(internal::FileReply& reply, absl::Span<const int> fds = {});
  // The last reply, with what `reply` has so far. False when it couldn't be
  // said.
  [[nodiscard]] bool Finish(FileResult result, internal::FileReply& reply);

 private:
  bool Await(int fd, short events);
  void TakeNote();
  bool Put(internal::FileReply& reply, absl::Span<const int> fds);

  const uint64_t id_;
  const os::Fd& root_;
  const os::Fd& socket_;
  const os::Fd& notes_;
  int unanswered_ = 0;
  bool cancelled_ = false;
  std::optional<TaskNote> note_;
  int until_look_ = 0;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_FILE_TASK_H_
