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
#include "sandbox/os/io.h"
#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"

namespace sandglass::sandbox {
namespace {

constexpr size_t kMostTasks = 32;
// A task that is given up has so long to tidy up.
constexpr int64_t kGraceNanos = 2'000'000'000;

// A process that works on one operation.
struct Worker {
  pid_t pid = 0;
  // Hangs up when the process has ended.
  os::Fd notes;
  // When it has to have ended; 0: nobody gave it up.
  int64_t deadline_ns = 0;
};

class Agent {
 public:
  Agent(os::Fd socket, os::Fd root)
      : socket_(std::move(socket)), root_(std::move(root)) {}

  // Returns when the daemon is gone or can't be understood.
  void Serve();
  // Lets what is under way tidy up.
  void Leave();

 private:
  bool TakeRequest();
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
  // Something that had to be said couldn't be.
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
  // Others' descriptors are in its way, and who waits for their answers is held
  // up meanwhile: this one operation can't be.
  if (errno == ETOOMANYREFS && file.valid()) {
    internal::FileReply refusal;
    return Answer(id, {FileCode::kBusy, EMFILE}, refusal, os::Fd());
  }
  // Nobody is to wait for a word that doesn't come: with its end the daemon
  // knows at once, and the next call gets another agent.
  silent_ = true;
  ::shutdown(socket_.get(), SHUT_RDWR);
}

// The process that a task works in; it knows nothing of the others.
void Agent::Work(const internal::FileRequest& request, const os::Fd& data,
                 const os::Fd& notes) {
  // A note to a task whose agent's end lives on here would never be its last.
  workers_.clear();
  FileTask task(request.id(), root_, socket_, notes);
  internal::FileReply reply;
  const FileResult result = RunTask(task, request, data, reply);
  // The agent says it where this process can't.
  ::_exit(task.Finish(result, reply) ? 0 : 1);
}

void Agent::Start(const internal::FileRequest& request, const os::Fd& data) {
  internal::FileReply reply;
  if (workers_.size() >= kMostTasks) {
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
  // A task has a handful of notes to come at most: there is room, or it is
  // dead. One that a note is lost to would wait for it without end.
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
  // The task sees an end; this side still hears of its own.
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
      // It can wait for others that write into the file.
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

bool Agent::TakeRequest() {
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(socket_.get(), os::Wait::kNo);
  if (!packet.ok()) return absl::IsNotFound(packet.status());
  internal::FileRequest request;
  if (packet->lost_fds) {
    // There was no room for the content: that one operation can't be.
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
  // An id that is in use would make two answers look like one.
  if (starts && workers_.contains(request.id())) return false;
  Handle(request, std::move(packet->fds));
  return true;
}

// Waits for the socket (when `with_socket`) or for a process that ends.
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
    // One that ends in any other way didn't say the last word: it was killed,
    // for memory or for taking too long to stop, or had no memory to say it.
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
    if (silent_ || (readable && !TakeRequest())) return;
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
  // Somebody waits for a file that an edit has a lease of (see file_edit.cc).
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
