#ifndef SANDGLASS_SANDBOX_JAIL_JAIL_H_
#define SANDGLASS_SANDBOX_JAIL_JAIL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "policy/limits/limits.h"
#include "policy/verdict/verdict.h"
#include "sandbox/jail/counter_files.h"
#include "sandbox/jail/cpu_turn.h"
#include "sandbox/jail/jail_event.h"
#include "sandbox/jail/jail_process.h"
#include "sandbox/jail/network_lease.h"
#include "sandbox/jail/socket_watch.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/network_use.h"

namespace sandglass::internal {
class InitEvent;
}

namespace sandglass::sandbox {

// A program to start in a jail. Its views only need to live through the call.
struct ProgramSpec {
  std::vector<std::string> argv;  // argv[0] absolute, inside the jail
  std::vector<std::string> env;   // "NAME=value"
  struct File {
    absl::string_view path;  // relative to /workspace, validated
    absl::string_view content;
    uint32_t mode;
    // A sealed file with exactly this content, so that it need not be written,
    // or -1.
    int sealed = -1;
    // The runner reports what this file's text names before the program starts.
    // Must not be set where there is no runner.
    bool look_at = false;
  };
  std::vector<File> files;
  bool with_stdin = false;
  uint32_t open_files = 1024;
  uint64_t file_size_bytes = 0;
  absl::Duration cpu_time;
};

// The daemon's handle on one jail: only descriptors, no rights of its own. It
// serves one run or a SessionJail and ends with it. Not thread-safe.
class Jail {
 public:
  // The descriptors of the spawner's reply. Those that the host's layout
  // doesn't need are empty.
  struct Parts {
    uint64_t id = 0;
    os::Fd init_pidfd;
    os::Fd control;
    os::Fd kill_jail, kill_run, run_events, freeze_run, cpu_weight;
    CounterGroups groups;
    os::Fd oom_event;        // v1 eventfd, or empty
    os::Fd netlink_sockets;  // their list
    os::Fd runner;           // socket to its runner, or empty
    // For the egress proxy: the sockets of MakeJailDoors in order, or none.
    std::vector<os::Fd> doors;
    std::vector<StepTiming> steps;
    bool made_ahead = false;
    bool traces_calls = false;
  };
  explicit Jail(Parts parts);
  // Kills all in it (one write), and tells the spawner if nobody made a socket.
  ~Jail();
  Jail(const Jail&) = delete;
  Jail& operator=(const Jail&) = delete;

  uint64_t id() const { return parts_.id; }
  // True when the jail was made before it was asked for.
  bool made_ahead() const { return parts_.made_ahead; }
  // True once init is ready for the run and the streams have arrived.
  bool is_ready() const { return tmp_fs_.valid() && stdout_.valid(); }
  // True when a program's end is reported with the calls that were refused.
  bool traces_calls() const { return parts_.traces_calls; }
  // True when a zygote's child waits in it for the program.
  bool has_runner() const { return has_runner_; }
  // True when an interpreter was started in it ahead of its program.
  bool prestarted() const { return prestarted_; }

  // Keeps what it has mounted from the host, for its lifetime.
  void Hold(std::shared_ptr<const void> held) { held_ = std::move(held); }

  // Passes on its doors. Empty: the jail has no network.
  std::vector<os::Fd> ReleaseDoors() { return std::move(parts_.doors); }
  // Gives the jail this network until its end.
  void SetNetwork(std::unique_ptr<NetworkLease> network);
  bool has_network() const { return network_ != nullptr; }
  // What the jail has used of the network so far; nullopt: it has none, or the
  // proxy is gone.
  std::optional<NetworkUse> ReadNetworkUse() const;

  // Starts an interpreter that waits for the program; only `argv` and `env` of
  // `interpreter` count. WaitsEvent follows; any other output before it makes
  // NextEvent fail. Precondition: is_ready, no runner, nothing was started.
  // Never blocks.
  absl::Status Prestart(const ProgramSpec& interpreter);

  // Asks init, or the runner, to write the files and start the program. It may
  // be called before the jail is ready and then takes effect once it is. Never
  // blocks. With a runner, `argv` lacks the interpreter's own part. A waiting
  // interpreter goes on waiting: send it its JobFrame after StartedEvent.
  absl::Status StartProgram(const ProgramSpec& program);
  // Lets a program start whose files were looked at. Call once, after
  // FactsEvent; no StartedEvent follows. `took_long`: looking took enough
  // processor time that it is to be deducted from the program's. UNAVAILABLE:
  // the jail is dead.
  absl::Status LetStart(bool took_long);
  // Asks init for the regular files that match; it answers with FileEvents,
  // then CollectDoneEvent. Call only when the program's processes are dead.
  absl::Status CollectFiles(const std::vector<std::string>& patterns,
                            uint32_t max_files);
  // Reads one event without waiting; nullopt when there is none. After an error
  // give the jail up. INTERNAL: init broke the protocol. RESOURCE_EXHAUSTED: no
  // room for its descriptors. The number of events that a jail can send is
  // bounded.
  absl::StatusOr<std::optional<JailEvent>> NextEvent();

  // Kills the program's processes all at once (cgroup.kill) and leaves init
  // alive to hand out files.
  absl::Status KillRun();
  // The same by pid, through init, for what survives that: some kernels' (6.18)
  // cgroup.kill skips a process whose main thread has ended while others go on.
  // UNAVAILABLE: init is dead. RESOURCE_EXHAUSTED: its queue is full.
  absl::Status KillRunByPid();
  // Kills everything, including init, and with it the jail's pid namespace.
  absl::Status KillJail();
  // The same through init, which ends when its control socket is shut.
  void EndNamespace();

  // True when no process of the program and no spawned one is left.
  bool RunIsEmpty() const;
  // True when the kernel has killed at the memory limit since the start.
  bool SawOomKill() const;
  // The number of processes and threads in the jail now, without init.
  uint32_t ProcessCount() const;
  // The number of the program's processes that live now, without spawned ones.
  uint32_t LivingProcesses() const;
  // True when nothing of the program lives but the runner or the interpreter
  // that waited for it. A runner's threads count, too; node always has several.
  bool RunIsOneProcess() const;
  JailCounters ReadCounters() const;
  MemorySample SampleMemory() const;
  // Kernel memory that no counter has; above the bounds, not all is counted.
  policy::UnchargedMemory ReadUncharged() const;
  // The highest number of processes at once, as the kernel counted; nullopt
  // where it doesn't count them (before Linux 6.12).
  std::optional<uint32_t> PeakProcesses() const;
  // How full /tmp and /workspace are; empty before the jail is ready.
  std::vector<policy::FilesystemFill> FilesystemFills() const;

  // For poll(2): POLLIN; NextEvent reads both. The second is -1 when nothing
  // more will come from a runner or from an interpreter that is to wait.
  int control_fd() const { return parts_.control.get(); }
  int runner_fd() const {
    if (prestarted_ && !waits_) return stdout_.get();
    return user_code_ ? report_.get() : parts_.runner.get();
  }
  // For poll(2): POLLPRI on v2 (a change of cgroup.events).
  int run_events_fd() const { return parts_.run_events.get(); }
  // For poll(2): POLLIN on v1 (eventfd), POLLPRI on v2 (memory.events).
  int oom_fd() const;
  short oom_poll_events() const;
  // Re-arms oom_fd after it fired.
  void AcknowledgeOom() const;

  // False when init, the runner or the interpreter is dead, or has sent
  // something that a jail which waits for its run doesn't send. Doesn't block.
  bool WaitsQuietly() const;

  // The daemon's ends of the program's streams; valid after ReadyEvent, all
  // non-blocking. The caller may take them.
  os::Fd& stdin_fd() { return stdin_; }
  os::Fd& stdout_fd() { return stdout_; }
  os::Fd& stderr_fd() { return stderr_; }
  CpuTurn& cpu_turn() const { return cpu_turn_; }

  // Set-up steps so far: the spawner's, init's, the program's start.
  const std::vector<StepTiming>& steps() const { return parts_.steps; }

 private:
  friend class SessionJail;
  // From here on it serves a session, perhaps for long and without activity:
  // gives up the descriptors that only a run's jail needs.
  void BecomeSessions();
  // The value of `key` in the cgroup events of the program's part of the group.
  std::optional<uint64_t> RunEvent(absl::string_view key) const;
  absl::Status StartInRunner(const ProgramSpec& program);
  absl::StatusOr<std::optional<JailEvent>> NextControlEvent();
  // Leaves in `fds` those that it doesn't take.
  absl::StatusOr<std::optional<JailEvent>> HandleInitEvent(
      const internal::InitEvent& event, std::vector<os::Fd>& fds);
  absl::StatusOr<std::optional<JailEvent>> HandleRunnerEvent(
      os::Packet& packet);
  // Takes the daemon's ends of the program's streams: the first three of `fds`.
  bool AdoptStreams(std::vector<os::Fd>& fds);
  // Whether `path` was asked for and is now answered for the first time.
  bool IsWanted(const std::string& path);
  absl::StatusOr<std::optional<JailEvent>> NextRunnerEvent();
  absl::StatusOr<std::optional<JailEvent>> NextReport();
  JailEvent MaybeReady() const;  // init and runner get ready in any order
  absl::StatusOr<std::optional<JailEvent>> NextWord();
  bool memory_on_v1() const { return parts_.oom_event.valid(); }

  Parts parts_;
  JailProcess init_;  // of a session's jail, which has no pidfd
  CounterFiles counters_;
  mutable CpuTurn cpu_turn_;
  std::shared_ptr<const void> held_;
  std::unique_ptr<NetworkLease> network_;
  std::shared_ptr<SocketWatch::Listener> sockets_;  // of its runner, or null
  os::Fd memory_events_;                            // v2 only
  const bool has_runner_;
  os::Fd stdin_, stdout_, stderr_, tmp_fs_, workspace_fs_;
  os::Fd report_;  // pipe from the runner's program
  bool prestarted_ = false, interpreter_started_ = false;
  bool waits_ = false;                      // the interpreter has said so
  bool has_job_ = false, started_ = false;  // the program: sent, and started
  bool raised_ = false, failed_ = false;    // were reported
  // While files are collected: what was asked for and what was answered.
  bool collecting_ = false;
  std::vector<std::string> patterns_;
  size_t max_files_ = 0;
  std::set<std::string> answered_;
  std::string said_;     // by the interpreter, up to then
  std::string waiting_;  // the list of what waited for the program, alone
  absl::Duration spent_user_, spent_system_;  // by it
  bool user_code_ = false;                    // runs in the runner
  // The state of a job whose files a runner looks at.
  enum class Look { kNone, kAsked, kTold };
  Look look_ = Look::kNone;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_JAIL_H_
