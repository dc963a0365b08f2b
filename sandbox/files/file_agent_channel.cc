#include "sandbox/files/file_agent_channel.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "internal/files.pb.h"
#include "sandbox/jail/untrusted_fds.h"
#include "sandbox/os/io.h"
#include "sandbox/os/seqpacket.h"

namespace sandglass::sandbox {
namespace {

// The most operations that were given up and whose last reply didn't come;
// beyond that the agent counts as dead.
constexpr size_t kMaxDropped = 256;

int MillisUntil(absl::Time deadline) {
  const absl::Duration left = deadline - os::SteadyNow();
  if (left <= absl::ZeroDuration()) return 0;
  constexpr absl::Duration kMax = absl::Hours(1);
  return static_cast<int>(absl::ToInt64Milliseconds(std::min(left, kMax)) + 1);
}

void Drain(const os::Fd& event) {
  uint64_t count;
  (void)!::read(event.get(), &count, sizeof(count));
}

void Signal(const os::Fd& event) {
  const uint64_t one = 1;
  (void)!::write(event.get(), &one, sizeof(one));
}

}  // namespace

FileLimits FileLimits::Until(absl::Time end) const {
  return {.timeout = std::max(end - os::SteadyNow(), absl::ZeroDuration()),
          .cancel_fd = cancel_fd};
}

FileResult FileLimits::Check(absl::Time end) const {
  struct pollfd cancelled = {cancel_fd, POLLIN, 0};
  if (::poll(&cancelled, 1, 0) > 0) return {FileCode::kCancelled, 0};
  if (os::SteadyNow() >= end) return {FileCode::kTimedOut, 0};
  return {};
}

FileAgentChannel::Answer::Answer()
    : reply(std::make_unique<internal::FileReply>()) {}
FileAgentChannel::Answer::Answer(Answer&&) noexcept = default;
FileAgentChannel::Answer& FileAgentChannel::Answer::operator=(
    Answer&&) noexcept = default;
FileAgentChannel::Answer::~Answer() = default;

struct FileAgentChannel::Call {
  Check check;
  os::Fd wake;
  std::deque<Answer> answers;
  int unanswered = 0;  // replies that weren't acknowledged
  bool over = false;   // the last reply came
};

FileAgentChannel::FileAgentChannel(os::Fd socket)
    : socket_(std::move(socket)) {}

FileAgentChannel::~FileAgentChannel() {
  // The agent decides what waits in the socket unread, so it is closed aside.
  std::vector<os::Fd> last;
  last.push_back(std::move(socket_));
  CloseAside(std::move(last));
}

bool FileAgentChannel::alive() const {
  {
    const absl::MutexLock lock(&mutex_);
    if (broken_ != FileCode::kOk) return false;
  }
  // Nobody may have read since the agent ended.
  struct pollfd hung_up = {socket_.get(), 0, 0};
  return ::poll(&hung_up, 1, 0) <= 0 || hung_up.revents == 0;
}

void FileAgentChannel::GiveUp(FileCode why) {
  if (broken_ != FileCode::kOk) return;
  broken_ = why;
  ::shutdown(socket_.get(), SHUT_RDWR);
  for (const auto& [id, call] : calls_) Signal(call->wake);
}

// Somebody who waits for an answer has to read now.
void FileAgentChannel::WakeReader() {
  for (const auto& [id, call] : calls_) {
    if (!call->over) Signal(call->wake);
  }
}

FileResult FileAgentChannel::Begin(internal::FileRequest& request,
                                   absl::Span<const int> fds, Check check,
                                   const FileLimits& limits,
                                   absl::Time deadline, uint64_t& id) {
  auto call = std::make_unique<Call>();
  call->check = std::move(check);
  call->wake.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!call->wake.valid()) return ResultOfErrno(errno);
  {
    const absl::MutexLock lock(&mutex_);
    id = next_id_++;
    calls_.emplace(id, std::move(call));
  }
  request.set_id(id);
  FileResult result = Put(request.SerializeAsString(), fds, limits, deadline);
  if (!result.ok()) {
    // The request never reached the agent.
    const absl::MutexLock lock(&mutex_);
    calls_.erase(id);
  }
  return result;
}

FileResult FileAgentChannel::SendNote(uint64_t id, internal::FileRequest& note,
                                      const FileLimits& limits,
                                      absl::Time deadline) {
  note.set_id(id);
  return Put(note.SerializeAsString(), {}, limits, deadline);
}

FileResult FileAgentChannel::Put(const std::string& data,
                                 absl::Span<const int> fds,
                                 const FileLimits& limits,
                                 absl::Time deadline) {
  if (data.size() > os::kMaxPacketBytes) return {FileCode::kTooLarge, EMSGSIZE};
  while (true) {
    {
      const absl::MutexLock lock(&mutex_);
      if (broken_ != FileCode::kOk) return {broken_, 0};
    }
    if (os::SendDatagram(socket_.get(), data, fds, MSG_DONTWAIT)) return {};
    if (errno == EMSGSIZE) return {FileCode::kTooLarge, errno};
    if (errno == ETOOMANYREFS || errno == ENOBUFS || errno == ENOMEM) {
      return {FileCode::kBusy, errno};
    }
    if (errno != EAGAIN) {
      const absl::MutexLock lock(&mutex_);
      GiveUp(FileCode::kAgentGone);
      continue;
    }
    if (FileResult result = Wait(nullptr, true, limits, deadline);
        !result.ok()) {
      return result;
    }
  }
}

// Waits until `call` has an answer or, with `to_send`, until the socket can
// take more. While no other thread reads, reads the replies for all of them.
FileResult FileAgentChannel::Wait(Call* call, bool to_send,
                                  const FileLimits& limits,
                                  absl::Time deadline) {
  bool reader = false;
  FileResult result;
  while (true) {
    {
      const absl::MutexLock lock(&mutex_);
      if (!to_send && !call->answers.empty()) break;
      if (broken_ != FileCode::kOk) {
        result = {broken_, 0};
        break;
      }
      if (!reader && !reading_) reading_ = reader = true;
    }
    const short events =
        static_cast<short>((reader ? POLLIN : 0) | (to_send ? POLLOUT : 0));
    struct pollfd waits[] = {
        {events != 0 ? socket_.get() : -1, events, 0},
        {call != nullptr ? call->wake.get() : -1, POLLIN, 0},
        {limits.cancel_fd, POLLIN, 0}};
    const int ready = ::poll(waits, 3, MillisUntil(deadline));
    if (ready < 0 && errno != EINTR) result = ResultOfErrno(errno);
    if (waits[2].revents != 0) result = {FileCode::kCancelled, 0};
    if (ready == 0 && os::SteadyNow() >= deadline) {
      result = {FileCode::kTimedOut, 0};
    }
    if (!result.ok()) break;
    if (waits[1].revents != 0) Drain(call->wake);
    if (reader && (waits[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      Receive();
    }
    if (to_send && (waits[0].revents & (POLLOUT | POLLHUP | POLLERR)) != 0) {
      break;
    }
  }
  if (reader) {
    const absl::MutexLock lock(&mutex_);
    reading_ = false;
    WakeReader();
  }
  return result;
}

void FileAgentChannel::Receive() {
  std::vector<os::Fd> refused;
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(socket_.get(), os::Wait::kNo, &refused);
  CloseAside(std::move(refused));
  if (absl::IsNotFound(packet.status())) return;
  internal::FileReply reply;
  const bool readable = packet.ok() && reply.ParseFromString(packet->data);
  const absl::MutexLock lock(&mutex_);
  if (absl::IsOutOfRange(packet.status())) {
    GiveUp(FileCode::kAgentGone);
  } else if (!readable || !(packet->lost_fds ? DispatchLost(reply)
                                             : Dispatch(reply, packet->fds))) {
    GiveUp(FileCode::kAgentBroken);
  }
  if (packet.ok()) {
    std::erase_if(packet->fds, [](const os::Fd& fd) { return !fd.valid(); });
    CloseAside(std::move(packet->fds));
  }
}

// Returns false for a message that no correct agent sends.
bool FileAgentChannel::Dispatch(internal::FileReply& reply,
                                std::vector<os::Fd>& fds) {
  constexpr int kLastOwnCode = static_cast<int>(FileCode::kFailed);
  if (reply.code() < 0 || reply.code() > kLastOwnCode ||
      (!reply.last() && reply.code() != 0)) {
    return false;
  }
  if (const auto dropped = dropped_.find(reply.id());
      dropped != dropped_.end()) {
    if (reply.last()) {
      dropped_.erase(dropped);
      return true;
    }
    return --dropped->second >= 0;
  }
  const auto found = calls_.find(reply.id());
  if (found == calls_.end() || found->second->over) return false;
  Call& call = *found->second;
  if (!call.check(reply, fds)) return false;
  if (reply.last()) {
    call.over = true;
  } else if (++call.unanswered > kFileWindow) {
    return false;
  }
  Answer answer;
  answer.reply->Swap(&reply);
  answer.fds = std::move(fds);
  fds.clear();
  call.answers.push_back(std::move(answer));
  Signal(call.wake);
  return true;
}

bool FileAgentChannel::DispatchLost(const internal::FileReply& reply) {
  // The caller learns that the operation failed, on our side; the agent has
  // done its part.
  const auto found = calls_.find(reply.id());
  if (found == calls_.end()) {
    internal::FileReply rest = reply;
    std::vector<os::Fd> none;
    return Dispatch(rest, none);
  }
  Call& call = *found->second;
  if (call.over || (!reply.last() && ++call.unanswered > kFileWindow)) {
    return false;
  }
  call.over = reply.last();
  Answer answer;
  answer.reply->set_id(reply.id());
  answer.reply->set_last(true);
  answer.reply->set_code(static_cast<int>(FileCode::kBusy));
  answer.reply->set_error(EMFILE);
  call.answers.push_back(std::move(answer));
  Signal(call.wake);
  return true;
}

FileResult FileAgentChannel::Next(uint64_t id, const FileLimits& limits,
                                  absl::Time deadline, Answer& answer) {
  Call* call = nullptr;
  {
    const absl::MutexLock lock(&mutex_);
    // The call stays valid here: only the thread that began it drops it.
    if (const auto found = calls_.find(id); found != calls_.end()) {
      call = found->second.get();
    }
  }
  if (call == nullptr) return {FileCode::kBadRequest, 0};
  if (FileResult result = Wait(call, false, limits, deadline); !result.ok()) {
    return result;
  }
  {
    const absl::MutexLock lock(&mutex_);
    answer = std::move(call->answers.front());
    call->answers.pop_front();
    if (answer.reply->last()) return {};
    --call->unanswered;
  }
  internal::FileRequest note;
  note.mutable_go_on();
  return SendNote(id, note, limits, deadline);
}

void FileAgentChannel::Drop(uint64_t id) {
  // Answers that nobody took, whose descriptors may be slow to close.
  std::unique_ptr<Call> dropped;
  const absl::Cleanup close = [&dropped] {
    if (dropped == nullptr) return;
    for (Answer& answer : dropped->answers) CloseAside(std::move(answer.fds));
  };
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    const bool over = found->second->over;
    const int left = kFileWindow - found->second->unanswered;
    dropped = std::move(found->second);
    calls_.erase(found);
    if (over || broken_ != FileCode::kOk) return;
    dropped_[id] = left;
    if (dropped_.size() > kMaxDropped) GiveUp(FileCode::kAgentGone);
  }
  internal::FileRequest note;
  note.mutable_cancel();
  // Doesn't wait for long: an agent that doesn't read is of no use to anyone.
  constexpr absl::Duration kPatience = absl::Seconds(1);
  (void)SendNote(id, note, {}, os::SteadyNow() + kPatience);
}

}  // namespace sandglass::sandbox
