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

// A packet from the agent to the process that works on one operation. When the
// agent closes its end, nobody wants the operation any more.
struct TaskNote {
  enum Kind : uint64_t { kGoOn = 1, kCommit = 2, kRescan = 3 };
  uint64_t kind = 0;
  uint64_t value = 0;
};

// How much the lists in a reply may hold by their own sizes; it leaves room
// below the limit of a datagram.
inline constexpr size_t kFileBatchBytes = 128 * 1024;
// What an entry of a list takes of that beside its texts.
inline constexpr size_t kFileEntryBytes = 48;

// The same as os::SendDatagram, for messages that must not get lost: while
// there is no memory, or too many descriptors are in transit, it is repeated
// for up to two seconds. Returns false and sets errno on failure.
bool SendPatiently(const os::Fd& socket, absl::string_view data,
                   absl::Span<const int> fds, int flags = 0);
// Whether this errno means that there was no memory for a datagram.
bool IsMemoryShortage(int error);

// One operation, as seen from within its own process.
class FileTask {
 public:
  FileTask(uint64_t id, const os::Fd& root, const os::Fd& socket,
           const os::Fd& notes)
      : id_(id), root_(root), socket_(socket), notes_(notes) {}

  const os::Fd& root() const { return root_; }

  // True when nobody wants the operation any more. Cheap enough to be called
  // often.
  bool Cancelled();
  // Waits until `fd` is readable; false when the operation was cancelled.
  bool AwaitReadable(int fd);
  // The same for writing.
  bool AwaitWritable(int fd);
  // Waits for the next note other than kGoOn; nullopt when `timeout_ms` (-1: no
  // limit) has passed or the operation was cancelled.
  std::optional<TaskNote> AwaitNote(int timeout_ms);

  // Sends a reply that isn't the last one and clears it. Waits while the daemon
  // is behind; false when the operation was cancelled.
  bool Send(internal::FileReply& reply, absl::Span<const int> fds = {});
  // Sends the last reply, with what `reply` contains so far. False when it
  // couldn't be sent.
  [[nodiscard]] bool Finish(FileResult result, internal::FileReply& reply);

 private:
  bool Await(int fd, short events);
  void ReceiveNote();
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
