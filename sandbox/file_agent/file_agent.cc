#include "sandbox/file_agent/file_agent.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "internal/files.pb.h"
#include "sandbox/file_agent/file_ops.h"
#include "sandbox/file_agent/file_request.h"
#include "sandbox/file_agent/file_task.h"
#include "sandbox/file_agent/new_file.h"
#include "sandbox/file_agent/port_connect.h"
#include "sandbox/os/io.h"
#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"

namespace sandglass::sandbox {
namespace {

constexpr size_t kMaxTasks = 32;
// How long a task that was given up may take to tidy up.
constexpr int64_t kGraceNanos = 2'000'000'000;

// A process that works on one operation.
struct Worker {
  pid_t pid = 0;
  // Reports a hangup when the process has ended.
  os::Fd notes;
  // The time by which it has to end; 0: it wasn't given up.
  int64_t deadline_ns = 0;
};

class Agent {
 public:
  Agent(os::Fd socket, os::Fd root)
      : socket_(std::move(socket)), root_(std::move(root)) {}

  // Returns when the daemon is gone or has sent something invalid.
  void Serve();
  // Lets the tasks in progress tidy up.
  void Leave();

 private:
  bool HandleRequest();
  void Handle(const internal::FileRequest& request, std::vector<os::Fd> fds);
  void Pass(uint64_t id, uint64_t kind, uint64_t value);
  void GiveUp(Worker& worker);
  void Start(const internal::FileRequest& request, const os::Fd& data);
  [[noreturn]] void Work(const internal::FileRequest& request,
                         const os::Fd& data, const os::Fd& notes);
  void Reap(int timeout_ms, bool with_socket, bool& readable);
  void Answer(uint64_t id, FileResult result, internal::FileReply& reply,
              const os::Fd& file);

  const os::Fd socket_;
  const os::Fd root_;
  std::map<uint64_t, Worker> workers_;
  // Something that must be sent could not be sent.
  bool silent_ = false;
};

void Agent::Answer(uint64_t id, FileResult result, internal::FileReply& reply,
                   const os::Fd& file) {
  reply.set_id(id);
  reply.set_last(true);
  reply.set_code(static_cast<int>(result.code));
  reply.set_error(result.error);
  const std::string data = reply.SerializeAsString();
  const int fd = file.get();
  const absl::Span<const int> fds(&fd, file.valid() ? 1 : 0);
  if (SendPatiently(socket_, data, fds)) return;
  // Too many descriptors are in transit for others, and while this process
  // waits, so does everyone who expects an answer: this one operation fails.
  if (errno == ETOOMANYREFS && file.valid()) {
    internal::FileReply refusal;
    return Answer(id, {FileCode::kBusy, EMFILE}, refusal, os::Fd());
  }
  // Nobody shall wait for an answer that doesn't come: when the agent ends, the
  // daemon knows that at once, and the next call gets another agent.
  silent_ = true;
  ::shutdown(socket_.get(), SHUT_RDWR);
}

// Runs in the process of one task, which has nothing to do with the others.
void Agent::Work(const internal::FileRequest& request, const os::Fd& data,
                 const os::Fd& notes) {
  // If the agent's ends of other tasks stayed open here, those tasks wouldn't
  // see it when the agent closes them.
  workers_.clear();
  FileTask task(request.id(), root_, socket_, notes);
  internal::FileReply reply;
  const FileResult result = RunTask(task, request, data, reply);
  // If this process can't send the last reply, the agent does.
  ::_exit(task.Finish(result, reply) ? 0 : 1);
}

void Agent::Start(const internal::FileRequest& request, const os::Fd& data) {
  internal::FileReply reply;
  if (workers_.size() >= kMaxTasks) {
    Answer(request.id(), {FileCode::kBusy, 0}, reply, os::Fd());
    return;
  }
  absl::StatusOr<std::pair<os::Fd, os::Fd>> notes = os::SeqPacketPair();
  const pid_t pid = notes.ok() ? ::fork() : -1;
  if (pid < 0) {
    Answer(request.id(), {FileCode::kBusy, errno}, reply, os::Fd());
    return;
  }
  if (pid == 0) {
    notes->first.reset();
    Work(request, data, notes->second);
  }
  workers_[request.id()] = {.pid = pid, .notes = std::move(notes->first)};
}

void Agent::Pass(uint64_t id, uint64_t kind, uint64_t value) {
  const auto worker = workers_.find(id);
  if (worker == workers_.end()) return;
  const TaskNote note = {.kind = kind, .value = value};
  // A task gets only a handful of notes in all, so there is room for each, or
  // the task is dead. A task whose note got lost would wait for it for ever.
  if (!SendPatiently(worker->second.notes,
                     {reinterpret_cast<const char*>(&note), sizeof(note)}, {},
                     MSG_DONTWAIT) &&
      IsMemoryShortage(errno)) {
    GiveUp(worker->second);
  }
}

void Agent::GiveUp(Worker& worker) {
  if (worker.deadline_ns != 0) return;
  worker.deadline_ns = os::MonotonicNanos() + kGraceNanos;
  // The task sees the end of its notes; this side still sees the end of the
  // task.
  ::shutdown(worker.notes.get(), SHUT_WR);
}

void Agent::Handle(const internal::FileRequest& request,
                   std::vector<os::Fd> fds) {
  using Operation = internal::FileRequest;
  const os::Fd none;
  const os::Fd& data = fds.empty() ? none : fds.front();
  internal::FileReply reply;
  FileResult result;
  os::Fd file;
  switch (request.operation_case()) {
    case Operation::kCancel:
      if (const auto worker = workers_.find(request.id());
          worker != workers_.end()) {
        GiveUp(worker->second);
      }
      return;
    case Operation::kGoOn:
      return Pass(request.id(), TaskNote::kGoOn, 0);
    case Operation::kCommit:
      return Pass(request.id(), TaskNote::kCommit, request.commit().size());
    case Operation::kRescan:
      return Pass(request.id(), TaskNote::kRescan, 0);
    case Operation::kOpen:
      result = OpenForReading(root_, request.open(), reply, file);
      break;
    case Operation::kConnect:
      result = ConnectToPort(request.connect(), file);
      break;
    case Operation::kStat:
      result = Stat(root_, request.stat(), reply);
      break;
    case Operation::kMakeDirectory:
      result = MakeDirectory(root_, request.make_directory());
      break;
    case Operation::kRemove:
      if (request.remove().recursive()) return Start(request, data);
      result = RemoveOne(root_, request.remove(), reply);
      break;
    case Operation::kMove:
      result = Rename(root_, request.move());
      if (result.code == FileCode::kCrossDevice) return Start(request, data);
      break;
    case Operation::kWrite:
      if (request.write().with_descriptor()) return Start(request, data);
      // It may have to wait for others that write to the file.
      if (request.write().disposition() == internal::WRITE_APPEND) {
        return Start(request, data);
      }
      result = WriteAtOnce(root_, request.write(), reply);
      break;
    default:
      return Start(request, data);
  }
  if (!result.ok()) file.reset();
  Answer(request.id(), result, reply, file);
}

bool Agent::HandleRequest() {
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(socket_.get(), os::Wait::kNo);
  if (!packet.ok()) return absl::IsNotFound(packet.status());
  internal::FileRequest request;
  if (packet->lost_fds) {
    // There was no room for the descriptor with the content: this one operation
    // fails.
    if (!request.ParseFromString(packet->data) || IsNote(request) ||
        workers_.contains(request.id())) {
      return false;
    }
    internal::FileReply reply;
    Answer(request.id(), {FileCode::kBusy, EMFILE}, reply, os::Fd());
    return true;
  }
  if (!ReadFileRequest(packet->data, packet->fds.size(), request)) return false;
  const bool starts = !IsNote(request);
  // With an id that is still in use, two answers could not be told apart.
  if (starts && workers_.contains(request.id())) return false;
  Handle(request, std::move(packet->fds));
  return true;
}

// Waits for the socket (with `with_socket`) or for a process to end.
void Agent::Reap(int timeout_ms, bool with_socket, bool& readable) {
  std::vector<struct pollfd> waits;
  std::vector<uint64_t> ids;
  waits.push_back({with_socket ? socket_.get() : -1, POLLIN, 0});
  const int64_t now = os::MonotonicNanos();
  for (auto& [id, worker] : workers_) {
    if (worker.deadline_ns != 0) {
      if (now >= worker.deadline_ns) ::kill(worker.pid, SIGKILL);
      constexpr int kPauseMillis = 50;
      if (timeout_ms < 0 || timeout_ms > kPauseMillis) {
        timeout_ms = kPauseMillis;
      }
    }
    waits.push_back({worker.notes.get(), 0, 0});
    ids.push_back(id);
  }
  if (::poll(waits.data(), waits.size(), timeout_ms) < 0) return;
  readable = waits[0].revents != 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if ((waits[i + 1].revents & (POLLHUP | POLLERR)) == 0) continue;
    const auto worker = workers_.find(ids[i]);
    int status = 0;
    pid_t reaped;
    do {
      reaped = ::waitpid(worker->second.pid, &status, 0);
    } while (reaped < 0 && errno == EINTR);
    const bool given_up = worker->second.deadline_ns != 0;
    workers_.erase(worker);
    // A process that ended in any other way hasn't sent its last reply: it was
    // killed, for want of memory or because it took too long to stop, or it had
    // no memory to send the reply.
    if (reaped < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      const bool memory =
          reaped >= 0 && (WIFEXITED(status) || WTERMSIG(status) == SIGKILL);
      internal::FileReply reply;
      Answer(ids[i],
             given_up ? FileResult{FileCode::kCancelled, 0}
                      : FileResult{FileCode::kFailed, memory ? ENOMEM : 0},
             reply, os::Fd());
    }
  }
}

void Agent::Serve() {
  while (!silent_) {
    bool readable = false;
    Reap(-1, true, readable);
    if (silent_ || (readable && !HandleRequest())) return;
  }
}

void Agent::Leave() {
  for (auto& [id, worker] : workers_) GiveUp(worker);
  bool ignored = false;
  while (!workers_.empty()) Reap(-1, false, ignored);
}

}  // namespace

void RunFileAgentIn(os::Fd socket, os::Fd root) {
  ::signal(SIGPIPE, SIG_IGN);
  // The signal says that a process waits for a file on which an edit has a
  // lease (see file_edit.cc).
  ::signal(SIGIO, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  ::umask(022);
  Agent agent(std::move(socket), std::move(root));
  agent.Serve();
  agent.Leave();
  ::_exit(0);
}

void RunFileAgent(os::Fd socket) {
  os::Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) ::_exit(1);
  RunFileAgentIn(std::move(socket), std::move(root));
}

}  // namespace sandglass::sandbox
