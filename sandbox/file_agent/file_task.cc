#include "sandbox/file_agent/file_task.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>

#include "sandbox/os/io.h"
#include "sandbox/os/process.h"

namespace sandglass::sandbox {

bool IsMemoryShortage(int error) { return error == ENOMEM || error == ENOBUFS; }

bool SendPatiently(const os::Fd& socket, absl::string_view data,
                   absl::Span<const int> fds, int flags) {
  constexpr int64_t kPatienceNanos = 2'000'000'000;
  constexpr int kPauseMillis = 10;
  const int64_t deadline = os::MonotonicNanos() + kPatienceNanos;
  while (!os::SendDatagram(socket.get(), data, fds, flags)) {
    const int error = errno;
    const bool passes = error == ETOOMANYREFS || IsMemoryShortage(error);
    if (!passes || os::MonotonicNanos() >= deadline) {
      errno = error;
      return false;
    }
    struct pollfd wait = {socket.get(), 0, 0};
    ::poll(&wait, 1, kPauseMillis);
  }
  return true;
}

// Reads one note. The end of the notes, and anything that isn't a note,
// cancels.
void FileTask::ReceiveNote() {
  TaskNote note;
  ssize_t got;
  do {
    got = ::recv(notes_.get(), &note, sizeof(note), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return;
  if (got != static_cast<ssize_t>(sizeof(note))) {
    cancelled_ = true;
  } else if (note.kind == TaskNote::kGoOn) {
    if (unanswered_ > 0) --unanswered_;
  } else {
    note_ = note;
  }
}

bool FileTask::Cancelled() {
  constexpr int kLookEach = 64;
  if (!cancelled_ && --until_look_ <= 0) {
    until_look_ = kLookEach;
    struct pollfd wait = {notes_.get(), POLLIN, 0};
    // A note that isn't the end stays unread for the call that awaits it.
    if (::poll(&wait, 1, 0) > 0 && (wait.revents & (POLLHUP | POLLERR)) != 0) {
      cancelled_ = true;
    }
  }
  return cancelled_;
}

bool FileTask::Await(int fd, short events) {
  while (!cancelled_) {
    struct pollfd waits[] = {{fd, events, 0}, {notes_.get(), POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) return false;
    if (waits[1].revents != 0) ReceiveNote();
    if (!cancelled_ && waits[0].revents != 0) return true;
  }
  return false;
}

bool FileTask::AwaitReadable(int fd) { return Await(fd, POLLIN); }
bool FileTask::AwaitWritable(int fd) { return Await(fd, POLLOUT); }

std::optional<TaskNote> FileTask::AwaitNote(int timeout_ms) {
  while (!cancelled_ && !note_.has_value()) {
    struct pollfd wait = {notes_.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, timeout_ms);
    if (ready == 0) return std::nullopt;
    if (ready > 0) ReceiveNote();
  }
  return cancelled_ ? std::nullopt : std::exchange(note_, std::nullopt);
}

bool FileTask::Put(internal::FileReply& reply, absl::Span<const int> fds) {
  reply.set_id(id_);
  const std::string data = reply.SerializeAsString();
  while (!os::SendDatagram(socket_.get(), data, fds, MSG_DONTWAIT)) {
    // ETOOMANYREFS: too many descriptors are in transit already, and the daemon
    // has to receive those first. Other shortages are waited for as long as
    // somebody wants the operation.
    if (errno != EAGAIN && errno != ETOOMANYREFS && !IsMemoryShortage(errno)) {
      cancelled_ = true;
      return false;
    }
    if (errno == EAGAIN) {
      if (!AwaitWritable(socket_.get())) return false;
    } else {
      constexpr int kPauseMillis = 10;
      struct pollfd wait = {notes_.get(), 0, 0};
      ::poll(&wait, 1, kPauseMillis);
      if (wait.revents != 0) cancelled_ = true;
      if (cancelled_) return false;
    }
  }
  reply.Clear();
  return true;
}

bool FileTask::Send(internal::FileReply& reply, absl::Span<const int> fds) {
  while (!cancelled_ && unanswered_ >= kFileWindow) {
    struct pollfd wait = {notes_.get(), POLLIN, 0};
    if (::poll(&wait, 1, -1) > 0) ReceiveNote();
  }
  if (cancelled_ || !Put(reply, fds)) return false;
  ++unanswered_;
  return true;
}

bool FileTask::Finish(FileResult result, internal::FileReply& reply) {
  if (cancelled_) {
    result = {FileCode::kCancelled, 0};
    // The last reply is sent even so, because the daemon would otherwise never
    // forget the id.
    cancelled_ = false;
    reply.Clear();
  }
  reply.set_last(true);
  reply.set_code(static_cast<int>(result.code));
  reply.set_error(result.error);
  reply.set_id(id_);
  return SendPatiently(socket_, reply.SerializeAsString(), {});
}

}  // namespace sandglass::sandbox
