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

// One more process of a session's jail.
struct ProcessSpec {
  enum class Stdio {
    kPipes,
    kMergedPipes,  // standard error goes where standard output does
    kTerminal,     // standard input, too
  };
  std::vector<std::string> argv;  // argv[0] without "/": along env's PATH
  std::vector<std::string> env;   // "NAME=value"
  std::string directory = "/workspace";  // absolute
  Stdio stdio = Stdio::kPipes;
  uint16_t rows = 24, columns = 80;  // of a terminal
  bool with_stdin = false;           // else at its end at once
  bool with_channel = false;         // a pipe to write to as descriptor 3
  uint64_t open_files = 1024;
  uint64_t file_size_bytes = 0;
  absl::Duration cpu_time = absl::InfiniteDuration();
};

// The daemon's ends, all non-blocking; those that weren't asked for are empty.
struct ProcessFds {
  os::Fd stdin_fd;
  os::Fd stdout_fd;
  os::Fd stderr_fd;
  os::Fd terminal;  // its master; size: os::SetTerminalSize
  os::Fd channel;   // to be read
  // Of the process and what it started, as far as it stays in its group, which
  // nobody can leave. See KillGroup and GroupIsEmpty; `events` for poll(2):
  // POLLPRI.
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

  // What was asked for can't be had: the program (kExec) or the directory
  // (kEnterDirectory). All else is a limit of the jail (EAGAIN, ENOMEM…).
  bool IsCallersMistake() const;
};
struct ProcessExitedEvent {
  uint64_t id;
  int wait_status;
  int64_t monotonic_ns;
  RefusedCalls refused;  // of a jail that traces them
};
// The file agent's socket (SOCK_SEQPACKET, non-blocking), or the errno why
// there is none. What comes out of it is a stranger's, descriptors too.
struct FileChannelEvent {
  os::Fd socket;
  int error;
};
// Those from FailedEvent on are of the jail and its own program, see JailEvent.
// Of the program ExitedEvent comes at most once, DoneEvent never: whoever wants
// a runner's report takes it.
using SessionEvent =
    std::variant<SpawnedEvent, SpawnFailedEvent, ProcessExitedEvent,
                 FileChannelEvent, FailedEvent, StartedEvent, ExitedEvent,
                 FileEvent, CollectDoneEvent, GoneEvent, WaitsEvent>;

// Kills all in a spawned process's group (one write, no waiting).
absl::Status KillGroup(const os::Fd& kill);
// True when nobody is in it any more. Reading re-arms POLLPRI of `events`.
bool GroupIsEmpty(const os::Fd& events);
// Processor time of all that was ever in it; 0 when the group is gone.
struct GroupCpu {
  absl::Duration user;
  absl::Duration system;
};
GroupCpu GroupCpuTime(const os::Fd& cpu);
// Processes that are in it now; of many thousands, not all.
uint32_t CountGroup(const os::Fd& list);

// The daemon's handle on a jail that serves one session: besides the jail's own
// program any number of processes, one after another and at once. One thread at
// a time; nothing blocks. The jail ends with it.
class SessionJail {
 public:
  // Most processes that were asked for and haven't ended.
  static constexpr size_t kMostProcesses = 1024;

  // Precondition: the jail is ready, its program started or not; no event of
  // its is unread that was to be read first.
  explicit SessionJail(std::unique_ptr<Jail> jail);
  SessionJail(const SessionJail&) = delete;
  SessionJail& operator=(const SessionJail&) = delete;

  // Counters, kills, polling, the program's start; but events come from here.
  Jail& jail() { return *jail_; }
  const Jail& jail() const { return *jail_; }

  // SpawnedEvent or SpawnFailedEvent follows, and after the first
  // ProcessExitedEvent. `id` is the caller's, never used twice.
  // INVALID_ARGUMENT: init would not take this. RESOURCE_EXHAUSTED: too many,
  // init is behind, or this process has too many files open; try again.
  // FAILED_PRECONDITION: the jail is frozen.
  absl::Status Spawn(uint64_t id, const ProcessSpec& spec);
  // To a process of the jail, or with `to_group` to the process group that has
  // its number. One that isn't there is no error. `pid` is above 1, `signal` 1
  // to 64: INVALID_ARGUMENT else.
  absl::Status SendSignal(pid_t pid, int signal, bool to_group);
  // Kills a spawned process and what is in its group by pid, through init: the
  // second way for what KillGroup doesn't reach, see Jail::KillRunByPid.
  // Nothing happens when they are gone. Errors are as there.
  absl::Status KillByPid(uint64_t id);
  // FileChannelEvent follows. A second agent takes the first one's place.
  absl::Status OpenFiles();
  // Stops every process of the run part, as if the processors had none of their
  // time for them, and lets them go on. Kills work meanwhile. A process that is
  // being spawned holds init up until it goes on.
  absl::Status Freeze(bool frozen);
  // True when all of them stand still, which takes a moment.
  bool IsFrozen() const;

  // The runner's end of its report pipe, once, after its StartedEvent: what it
  // reads is the program's own. Empty before, and without a runner.
  os::Fd TakeReport();

  // As Jail::NextEvent.
  absl::StatusOr<std::optional<SessionEvent>> NextEvent();

 private:
  // Lost: it was told that it could not be started, and ends.
  enum class Stage { kAsked, kRunning, kLost };
  struct Process {
    Stage stage = Stage::kAsked;
    std::vector<int> roles;  // that are to come with it
    // For those, until they have come or it is told that none will.
    std::optional<DescriptorRoom> room;
  };

  absl::StatusOr<std::optional<SessionEvent>> NextControlEvent();
  // Leaves in `fds` what it doesn't take.
  absl::StatusOr<std::optional<SessionEvent>> TakeEvent(
      const internal::InitEvent& event, std::vector<os::Fd>& fds);
  absl::StatusOr<std::optional<SessionEvent>> TakeSpawned(
      const internal::Spawned& event, std::vector<os::Fd>& fds);
  // Of an event whose descriptors found no room here: what it was an answer to
  // has failed, all else goes on.
  absl::StatusOr<std::optional<SessionEvent>> TakeWithoutFds(
      const internal::InitEvent& event);

  std::unique_ptr<Jail> jail_;
  std::map<uint64_t, Process> processes_;
  int files_due_ = 0;  // answers to OpenFiles
  bool frozen_ = false;
  bool main_ended_ = false;
  bool runner_lost_ = false;  // before it started its program
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_SESSION_JAIL_H_
