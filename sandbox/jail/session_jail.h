#ifndef SANDGLASS_SANDBOX_JAIL_SESSION_JAIL_H_
#define SANDGLASS_SANDBOX_JAIL_SESSION_JAIL_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/jail/jail.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/descriptor_room.h"
#include "sandbox/wire/setup_step.h"

namespace sandglass::internal {
class InitEvent;
class Spawned;
}  // namespace sandglass::internal

namespace sandglass::sandbox {

// An additional process to start in a session's jail.
struct ProcessSpec {
  enum class Stdio {
    kPipes,
    kMergedPipes,  // standard error goes where standard output does
    kTerminal,     // for standard input, too
  };
  std::vector<std::string> argv;  // argv[0] without "/": found in env's PATH
  std::vector<std::string> env;   // "NAME=value"
  std::string directory = "/workspace";  // absolute
  Stdio stdio = Stdio::kPipes;
  uint16_t rows = 24, columns = 80;  // of a terminal
  bool with_stdin = false;           // else it ends at once
  bool with_channel = false;         // descriptor 3: a pipe to write to
  uint64_t open_files = 1024;
  uint64_t file_size_bytes = 0;
  absl::Duration cpu_time = absl::InfiniteDuration();
};

// The daemon's ends, all non-blocking; those that weren't asked for are empty.
struct ProcessFds {
  os::Fd stdin_fd;
  os::Fd stdout_fd;
  os::Fd stderr_fd;
  os::Fd terminal;  // its master; its size: os::SetTerminalSize
  os::Fd channel;   // to be read
  // Control files of the process's group. Everything that it starts is in the
  // group too, and can't leave it. See KillGroup and GroupIsEmpty; `events` is
  // for poll(2): POLLPRI.
  os::Fd kill;
  os::Fd events;
  os::Fd cpu;   // see GroupCpuTime
  os::Fd list;  // see CountGroup
};

// What init reports of spawned processes.
struct SpawnedEvent {
  uint64_t id;
  pid_t pid;  // in the jail
  int64_t monotonic_ns;
  ProcessFds fds;
};
struct SpawnFailedEvent {
  uint64_t id;
  SetupStep step;
  int error;  // errno

  // True when the request can't be met: the program (kExec) or the directory
  // (kEnterDirectory) isn't usable. All other failures are limits of the jail
  // (EAGAIN, ENOMEM…).
  bool IsCallersMistake() const;
};
struct ProcessExitedEvent {
  uint64_t id;
  int wait_status;
  int64_t monotonic_ns;
  RefusedCalls refused;  // of a jail that traces them
};
// The file agent's socket (SOCK_SEQPACKET, non-blocking), or the errno that
// says why there is none. Nothing that comes from it can be trusted, nor can
// the descriptors.
struct FileChannelEvent {
  os::Fd socket;
  int error;
};
// The events from FailedEvent on concern the jail and its own program, see
// JailEvent. For the program there is at most one ExitedEvent and never a
// DoneEvent: a caller that wants a runner's report uses ReleaseReport.
using SessionEvent =
    std::variant<SpawnedEvent, SpawnFailedEvent, ProcessExitedEvent,
                 FileChannelEvent, FailedEvent, StartedEvent, ExitedEvent,
                 FileEvent, CollectDoneEvent, GoneEvent, WaitsEvent>;

// Kills everything in a spawned process's group (one write, no waiting).
absl::Status KillGroup(const os::Fd& kill);
// True when nobody is in the group any more. Reading re-arms POLLPRI of
// `events`.
bool GroupIsEmpty(const os::Fd& events);
// Processor time of everything that was ever in the group; 0 when the group is
// gone.
struct GroupCpu {
  absl::Duration user;
  absl::Duration system;
};
GroupCpu GroupCpuTime(const os::Fd& cpu);
// The number of processes in the group now; when there are many thousands, not
// all are counted.
uint32_t CountGroup(const os::Fd& list);

// The daemon's handle on a jail that serves one session: besides the jail's own
// program it can start any number of processes, in sequence and in parallel.
// Not thread-safe; nothing blocks. The jail ends with this object.
class SessionJail {
 public:
  // The most processes that were asked for and haven't ended.
  static constexpr size_t kMaxProcesses = 1024;

  // Precondition: the jail is ready, its program started or not; no event is
  // unread that has to be read first.
  explicit SessionJail(std::unique_ptr<Jail> jail);
  SessionJail(const SessionJail&) = delete;
  SessionJail& operator=(const SessionJail&) = delete;

  // For counters, kills, polling and the program's start; but its events must
  // be read by this class.
  Jail& jail() { return *jail_; }
  const Jail& jail() const { return *jail_; }

  // Asks for a process. SpawnedEvent or SpawnFailedEvent follows, and
  // ProcessExitedEvent after the former. The caller chooses `id` and never uses
  // it twice. INVALID_ARGUMENT: init would not accept this. RESOURCE_EXHAUSTED:
  // there are too many processes, init's queue is full, or this process has too
  // many files open; try again later. FAILED_PRECONDITION: the jail is frozen.
  absl::Status Spawn(uint64_t id, const ProcessSpec& spec);
  // Sends a signal to a process of the jail, or, with `to_group`, to the
  // process group of that number. It is no error when there is none.
  // INVALID_ARGUMENT unless `pid` is above 1 and `signal` is 1 to 64.
  absl::Status SendSignal(pid_t pid, int signal, bool to_group);
  // Kills a spawned process and everything in its group by pid, through init: a
  // second way, for what KillGroup doesn't reach, see Jail::KillRunByPid. Does
  // nothing when they are gone. The errors are the same as there.
  absl::Status KillByPid(uint64_t id);
  // Asks for a file agent. FileChannelEvent follows. A second agent replaces
  // the first.
  absl::Status OpenFiles();
  // Stops every process of the program's part of the jail, as if it got no
  // processor time, or lets them continue. Kills still work meanwhile. A
  // process that is being spawned blocks init until it continues.
  absl::Status Freeze(bool frozen);
  // True when all of them have stopped, which takes a moment.
  bool IsFrozen() const;

  // The runner's end of its report pipe; call once, after its StartedEvent.
  // Whatever is read from it may have been written by the program. Empty before
  // that, and without a runner.
  os::Fd ReleaseReport();

  // The same as Jail::NextEvent.
  absl::StatusOr<std::optional<SessionEvent>> NextEvent();

 private:
  // kLost: it was reported that it could not be started; it is being ended.
  enum class Stage { kAsked, kRunning, kLost };
  struct Process {
    Stage stage = Stage::kAsked;
    std::vector<int> roles;  // of the descriptors that are to come with it
    // Reserved for those, until they have come or it is reported that none
    // will.
    std::optional<DescriptorRoom> room;
  };

  absl::StatusOr<std::optional<SessionEvent>> NextControlEvent();
  // Leaves in `fds` those that it doesn't take.
  absl::StatusOr<std::optional<SessionEvent>> HandleEvent(
      const internal::InitEvent& event, std::vector<os::Fd>& fds);
  absl::StatusOr<std::optional<SessionEvent>> HandleSpawned(
      const internal::Spawned& event, std::vector<os::Fd>& fds);
  // Handles an event for whose descriptors this process had no room: the
  // request that it answers has failed, everything else goes on.
  absl::StatusOr<std::optional<SessionEvent>> HandleWithoutFds(
      const internal::InitEvent& event);

  std::unique_ptr<Jail> jail_;
  std::map<uint64_t, Process> processes_;
  int files_due_ = 0;  // outstanding answers to OpenFiles
  bool frozen_ = false;
  bool main_ended_ = false;
  bool runner_lost_ = false;  // before it started its program
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_SESSION_JAIL_H_
